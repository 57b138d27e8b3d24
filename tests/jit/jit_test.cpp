// The whole way from a KernelSource to a binary, with the real compilers: caching, damage, failures, threads,
// processes.
#include "jit/jit.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "core/text.h"
#include "jit/toy.h"

namespace fovea::testing {
namespace {

namespace fs = std::filesystem;

constexpr Target kModel{.kind = Target::Kind::model, .sm = 0};
constexpr Target kSm90{.kind = Target::Kind::gpu, .sm = 90};

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename().string());
  return names;
}

// The target to test caching with: a GPU's when NVRTC is here, else the model's. Both take the same way.
class JitTest : public ::testing::Test {
 protected:
  std::string cache_dir() const { return scratch_.path() + "/cache"; }
  Jit jit(const Bundle& bundle = toy_bundle()) const { return Jit(toy_config(cache_dir()), 0, bundle); }
  Target target() { return Jit(toy_config({}), 0, toy_bundle()).nvrtc().ok() ? kSm90 : kModel; }

  ScratchDirectory scratch_;
};

TEST_F(JitTest, NvrtcMakesACubinForEveryTarget) {
  Jit j = jit();
  FOVEA_NEED_NVRTC(j);
  for (const char* text : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    const Target target = parse_target(text).value();
    const Result<Artifact> made = j.get(toy_source(3), target);
    ASSERT_TRUE(made.ok()) << to_string(made.error());
    EXPECT_EQ(made.value().origin, Origin::compiled);
    EXPECT_EQ(view(*made.value().bytes).substr(0, 4),
              "\x7f"
              "ELF");
    const Result<std::optional<std::string>> resources = j.resources(toy_source(3), target);
    ASSERT_TRUE(resources.ok());
    if (resources.value()) {
      EXPECT_NE(resources.value()->find(cat("'", text, "'")), std::string::npos) << *resources.value();
    } else {
      std::printf("%s: resources not looked at: NVRTC %s prints none\n", text, j.nvrtc().value().version().c_str());
    }
    const Result<std::string> ptx = j.ptx(toy_source(3), target);
    ASSERT_TRUE(ptx.ok());
    EXPECT_NE(ptx.value().find(cat(".target ", text)), std::string::npos);
    EXPECT_NE(ptx.value().find(".entry fovea_entry"), std::string::npos);
  }
}

TEST_F(JitTest, MemoryThenDiskThenCompiler) {
  const Target t = target();
  Jit first = jit();
  const Result<Artifact> made = first.get(toy_source(3), t);
  ASSERT_TRUE(made.ok()) << to_string(made.error());
  EXPECT_EQ(made.value().origin, Origin::compiled);
  EXPECT_EQ(first.get(toy_source(3), t).value().origin, Origin::memory);
  Jit second = jit();
  const Result<Artifact> found = second.get(toy_source(3), t);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().origin, Origin::disk);
  EXPECT_EQ(*found.value().bytes, *made.value().bytes);
}

TEST_F(JitTest, AnythingThatMattersMakesAnotherKey) {
  const Target t = target();
  Jit first = jit();
  ASSERT_TRUE(first.get(toy_source(3), t).ok());
  EXPECT_EQ(first.get(toy_source(4), t).value().origin, Origin::compiled) << "the spec";
  KernelSource bounds = toy_source(3);
  bounds.min_ctas = 2;
  EXPECT_EQ(first.get(bounds, t).value().origin, Origin::compiled) << "launch bounds";
  Jit changed = jit(toy_bundle("another text"));
  EXPECT_EQ(changed.get(toy_source(3), t).value().origin, Origin::compiled) << "a source";
  EXPECT_EQ(files_in(cache_dir()).size(), 4U);
}

TEST_F(JitTest, DamagedEntriesAreCompiledAgainAndReplaced) {
  const Target t = target();
  ASSERT_TRUE(jit().get(toy_source(3), t).ok());
  const std::string file = cache_dir() + "/" + files_in(cache_dir()).front();
  const std::uintmax_t whole = fs::file_size(file);
  for (const std::uintmax_t length :
       {std::uintmax_t{0}, std::uintmax_t{1}, std::uintmax_t{100}, whole / 2, whole - 1}) {
    fs::resize_file(file, length);
    EXPECT_EQ(jit().get(toy_source(3), t).value().origin, Origin::compiled) << length;
    EXPECT_EQ(jit().get(toy_source(3), t).value().origin, Origin::disk) << length;
  }
}

TEST_F(JitTest, WithoutADirectoryMemoryServes) {
  Jit j(toy_config({}), 0, toy_bundle());
  const Target t = target();
  EXPECT_EQ(j.get(toy_source(3), t).value().origin, Origin::compiled);
  EXPECT_EQ(j.get(toy_source(3), t).value().origin, Origin::memory);
}

TEST_F(JitTest, ADirectoryThatCannotBeWrittenIsNoFailure) {
  std::ofstream(scratch_.path() + "/file") << "";
  Jit j(toy_config(scratch_.path() + "/file/cache"), 0, toy_bundle());
  const Target t = target();
  EXPECT_EQ(j.get(toy_source(3), t).value().origin, Origin::compiled);
  EXPECT_EQ(j.get(toy_source(3), t).value().origin, Origin::memory);
}

TEST_F(JitTest, ThreadsShareOneCompilation) {
  const Target t = target();
  Jit j = jit();
  std::atomic<int> compiled = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const Result<Artifact> made = j.get(toy_source(3), t);
      if (!made.ok()) failed.fetch_add(1);
      if (made.ok() && made.value().origin == Origin::compiled) compiled.fetch_add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(compiled, 1);
}

// Eight processes meet an empty cache: each gets a whole kernel, and one file, whole as well, is left.
TEST_F(JitTest, ProcessesColdStartOneKernel) {
  const Target t = target();
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(gate[1]);
      char byte = 0;
      static_cast<void>(!read(gate[0], &byte, 1));  // all start when the parent closes its end
      const Result<Artifact> made = jit().get(toy_source(3), t);
      _exit(made.ok() && view(*made.value().bytes)
                             .starts_with("\x7f"
                                          "ELF")
                ? 0
                : 1);
    }
    children.push_back(child);
  }
  close(gate[0]);
  close(gate[1]);
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(files_in(cache_dir()).size(), 1U);
  const std::vector<CacheEntry> entries = DiskCache(cache_dir()).entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_TRUE(entries[0].problem.empty()) << entries[0].problem;
  EXPECT_EQ(jit().get(toy_source(3), t).value().origin, Origin::disk);
}

// What must not compile, with the words that the message has to contain.
struct Broken {
  KernelSource source;
  std::string words;
};

std::vector<Broken> broken_sources() {
  std::vector<Broken> all(4, Broken{toy_source(3), {}});
  all[0].source.digest += 1, all[0].words = "host and device disagree on the spec";
  all[1].source.smem_bytes += 1, all[1].words = "host and device disagree on shared memory";
  all[2].source.kernel = "no_such_kernel", all[2].words = "no_such_kernel";
  all[3].source.header = "toy/absent.h", all[3].words = "toy/absent.h";
  return all;
}

TEST_F(JitTest, BrokenSourcesGiveTheCompilersWordsAndAreNotKept) {
  Jit j = jit();
  std::vector<Target> targets{kModel};
  if (j.nvrtc().ok()) targets.push_back(kSm90);
  for (const Target& t : targets) {
    for (const Broken& broken : broken_sources()) {
      const Result<Artifact> made = j.get(broken.source, t);
      ASSERT_FALSE(made.ok()) << name(t) << ": " << broken.words;
      EXPECT_NE(made.error().why.find(broken.words), std::string::npos) << made.error().why;
    }
  }
  EXPECT_FALSE(fs::exists(cache_dir()));
}

TEST_F(JitTest, CachedCubinsServeWithoutNvrtc) {
  Jit with = jit();
  FOVEA_NEED_NVRTC(with);
  const Result<Artifact> made = with.get(toy_source(3), kSm90);
  ASSERT_TRUE(made.ok());
  Config config = toy_config(cache_dir());
  config.nvrtc = scratch_.path() + "/absent.so";
  Jit without(config, 0, toy_bundle());
  const Result<Artifact> found = without.get(toy_source(3), kSm90);
  ASSERT_TRUE(found.ok()) << to_string(found.error());
  EXPECT_EQ(*found.value().bytes, *made.value().bytes);
  const Result<Artifact> other = without.get(toy_source(4), kSm90);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().why.find("absent.so"), std::string::npos) << other.error().why;
}

TEST_F(JitTest, AMissingHostCompilerIsNamed) {
  Config config = toy_config({});
  config.host_compiler = "no-such-compiler -flag";
  Jit j(config, 0, toy_bundle());
  const Result<Artifact> made = j.get(toy_source(3), kModel);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().asked.find("no-such-compiler"), std::string::npos);
  EXPECT_NE(made.error().hint.find("CXX"), std::string::npos);
}

}  // namespace
}  // namespace fovea::testing

// Runs the conformance kernels on the GPU of this machine and records what they say; and the exhaustive sweeps.
// conformance_gpu FOLDER [CASE|SWEEP]...: writes golden.bin and wide.bin there anew and prints one line per case. Each
// runs in a process of its own (--one), because an error of a kernel stays with its process. The cubins are linked in
// (build_gpu.py), the driver is found at run time.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "conformance/cuda_driver.h"
#include "conformance/inputs.h"
#include "conformance/vectors.h"

extern "C" const unsigned char fovea_conformance_cubin[];
extern "C" const unsigned char fovea_sweep_cubin[];

namespace fovea::conformance {
namespace {

std::uint64_t upload_maps(Gpu& gpu, const Case& test, u32 ctas, std::uint64_t in, std::uint64_t out) {
  std::vector<TensorMap> maps;
  for (u32 cta = 0; cta < ctas; ++cta) {
    for (const MapSpec& spec : kMaps) {
      const std::uint64_t words = std::uint64_t{cta} * (spec.on_output ? test.out_words : test.in_words);
      // A case without stores has no room for those maps: they lie over its input and are not used.
      const bool room = !spec.on_output || test.out_words == kTmaStoreWords;
      maps.push_back(gpu.encode(spec, room ? (spec.on_output ? out : in) + 4 * (words + spec.word_offset) : in));
    }
  }
  const std::uint64_t address = gpu.allocate(maps.size() * sizeof(TensorMap));
  gpu.upload(address, maps.data(), maps.size() * sizeof(TensorMap));
  return address;
}

Record record(Gpu& gpu, const Case& test, u32 ctas) {
  const std::vector<u32> in = make_inputs(test, ctas);
  Record result{std::string(test.name), ctas, digest(in), std::vector<u32>(std::size_t{ctas} * test.out_words)};
  const std::uint64_t gpu_in = gpu.allocate(in.size() * 4 + 4);
  const std::uint64_t gpu_out = gpu.allocate(result.out.size() * 4);
  gpu.upload(gpu_in, in.data(), in.size() * 4);
  std::vector<std::uint64_t> arguments = {gpu_in, gpu_out};
  if (test.tensor_maps) arguments.push_back(upload_maps(gpu, test, ctas, gpu_in, gpu_out));
  gpu.run(std::string(test.kernel), {ctas, test.threads, test.cluster, test.smem_bytes}, arguments);
  gpu.download(result.out.data(), gpu_out, result.out.size() * 4);
  return result;
}

// Outputs that a second run gives differently would make bad goldens.
bool run_case(const Case& test, const std::filesystem::path& folder) {
  const std::string name(test.name);
  try {
    Gpu gpu(fovea_conformance_cubin);
    if (test.tier == Tier::probe) {
      record(gpu, test, 1);
      std::printf("%-28s legal\n", name.c_str());
      return true;
    }
    const Record wide = record(gpu, test, test.ctas * kWideFactor);
    if (record(gpu, test, test.ctas * kWideFactor).out != wide.out) {
      std::printf("%-28s UNSTABLE: two runs differ\n", name.c_str());
      return false;
    }
    if (test.tier == Tier::golden) {
      const Record golden = record(gpu, test, test.ctas);
      append_record(folder / "golden.bin", golden);
    }
    append_record(folder / "wide.bin", wide);
    std::printf("%-28s ok, %zu words\n", name.c_str(), wide.out.size());
  } catch (const std::exception& error) {
    const bool refused = test.tier == Tier::probe && std::string_view(error.what()).starts_with("cuCtxSynchronize");
    std::printf("%-28s %s: %s\n", name.c_str(), refused ? "not legal" : "FAILED", error.what());
    return refused;
  }
  return true;
}

void sweep(const char* kernel) {
  constexpr u32 kWorst = 4;
  Gpu gpu(fovea_sweep_cubin);
  const std::uint64_t gpu_worst = gpu.allocate(kWorst * 8);
  const std::uint64_t gpu_counts = gpu.allocate(3 * 4);
  gpu.run(kernel, {2048, 256, 1, 0}, {gpu_worst, gpu_counts});
  u64 worst[kWorst];
  u32 counts[3];
  gpu.download(worst, gpu_worst, sizeof worst);
  gpu.download(counts, gpu_counts, sizeof counts);
  std::printf("%s: strange or differing %u %u %u;", kernel, counts[0], counts[1], counts[2]);
  constexpr const char* kNames[] = {"subnormal input", "tiny result", "|x| in [0.5, 2]", "other"};
  for (u32 b = 0; b < kWorst; ++b) {
    const f32 ulps = f32_from_bits(static_cast<u32>(worst[b] >> 32U));
    std::printf(" %s: %.4f ulp at 0x%08x;", kNames[b], static_cast<double>(ulps), static_cast<u32>(worst[b]));
  }
  std::printf("\n");
}

constexpr const char* kSweeps[] = {"sweep_ex2_ftz", "sweep_ex2",  "sweep_lg2_ftz",
                                   "sweep_rcp_ftz", "sweep_tanh", "sweep_convert"};

// In the child: what bears this name.
int run_one(const std::filesystem::path& folder, const std::string& name) {
  alarm(30);  // a kernel that waits for ever
  for (const Case& test : kCases) {
    if (test.name == name) return run_case(test, folder) ? 0 : 1;
  }
  for (const char* kernel : kSweeps) {
    if (kernel == name) {
      sweep(kernel);
      return 0;
    }
  }
  throw std::runtime_error("no case " + name);
}

bool succeeds_in_child(const std::filesystem::path& folder, const std::string& name) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "conformance_gpu", "--one", folder.c_str(), name.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) throw std::runtime_error("no child process");
  if (WIFSIGNALED(status)) std::printf("%-28s FAILED: ended by signal %d\n", name.c_str(), WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int run_all(const std::filesystem::path& folder, std::vector<std::string> names) {
  if (names.empty()) {
    const auto engine =
        std::find_if(std::begin(kCases), std::end(kCases), [](const Case& c) { return c.name == "bulk"; });
    std::for_each(std::begin(kCases), engine, [&](const Case& test) { names.emplace_back(test.name); });
    names.insert(names.end(), std::begin(kSweeps), std::end(kSweeps));
    std::for_each(engine, std::end(kCases), [&](const Case& test) { names.emplace_back(test.name); });
  }
  std::filesystem::create_directories(folder);
  std::filesystem::remove(folder / "golden.bin");
  std::filesystem::remove(folder / "wide.bin");
  std::size_t failures = 0;
  for (const std::string& name : names) failures += succeeds_in_child(folder, name) ? 0 : 1;
  std::printf("%zu of %zu cases failed\n", failures, names.size());
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fovea::conformance

int main(int count, char** arguments) {
  if (count < 2) {
    std::printf("usage: conformance_gpu FOLDER [CASE|SWEEP]...\n");
    return 2;
  }
  try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words[0] == "--one" && words.size() == 3) return fovea::conformance::run_one(words[1], words[2]);
    return fovea::conformance::run_all(words[0], {words.begin() + 1, words.end()});
  } catch (const std::exception& error) {
    std::printf("conformance_gpu: %s\n", error.what());
    return 1;
  }
}

// The disk cache on its own: round trips, damage of every kind, directories that cannot be written, and what clear()
// leaves alone.
#include "jit/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "jit/files.h"

namespace fovea::testing {
namespace {

namespace fs = std::filesystem;

CacheKey key(char digit = 'a') {
  return {.digest = std::string(64, digit), .compiler = "nvrtc-13.0", .kind = "cubin", .label = "toy sm_90a"};
}

Bytes payload() {
  Bytes bytes(5000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  return bytes;
}

void write_raw(const std::string& path, std::string_view content) { std::ofstream(path, std::ios::binary) << content; }

class Cache : public ::testing::Test {
 protected:
  std::string path(const CacheKey& k) const { return cache_.directory() + "/" + k.file_name(); }
  void store(const CacheKey& k) {
    std::string reason;
    ASSERT_TRUE(cache_.store(k, payload(), reason)) << reason;
  }
  Bytes raw(const CacheKey& k) const { return *read_file(path(k), 1U << 20U); }

  ScratchDirectory scratch_;
  DiskCache cache_{scratch_.path() + "/deep/cache"};
};

TEST_F(Cache, GivesBackWhatItKept) {
  EXPECT_FALSE(cache_.load(key()).has_value());
  store(key());
  EXPECT_EQ(cache_.load(key()), payload());
  EXPECT_FALSE(cache_.load(key('b')).has_value());
  struct stat info {};
  ASSERT_EQ(stat(cache_.directory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(Cache, EveryTruncationIsAMiss) {
  store(key());
  const Bytes whole = raw(key());
  for (std::size_t length = 0; length < whole.size(); length += length < 300 ? 1 : 97) {
    write_raw(path(key()), view(whole).substr(0, length));
    EXPECT_FALSE(cache_.load(key()).has_value()) << length;
  }
  write_raw(path(key()), view(whole));
  EXPECT_TRUE(cache_.load(key()).has_value());
}

TEST_F(Cache, EveryFlippedByteIsAMiss) {
  store(key());
  const Bytes whole = raw(key());
  // The label is for people and decides nothing; every other byte does.
  const std::size_t label = view(whole).find(key().label);
  ASSERT_NE(label, std::string_view::npos);
  for (std::size_t i = 0; i < whole.size(); i += i < 300 ? 1 : 31) {
    if (i >= label && i < label + key().label.size()) continue;
    Bytes damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    write_raw(path(key()), view(damaged));
    EXPECT_FALSE(cache_.load(key()).has_value()) << "byte " << i;
  }
}

TEST_F(Cache, TrailingBytesAndForeignEntriesAreMisses) {
  store(key());
  write_raw(path(key()), std::string(view(raw(key()))) + "x");
  EXPECT_FALSE(cache_.load(key()).has_value());
  store(key());
  fs::copy_file(path(key()), path(key('b')));
  EXPECT_FALSE(cache_.load(key('b')).has_value()) << "an entry was believed under another name";
}

TEST_F(Cache, ADamagedEntryIsReplaced) {
  store(key());
  write_raw(path(key()), "garbage");
  ASSERT_FALSE(cache_.load(key()).has_value());
  store(key());
  EXPECT_EQ(cache_.load(key()), payload());
}

TEST_F(Cache, OtherThingsUnderTheNameAreMisses) {
  store(key());
  fs::remove(path(key()));
  fs::create_directory(path(key()));
  EXPECT_FALSE(cache_.load(key()).has_value());
  std::string reason;
  EXPECT_FALSE(cache_.store(key(), payload(), reason));
  EXPECT_FALSE(reason.empty());
  for (const auto& entry : fs::directory_iterator(cache_.directory())) {
    EXPECT_EQ(entry.path().filename().string(), key().file_name()) << "a temporary file was left behind";
  }
}

TEST_F(Cache, AnyCompilersEntryServesWhenThereIsNone) {
  CacheKey older = key();
  older.compiler = "nvrtc-12.9";
  store(older);
  CacheKey asked = key();
  asked.compiler = {};
  EXPECT_EQ(cache_.load_of_any_compiler(asked), payload());
  EXPECT_FALSE(cache_.load(key()).has_value());
  asked.kind = "so";
  EXPECT_FALSE(cache_.load_of_any_compiler(asked).has_value());
}

TEST_F(Cache, ListsAndVerifies) {
  store(key('a'));
  store(key('b'));
  write_raw(path(key('b')), view(raw(key('b'))).substr(0, 400));
  const std::vector<CacheEntry> entries = cache_.entries();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].label, "toy sm_90a");
  EXPECT_TRUE(entries[0].problem.empty());
  EXPECT_NE(entries[1].problem.find("bytes"), std::string::npos) << entries[1].problem;
}

TEST_F(Cache, ClearRemovesItsOwnFilesOnly) {
  store(key());
  write_raw(cache_.directory() + "/" + std::string(kTemporaryPrefix) + "AbCdEf", "left by a killed process");
  write_raw(cache_.directory() + "/notes.txt", "the user's");
  write_raw(cache_.directory() + "/" + std::string(64, 'a') + ".txt", "the user's");
  EXPECT_EQ(cache_.clear(), 2U);
  EXPECT_TRUE(fs::exists(cache_.directory() + "/notes.txt"));
  EXPECT_TRUE(fs::exists(cache_.directory() + "/" + std::string(64, 'a') + ".txt"));
  EXPECT_EQ(cache_.clear(), 0U);
}

TEST(CacheOff, NothingIsFoundAndNothingFails) {
  const DiskCache off("");
  std::string reason;
  EXPECT_FALSE(off.store(key(), payload(), reason));
  EXPECT_FALSE(off.load(key()).has_value());
  EXPECT_TRUE(off.entries().empty());
  EXPECT_EQ(off.clear(), 0U);
}

// A path below a file can be made by nobody, root included, unlike a directory without write permission.
TEST(CacheOff, ADirectoryThatCannotBeMadeSaysWhy) {
  const ScratchDirectory scratch;
  write_raw(scratch.path() + "/file", "");
  const DiskCache blocked(scratch.path() + "/file/cache");
  std::string reason;
  EXPECT_FALSE(blocked.store(key(), payload(), reason));
  EXPECT_NE(reason.find("Not a directory"), std::string::npos) << reason;
  EXPECT_FALSE(blocked.load(key()).has_value());
}

TEST(CacheOff, AReadOnlyDirectoryServesAndRefuses) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes into read-only directories";
  const ScratchDirectory scratch;
  const DiskCache cache(scratch.path() + "/cache");
  std::string reason;
  ASSERT_TRUE(cache.store(key(), payload(), reason)) << reason;
  ASSERT_EQ(chmod(cache.directory().c_str(), 0500), 0);
  EXPECT_EQ(cache.load(key()), payload());
  EXPECT_FALSE(cache.store(key('b'), payload(), reason));
  ASSERT_EQ(chmod(cache.directory().c_str(), 0700), 0);
}

}  // namespace
}  // namespace fovea::testing

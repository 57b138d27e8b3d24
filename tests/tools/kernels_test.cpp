// kernels, warmup and cache: what needs no compiler, and damage in the cache that verify must see.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/support.h"

namespace fovea::cli::testing {
namespace {

namespace fs = std::filesystem;

// A cache directory of its own for one test.
class CacheDirectory : public ::testing::Test {
 protected:
  CacheDirectory() {
    fs::remove_all(path_);
    setenv("FOVEA_CACHE_DIR", path_.c_str(), 1);
  }
  ~CacheDirectory() override {
    unsetenv("FOVEA_CACHE_DIR");
    fs::remove_all(path_);
  }
  const std::string path_ = (fs::temp_directory_path() / ("fovea-cli-cache-" + std::to_string(getpid()))).string();
};

TEST_F(CacheDirectory, VerifyFindsDamageAndClearEndsIt) {
  EXPECT_EQ(fovea({"cache", "path"}).out, path_ + "\n");
  EXPECT_EQ(fovea({"cache", "verify"}).code, 0);
  fs::create_directories(path_);
  std::ofstream(path_ + "/" + std::string(64, 'a') + ".nvrtc-13.0.cubin") << "not an entry";
  const Ran verified = fovea({"cache", "verify", "--format", "json"});
  EXPECT_EQ(verified.code, 1);
  EXPECT_EQ(nlohmann::json::parse(verified.out)["entries"][0]["whole"], false);
  EXPECT_EQ(fovea({"cache"}).code, 0);
  const Ran cleared = fovea({"cache", "clear", "--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(cleared.out)["removed"], 1) << cleared.out;
  EXPECT_EQ(fovea({"cache", "verify"}).code, 0);
}

TEST(Kernels, ListsAndShowsTheStubForEveryTarget) {
  for (const std::string arch : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a", "model"}) {
    const Ran listed = fovea({"kernels", "list", "--arch", arch, "--format", "json"});
    ASSERT_EQ(listed.code, 0) << listed.err;
    const nlohmann::json json = nlohmann::json::parse(listed.out);
    EXPECT_EQ(json["target"], arch);
    ASSERT_FALSE(json["kernels"].empty());
    const Ran stub = fovea({"kernels", "dump", "--arch", arch, "--form", "stub"});
    EXPECT_NE(stub.out.find(std::string("kSpec") + json["kernels"][0]["spec"].get<std::string>()), std::string::npos);
  }
}

TEST(Kernels, RefusalsNameWhatIsAllowed) {
  EXPECT_EQ(fovea({"kernels", "list", "--arch", "sm_75"}).code, 4);
  EXPECT_EQ(fovea({"warmup", "--arch", "nonsense"}).code, 4);
  const Ran past = fovea({"kernels", "dump", "--arch", "sm_80", "--index", "1000"});
  EXPECT_EQ(past.code, 4);
  EXPECT_NE(past.err.find("0 to"), std::string::npos) << past.err;
  EXPECT_EQ(fovea({"kernels", "dump", "--arch", "sm_80", "--form", "poem"}).code, 2);
  EXPECT_EQ(fovea({"cache", "burn"}).code, 2);
}

}  // namespace
}  // namespace fovea::cli::testing

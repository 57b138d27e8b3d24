// Where NVRTC and the driver are looked for, and what is said when they do not serve. The libraries found here are
// fakes that the host compiler makes on the spot.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/text.h"
#include "driver/driver.h"
#include "driver/nvrtc.h"
#include "jit/files.h"
#include "jit/process.h"

namespace fovea::testing {
namespace {

namespace fs = std::filesystem;
using nvrtc::Candidate;

// A library with every NVRTC function, which says that it is version major.minor.
std::string fake_source(int major, int minor) {
  std::string source;
#define FOVEA_FAKE(name, ...) \
  if (std::string(#name) != "nvrtcVersion") source += "int " #name "(void) { return 0; }\n";
  FOVEA_NVRTC_FUNCTIONS(FOVEA_FAKE)
#undef FOVEA_FAKE
  return cat(source, "int nvrtcVersion(int* a, int* b) { *a = ", major, "; *b = ", minor, "; return 0; }\n");
}

void make_library(const std::string& path, const std::string& source) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path + ".c") << source;
  const Result<Finished> made =
      run_process({"g++", "-x", "c", "-shared", "-fPIC", "-Wl,-soname," + path, path + ".c", "-o", path});
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made.value().exit_code, 0) << made.value().output;
}

// Without what the process has loaded and the system's loader: only what a test made.
std::vector<Candidate> files_only(const Config& config) {
  std::vector<Candidate> found;
  for (const Candidate& c : nvrtc::nvrtc_candidates(config)) {
    if (c.kind == Candidate::Kind::file && c.name.find("/usr/local/") != 0) found.push_back(c);
  }
  return found;
}

class NvrtcSearch : public ::testing::Test {
 protected:
  std::string at(const std::string& path) const { return scratch_.path() + "/" + path; }
  void touch(const std::string& path) const {
    fs::create_directories(fs::path(at(path)).parent_path());
    std::ofstream(at(path)) << "";
  }
  ScratchDirectory scratch_;
};

TEST_F(NvrtcSearch, OrderIsWheelsThenCondaThenCudaHome) {
  touch("cuda/lib64/libnvrtc.so.12");
  touch("env/lib/libnvrtc.so.13");
  touch("env/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  touch("env/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
  Config config;
  config.python_prefixes = {at("env")};
  config.cuda_homes = {at("cuda")};
  const std::vector<Candidate> found = files_only(config);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].name, at("env/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13"));
  EXPECT_EQ(found[1].name, at("env/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"));
  EXPECT_EQ(found[2].name, at("env/lib/libnvrtc.so.13"));
  EXPECT_EQ(found[3].name, at("cuda/lib64/libnvrtc.so.12"));
  const std::vector<Candidate> all = nvrtc::nvrtc_candidates(config);
  EXPECT_EQ(all.front().kind, Candidate::Kind::loaded);
  EXPECT_EQ(all.back().kind, Candidate::Kind::loader);
}

TEST_F(NvrtcSearch, FoveaNvrtcIsAloneWhenSet) {
  Config config;
  config.nvrtc = at("mine.so");
  config.python_prefixes = {at("env")};
  ASSERT_EQ(nvrtc::nvrtc_candidates(config).size(), 1U);
  const Result<nvrtc::Nvrtc> none = load_nvrtc(nvrtc::nvrtc_candidates(config), 0);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().status, FOVEA_NO_BACKEND);
  EXPECT_NE(none.error().why.find(at("mine.so")), std::string::npos) << none.error().why;
  EXPECT_NE(none.error().hint.find("correct FOVEA_NVRTC"), std::string::npos);
}

TEST_F(NvrtcSearch, VersionsDecide) {
  const auto load = [this](int major, int minor, int max_major) {
    const std::string path = at(cat("v", major, minor, max_major, "/libnvrtc.so"));
    make_library(path, fake_source(major, minor));
    return nvrtc::load_nvrtc({{Candidate::Kind::file, path, "a test"}}, max_major);
  };
  const Result<nvrtc::Nvrtc> old = load(12, 4, 0);
  ASSERT_FALSE(old.ok());
  EXPECT_NE(old.error().why.find("is version 12.4, older than 12.8"), std::string::npos) << old.error().why;
  const Result<nvrtc::Nvrtc> newer = load(13, 0, 12);
  ASSERT_FALSE(newer.ok());
  EXPECT_NE(newer.error().why.find("newer than the driver's CUDA 12"), std::string::npos) << newer.error().why;
  EXPECT_NE(newer.error().hint.find("nvidia-cuda-nvrtc-cu12"), std::string::npos);
  EXPECT_TRUE(load(12, 8, 12).ok());
  EXPECT_TRUE(load(13, 1, 0).ok());
}

TEST_F(NvrtcSearch, TheBuiltinsBesideItAreOpenedFirst) {
  make_library(at("libnvrtc.so.13"), fake_source(13, 0));
  const std::vector<Candidate> there{{Candidate::Kind::file, at("libnvrtc.so.13"), "a test"}};
  EXPECT_EQ(load_nvrtc(there, 0).value().builtins, "");
  make_library(at("libnvrtc-builtins.so.13.1"), "int other_version;\n");
  EXPECT_EQ(load_nvrtc(there, 0).value().builtins, "");
  make_library(at("libnvrtc-builtins.so.13.0"), "int builtins;\n");
  EXPECT_EQ(load_nvrtc(there, 0).value().builtins, at("libnvrtc-builtins.so.13.0"));
  EXPECT_TRUE(SharedLibrary::loaded(at("libnvrtc-builtins.so.13.0")).has_value());
}

TEST_F(NvrtcSearch, AnIncompleteLibraryIsPassedOver) {
  make_library(at("bad.so"), "int nvrtcVersion(void) { return 0; }\n");
  make_library(at("good.so"), fake_source(13, 0));
  const Candidate bad{Candidate::Kind::file, at("bad.so"), "a test"};
  const Result<nvrtc::Nvrtc> found = nvrtc::load_nvrtc({bad, {Candidate::Kind::file, at("good.so"), "a test"}}, 0);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().path, at("good.so"));
  const Result<nvrtc::Nvrtc> none = nvrtc::load_nvrtc({bad, bad}, 0);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().why.find("has no function nvrtcGetErrorString"), std::string::npos) << none.error().why;
  EXPECT_NE(none.error().why.find("VIRTUAL_ENV"), std::string::npos) << "what was searched";
  EXPECT_NE(none.error().hint.find("pip install nvidia-cuda-nvrtc"), std::string::npos);
}

// A driver that answers everything with success, or cuInit and the version as told.
std::string fake_driver(int init, int version) {
  std::string source;
#define FOVEA_FAKE(name, symbol, ...)                                                   \
  if (std::string(symbol) != "cuInit" && std::string(symbol) != "cuDriverGetVersion" && \
      std::string(symbol).find("cuGetError") != 0) {                                    \
    source += "int " symbol "(void) { return 0; }\n";                                   \
  }
  FOVEA_DRIVER_FUNCTIONS(FOVEA_FAKE)
#undef FOVEA_FAKE
  return cat(source, "int cuInit(unsigned f) { return ", init, "; }\n",
             "int cuDriverGetVersion(int* v) { *v = ", version, "; return 0; }\n",
             "int cuGetErrorName(int e, const char** s) { *s = \"CUDA_ERROR_NAME\"; return 0; }\n",
             "int cuGetErrorString(int e, const char** s) { *s = \"its text\"; return 0; }\n");
}

TEST_F(NvrtcSearch, DriversThatDoNotServeSayWhy) {
  const Result<cuda::Driver> absent = cuda::load_driver(at("absent.so"));
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.error().why.find("absent.so"), std::string::npos);
  make_library(at("empty.so"), "int nothing;\n");
  EXPECT_NE(cuda::load_driver(at("empty.so")).error().why.find("has no function cuInit"), std::string::npos);
  make_library(at("nodevice.so"), fake_driver(100, 13000));
  EXPECT_NE(cuda::load_driver(at("nodevice.so")).error().why.find("CUDA_ERROR_NAME (100): its text"),
            std::string::npos);
  make_library(at("old.so"), fake_driver(0, 11080));
  EXPECT_NE(cuda::load_driver(at("old.so")).error().why.find("CUDA 11.8"), std::string::npos);
  make_library(at("good.so"), fake_driver(0, 12080));
  const Result<cuda::Driver> good = cuda::load_driver(at("good.so"));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value().major(), 12);
}

}  // namespace
}  // namespace fovea::testing

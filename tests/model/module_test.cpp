// A stub compiled at run time with the two include paths alone, loaded and run: kernels need no symbol of the model.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kernel_run.h"

namespace fovea::model_test {
namespace {

constexpr const char* kStub = R"(
#include "isa/isa.h"
struct Params { const fovea::f32* in; fovea::f32* out; };
namespace isa = fovea::isa;
FOVEA_ENTRY(64, 1) scale(FOVEA_GRID_CONSTANT Params p) {
  const fovea::u32 i = isa::ctaid_x() * isa::ntid_x() + isa::tid_x();
  const fovea::SmemPtr slot{isa::smem_base() + 4 * isa::tid_x()};
  isa::st_shared(slot, isa::ld_global<fovea::f32>(p.in + i));
  isa::syncthreads();
  const fovea::SmemPtr other{isa::smem_base() + 4 * (isa::tid_x() ^ 32U)};
  isa::st_global(p.out + i, isa::fma_rn(isa::ld_shared<fovea::f32>(other), 2.0F, 1.0F));
}
FOVEA_MODEL_MODULE(scale, Params);
)";

struct Params {
  const f32* in;
  f32* out;
};

class Module {
 public:
  Module() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fovea-model-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return;
    directory_ = pattern;
    std::ofstream(directory_ / "stub.cpp") << kStub;
    const std::string root = FOVEA_SOURCE_DIR;
    const std::string library = (directory_ / "stub.so").string();
    const std::string command = "c++ -std=c++20 -O1 -Wall -Wextra -Werror -shared -fPIC -Wl,-z,defs -I '" + root +
                                "/device' -I '" + root + "/model' '" + (directory_ / "stub.cpp").string() + "' -o '" +
                                library + "'";
    if (std::system(command.c_str()) == 0) handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  ~Module() {
    if (handle_ != nullptr) dlclose(handle_);
    std::filesystem::remove_all(directory_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  void (*entry() const)(const void*) {
    return handle_ == nullptr ? nullptr : reinterpret_cast<void (*)(const void*)>(dlsym(handle_, "fovea_model_main"));
  }

 private:
  std::filesystem::path directory_;
  void* handle_ = nullptr;
};

TEST(ModelModule, LoadedStubRunsOnSeveralHostThreadsAtOnce) {
  const Module module;
  ASSERT_NE(module.entry(), nullptr);
  std::vector<std::thread> threads;
  std::vector<std::string> problems(4);
  for (u32 n = 0; n < 4; ++n) {
    threads.emplace_back([&, n] {
      std::vector<f32> in(256), out(256);
      for (u32 i = 0; i < 256; ++i) in[i] = static_cast<f32>(i + n);
      const std::vector<Region> memory{region(in, "in", false), region(out, "out")};
      const Params params{in.data(), out.data()};
      const LaunchConfig config{.grid_x = 4, .threads = 64, .smem_bytes = 256, .seed = n};
      const Report report = model::launch(config, memory, module.entry(), &params);
      if (report.fault) problems[n] = text(report);
      for (u32 i = 0; i < 256; ++i) {
        if (out[i] != 2.0F * in[i ^ 32U] + 1.0F) problems[n] += " wrong value";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) EXPECT_EQ(problem, "");
}

}  // namespace
}  // namespace fovea::model_test

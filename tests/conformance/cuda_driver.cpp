// The driver by dlopen.
#include "conformance/cuda_driver.h"

#include <dlfcn.h>

#include <stdexcept>

namespace fovea::conformance {
namespace {

// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  u32 id;
  char padding[4];
  u32 value[16];
};
struct LaunchConfig {
  u32 grid[3], block[3], smem_bytes;
  void* stream;
  LaunchAttribute* attributes;
  u32 attribute_count;
};
constexpr u32 kClusterDimension = 4;

struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);

  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(symbol(name));
    const int code = function(arguments...);
    if (code != 0) throw std::runtime_error(std::string(name) + ": " + error_name(code));
  }
  void* symbol(const char* name) const {
    void* found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) throw std::runtime_error(std::string("no CUDA driver, or one without ") + name);
    return found;
  }
  std::string error_name(int code) const {
    const char* text = nullptr;
    reinterpret_cast<int (*)(int, const char**)>(symbol("cuGetErrorName"))(code, &text);
    return text == nullptr ? std::to_string(code) : text;
  }
};

const Driver& driver() {
  static const Driver instance;
  return instance;
}

}  // namespace

Gpu::Gpu(const void* cubin) {
  driver().call("cuInit", 0U);
  driver().call("cuDeviceGet", &device_, 0);
  driver().call("cuCtxCreate_v2", &context_, 0U, device_);
  driver().call("cuModuleLoadData", &module_, cubin);
}

Gpu::~Gpu() {
  // After a faulting kernel this fails too; the next context starts clean.
  reinterpret_cast<int (*)(void*)>(driver().symbol("cuCtxDestroy_v2"))(context_);
}

std::string Gpu::device_name() const {
  char name[256] = {};
  driver().call("cuDeviceGetName", name, 255, device_);
  return name;
}

std::uint64_t Gpu::allocate(std::size_t bytes) {
  std::uint64_t address = 0;
  driver().call("cuMemAlloc_v2", &address, bytes);
  driver().call("cuMemsetD8_v2", address, static_cast<unsigned char>(0), bytes);
  return address;
}

void Gpu::upload(std::uint64_t target, const void* source, std::size_t bytes) {
  driver().call("cuMemcpyHtoD_v2", target, source, bytes);
}

void Gpu::download(void* target, std::uint64_t source, std::size_t bytes) {
  driver().call("cuMemcpyDtoH_v2", target, source, bytes);
}

TensorMap Gpu::encode(const MapSpec& spec, std::uint64_t base) const {
  constexpr int kFloat32 = 7;
  constexpr int kBfloat16 = 9;
  constexpr u32 kSteps[5] = {1, 1, 1, 1, 1};
  TensorMap map{};
  driver().call("cuTensorMapEncodeTiled", &map, spec.bf16 ? kBfloat16 : kFloat32, spec.rank, base, &spec.dim[0],
                &spec.stride[0], &spec.box[0], &kSteps[0], 0, static_cast<int>(spec.swizzle), 0, 0);
  return map;
}

void Gpu::run(const std::string& kernel, const LaunchShape& shape, std::vector<std::uint64_t> arguments) {
  void* function = nullptr;
  driver().call("cuModuleGetFunction", &function, module_, kernel.c_str());
  std::vector<void*> pointers;
  for (std::uint64_t& argument : arguments) pointers.push_back(&argument);
  LaunchAttribute cluster{kClusterDimension, {}, {shape.cluster, 1, 1}};
  LaunchConfig config{{shape.grid, 1, 1}, {shape.threads, 1, 1}, shape.smem_bytes, nullptr, &cluster, 1};
  driver().call("cuLaunchKernelEx", &config, function, pointers.data(), static_cast<void**>(nullptr));
  driver().call("cuCtxSynchronize");
}

}  // namespace fovea::conformance

// The table of loaded kernels.
#include "backend/cuda/kernels.h"

#include <string>
#include <utility>

#include "core/text.h"

namespace fovea::cuda {
namespace {

// A stream that cannot tell, because another one captures in a mode that forbids asking, counts as capturing.
bool is_capturing(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Error capturing(const KernelSource& source, const Device& device) {
  return {.status = FOVEA_UNSUPPORTED,
          .asked = cat("the first use of this ", source.kernel, " on ", device.info().name,
                       " while its stream is being captured"),
          .allowed = "kernels that are loaded when the capture begins",
          .why = "compiling and loading a kernel cannot be part of a CUDA graph",
          .hint = "make the same call once before the capture; fovea warmup makes that call quick"};
}

}  // namespace

Kernels::~Kernels() {
  for (const auto& [key, kernel] : loaded_) driver_.cuLibraryUnload(kernel.library);
}

const CudaKernel* Kernels::find(std::string_view kernel, std::uint64_t digest, int ordinal) const {
  const std::lock_guard lock(mutex_);
  const auto place = loaded_.find(KeyView{digest, ordinal, kernel});
  return place == loaded_.end() ? nullptr : &place->second;
}

Result<const CudaKernel*> Kernels::get(const KernelSource& source, Device& device, CUstream stream) {
  if (const CudaKernel* kernel = find(source.kernel, source.digest, device.info().ordinal)) return kernel;
  {
    const ContextGuard context(device);
    if (context.result() != CUDA_SUCCESS) {
      return driver_error(driver_, context.result(), cat("using ", device.info().name));
    }
    if (is_capturing(driver_, stream)) return capturing(source, device);
  }
  const std::string key = cat(source.kernel, " ", source.digest, " ", device.info().ordinal);
  bool made = false;
  return loading_.get(
      key, [&] { return load(source, device); }, made);
}

Result<const CudaKernel*> Kernels::load(const KernelSource& source, Device& device) {
  const Result<Artifact> cubin = jit_.get(source, Target{.kind = Target::Kind::gpu, .sm = device.info().sm});
  if (!cubin.ok()) return cubin.error();
  const Result<CudaKernel> kernel = load_kernel(device, source, *cubin.value().bytes);
  if (!kernel.ok()) return kernel.error();
  const std::lock_guard lock(mutex_);
  const auto [place, added] = loaded_.emplace(Key{source.digest, device.info().ordinal, source.kernel}, kernel.value());
  return &place->second;
}

}  // namespace fovea::cuda

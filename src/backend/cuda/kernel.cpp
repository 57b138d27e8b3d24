// Loading. cuLibrary* rather than cuModule*: a library does not die with the context that was current when it was
// loaded. The function is asked for once, so that a first launch inside a capture loads nothing.
#include "backend/cuda/kernel.h"

#include "core/text.h"
#include "jit/stub.h"

namespace fovea::cuda {
namespace {

// In this mode a call of this thread cannot invalidate what another thread is capturing.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) : driver_(driver) { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

CUresult load(Device& device, const KernelSource& source, const Bytes& cubin, CudaKernel& out) {
  const Driver& d = device.driver();
  if (const CUresult bad = d.cuLibraryLoadData(&out.library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0)) {
    out.library = nullptr;
    return bad;
  }
  CUkernel kernel = nullptr;
  if (const CUresult bad = d.cuLibraryGetKernel(&kernel, out.library, kEntryName)) return bad;
  if (const CUresult bad = d.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, source.smem_bytes,
                                                  kernel, device.handle())) {
    return bad;
  }
  CUfunction loaded = nullptr;
  if (const CUresult bad = d.cuKernelGetFunction(&loaded, kernel)) return bad;
  const std::pair<CUfunction_attribute, int*> wanted[] = {{CU_FUNC_ATTRIBUTE_NUM_REGS, &out.registers},
                                                          {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &out.local_bytes}};
  for (const auto& [which, value] : wanted) {
    if (const CUresult bad = d.cuKernelGetAttribute(value, which, kernel, device.handle())) return bad;
  }
  // The driver API lets a kernel stand for its function wherever one is launched.
  out.function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

}  // namespace

Result<CudaKernel> load_kernel(Device& device, const KernelSource& source, const Bytes& cubin) {
  const Driver& driver = device.driver();
  const ContextGuard context(device);
  CudaKernel kernel;
  CUresult result = context.result();
  if (result == CUDA_SUCCESS) {
    const RelaxedCapture relaxed(driver);
    result = load(device, source, cubin, kernel);
    if (result != CUDA_SUCCESS && kernel.library != nullptr) driver.cuLibraryUnload(kernel.library);
  }
  if (result != CUDA_SUCCESS) {
    return driver_error(driver, result, cat("loading ", source.kernel, " on ", device.info().name));
  }
  kernel.threads = static_cast<unsigned>(source.threads);
  kernel.smem_bytes = static_cast<unsigned>(source.smem_bytes);
  return kernel;
}

}  // namespace fovea::cuda

// Device: one GPU of the process: what it is, and its primary context when fovea needs one. ContextGuard makes a
// context of the device current and leaves the caller's context as it was.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/driver.h"

namespace fovea::cuda {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int sm = 0;        // major * 10 + minor of the compute capability
  int num_sms = 0;
  int clock_khz = 0;
  int registers_per_sm = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t smem_per_sm_bytes = 0;
  std::int64_t smem_bytes = 0;  // per CTA, opted in
};

class Device {
 public:
  Device(const Driver& driver, CUdevice handle, DeviceInfo info);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Driver& driver() const { return driver_; }
  const DeviceInfo& info() const { return info_; }
  CUdevice handle() const { return handle_; }

  // The primary context, which the CUDA runtime and PyTorch use; retained at the first call, released with the Device.
  CUresult primary(CUcontext& context);

 private:
  const Driver& driver_;
  const CUdevice handle_;
  const DeviceInfo info_;
  std::mutex mutex_;
  std::atomic<CUcontext> primary_ = nullptr;
};

// Every GPU that the driver shows. `driver` must outlive the result.
Result<std::vector<std::unique_ptr<Device>>> open_devices(const Driver& driver);

// While it lives, the current context belongs to `device`: the caller's own when that does, else the primary context,
// which is pushed and popped again.
class ContextGuard {
 public:
  explicit ContextGuard(Device& device) : driver_(device.driver()), result_(enter(device)) {}
  ~ContextGuard() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent(&popped);
  }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

  // CUDA_SUCCESS, or why no context of the device is current.
  CUresult result() const { return result_; }

 private:
  CUresult enter(Device& device) {
    CUcontext current = nullptr;
    if (const CUresult bad = driver_.cuCtxGetCurrent(&current); bad != CUDA_SUCCESS) return bad;
    CUdevice owner = -1;
    if (current != nullptr && driver_.cuCtxGetDevice(&owner) == CUDA_SUCCESS && owner == device.handle()) {
      return CUDA_SUCCESS;
    }
    CUcontext primary = nullptr;
    if (const CUresult bad = device.primary(primary); bad != CUDA_SUCCESS) return bad;
    const CUresult result = driver_.cuCtxPushCurrent(primary);
    pushed_ = result == CUDA_SUCCESS;
    return result;
  }

  const Driver& driver_;
  bool pushed_ = false;
  CUresult result_;
};

}  // namespace fovea::cuda

// Asks the driver about its GPUs.
#include "backend/cuda/device.h"

#include <array>
#include <utility>

#include "core/text.h"

namespace fovea::cuda {
namespace {

CUresult query(const Driver& driver, CUdevice handle, DeviceInfo& info) {
  std::array<char, 256> name{};
  if (const CUresult bad = driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), handle)) return bad;
  info.name = name.data();
  std::size_t memory = 0;
  if (const CUresult bad = driver.cuDeviceTotalMem(&memory, handle)) return bad;
  info.memory_bytes = static_cast<std::int64_t>(memory);

  int major = 0;
  int minor = 0;
  int smem_per_sm = 0;
  int smem = 0;
  const std::pair<CUdevice_attribute, int*> wanted[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info.num_sms},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &info.clock_khz},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &info.registers_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &smem_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &smem},
  };
  for (const auto& [which, value] : wanted) {
    if (const CUresult bad = driver.cuDeviceGetAttribute(value, which, handle)) return bad;
  }
  info.sm = 10 * major + minor;
  info.smem_per_sm_bytes = smem_per_sm;
  info.smem_bytes = smem;
  return CUDA_SUCCESS;
}

}  // namespace

Device::Device(const Driver& driver, CUdevice handle, DeviceInfo info)
    : driver_(driver), handle_(handle), info_(std::move(info)) {}

Device::~Device() {
  if (primary_.load() != nullptr) driver_.cuDevicePrimaryCtxRelease(handle_);
}

CUresult Device::primary(CUcontext& context) {
  context = primary_.load(std::memory_order_acquire);
  if (context != nullptr) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex_);
  context = primary_.load();
  if (context != nullptr) return CUDA_SUCCESS;
  const CUresult result = driver_.cuDevicePrimaryCtxRetain(&context, handle_);
  if (result == CUDA_SUCCESS) primary_.store(context, std::memory_order_release);
  return result;
}

Result<std::vector<std::unique_ptr<Device>>> open_devices(const Driver& driver) {
  int count = 0;
  if (const CUresult bad = driver.cuDeviceGetCount(&count)) return driver_error(driver, bad, "counting the GPUs");
  std::vector<std::unique_ptr<Device>> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice handle = 0;
    DeviceInfo info;
    info.ordinal = ordinal;
    CUresult result = driver.cuDeviceGet(&handle, ordinal);
    if (result == CUDA_SUCCESS) result = query(driver, handle, info);
    if (result != CUDA_SUCCESS) return driver_error(driver, result, cat("looking at GPU ", ordinal));
    devices.push_back(std::make_unique<Device>(driver, handle, std::move(info)));
  }
  return devices;
}

}  // namespace fovea::cuda

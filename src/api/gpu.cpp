// Opens the driver once; a machine without one still compiles.
#include "api/gpu.h"

#include "core/text.h"

namespace fovea {
namespace {

GpuCaps caps_of(const cuda::DeviceInfo& info) {
  return {.present = true,
          .model = false,
          .reason = {},
          .name = info.name,
          .sm = info.sm,
          .num_sms = info.num_sms,
          .smem_bytes = info.smem_bytes};
}

}  // namespace

void GpuState::open() {
  std::call_once(opened_, [this] {
    Result<cuda::Driver> driver = cuda::load_driver();
    if (driver.ok()) {
      driver_.emplace(std::move(driver.value()));
      Result<std::vector<std::unique_ptr<cuda::Device>>> devices = cuda::open_devices(*driver_);
      if (devices.ok()) {
        devices_ = std::move(devices.value());
      } else {
        absent_.reason = to_string(devices.error());
      }
    } else {
      absent_.reason = to_string(driver.error());
    }
    for (const auto& device : devices_) caps_.push_back(caps_of(device->info()));
    jit_.emplace(config_, driver_ ? driver_->major() : 0, embedded_bundle());
    modules_.emplace(*jit_);
    if (driver_) kernels_.emplace(*driver_, *jit_);
    if (driver_) scratch_.emplace(*driver_);
  });
}

const GpuCaps& GpuState::caps(int ordinal) {
  open();
  const auto index = static_cast<std::size_t>(ordinal);
  return index < caps_.size() ? caps_[index] : absent_;
}

cuda::Device* GpuState::device(int ordinal) {
  open();
  const auto index = static_cast<std::size_t>(ordinal);
  return index < devices_.size() ? devices_[index].get() : nullptr;
}

cuda::Kernels& GpuState::kernels() {
  open();
  return *kernels_;
}

cuda::Scratch& GpuState::scratch() {
  open();
  return *scratch_;
}

model::Modules& GpuState::modules() {
  open();
  return *modules_;
}

Jit& GpuState::jit() {
  open();
  return *jit_;
}

}  // namespace fovea

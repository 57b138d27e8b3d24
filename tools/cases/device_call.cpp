// The few driver functions that copying needs (CUDA driver API, "Memory Management"), by dlopen.
#include "cases/device_call.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fovea::cases {
namespace {

struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*allocate)(unsigned long long*, std::size_t) = nullptr;
  int (*free)(unsigned long long) = nullptr;
  int (*to_device)(unsigned long long, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, unsigned long long, std::size_t) = nullptr;
  int (*synchronize)() = nullptr;
  void* context = nullptr;  // of device 0
  std::string reason;       // why it cannot be used
};

template <class F>
bool load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Driver open_driver() {
  Driver d;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    d.reason = "libcuda.so.1 cannot be loaded: no NVIDIA driver";
    return d;
  }
  const bool complete = load(library, "cuInit", d.init) && load(library, "cuDeviceGet", d.device_get) &&
                        load(library, "cuDevicePrimaryCtxRetain", d.retain) &&
                        load(library, "cuCtxSetCurrent", d.set_current) && load(library, "cuMemAlloc_v2", d.allocate) &&
                        load(library, "cuMemFree_v2", d.free) && load(library, "cuMemcpyHtoD_v2", d.to_device) &&
                        load(library, "cuMemcpyDtoH_v2", d.to_host) && load(library, "cuCtxSynchronize", d.synchronize);
  int device = 0;
  if (!complete) {
    d.reason = "libcuda.so.1 lacks a function: the driver is too old";
  } else if (d.init(0) != 0 || d.device_get(&device, 0) != 0) {
    d.reason = "the NVIDIA driver finds no device";
  } else if (d.retain(&d.context, device) != 0 || d.set_current(d.context) != 0) {
    d.reason = "the context of device 0 cannot be made current";
  }
  return d;
}

const Driver& driver() {
  static const Driver instance = open_driver();
  return instance;
}

bool holds(const HostRange& range, const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  return byte >= range.data && byte < range.data + range.size;
}

// Views of one tensor overlap: together they are one range, so that one copy serves them all.
std::vector<HostRange> merged(std::vector<HostRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const HostRange& a, const HostRange& b) { return a.data < b.data; });
  std::vector<HostRange> result;
  for (const HostRange& range : ranges) {
    if (result.empty() || range.data >= result.back().data + result.back().size) {
      result.push_back(range);
      continue;
    }
    const auto end = std::max(result.back().data + result.back().size, range.data + range.size);
    result.back().size = static_cast<std::size_t>(end - result.back().data);
  }
  return result;
}

}  // namespace

std::vector<fovea_tensor*> tensors_of(fovea_forward_args& a) {
  return {&a.q,         &a.k,          &a.v,         &a.out,          &a.lse,
          &a.mask,      &a.bias,       &a.sink,      &a.cu_seqlens_q, &a.cu_seqlens_kv,
          &a.seqused_q, &a.seqused_kv, &a.page_table};
}

fovea_forward_args placed_on_device(fovea_forward_args args) {
  for (fovea_tensor* t : tensors_of(args)) {
    if (t->rank != 0) t->device_type = FOVEA_DEVICE_CUDA;
  }
  return args;
}

std::string no_device_reason() { return driver().reason; }

std::vector<HostRange> ranges_of(const fovea_forward_args& args) {
  fovea_forward_args copy = args;
  std::vector<HostRange> ranges;
  for (const fovea_tensor* t : tensors_of(copy)) {
    if (t->rank == 0 || t->data == nullptr) continue;
    std::int64_t low = 0, high = 0;
    bool empty = false;
    for (std::int32_t i = 0; i < t->rank; ++i) {
      empty = empty || t->shape[i] == 0;
      const std::int64_t reach = (t->shape[i] - 1) * t->strides[i];
      (reach < 0 ? low : high) += reach;
    }
    if (empty) continue;
    const auto size = static_cast<std::int64_t>(fovea_dtype_size(static_cast<fovea_dtype>(t->dtype)));
    ranges.push_back(
        {static_cast<std::byte*>(t->data) + low * size, static_cast<std::size_t>((high - low + 1) * size)});
  }
  return merged(std::move(ranges));
}

void* stream_of_this_thread() { return reinterpret_cast<void*>(2); }

DeviceCall::DeviceCall(const fovea_forward_args& args, const std::vector<HostRange>& ranges) : args_(args) {
  check(driver().set_current(driver().context), "cuCtxSetCurrent");
  for (const HostRange& range : ranges) {
    if (range.size == 0) continue;
    // The copy starts at the same place within 256 bytes as the original, so that alignment is what the case wants.
    const std::size_t lead = reinterpret_cast<std::uintptr_t>(range.data) % 256;
    Copy copy{range, 0};
    check(driver().allocate(&copy.device, range.size + lead), "cuMemAlloc");
    copies_.push_back(copy);
    if (!error_.empty()) return;
    copies_.back().device += lead;
    check(driver().to_device(copies_.back().device, range.data, range.size), "cuMemcpyHtoD");
  }
  for (fovea_tensor* t : tensors_of(args_)) {
    if (t->rank == 0) continue;
    t->device_type = FOVEA_DEVICE_CUDA;
    for (const Copy& copy : copies_) {
      if (!holds(copy.host, t->data)) continue;
      const auto offset = static_cast<unsigned long long>(static_cast<std::byte*>(t->data) - copy.host.data);
      t->data = reinterpret_cast<void*>(copy.device + offset);
      break;
    }
  }
}

DeviceCall::~DeviceCall() {
  for (const Copy& copy : copies_) {
    driver().free(copy.device - reinterpret_cast<std::uintptr_t>(copy.host.data) % 256);
  }
}

void DeviceCall::synchronize() { check(driver().synchronize(), "cuCtxSynchronize"); }

void DeviceCall::download() {
  synchronize();
  for (const Copy& copy : copies_) {
    check(driver().to_host(copy.host.data, copy.device, copy.host.size), "cuMemcpyDtoH");
  }
}

void DeviceCall::check(int status, const char* what) {
  if (status != 0 && error_.empty()) error_ = std::string(what) + " failed with CUresult " + std::to_string(status);
}

}  // namespace fovea::cases

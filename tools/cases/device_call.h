// A forward call on a CUDA device, for tests and the command line: host memory is copied there, the call gets views of
// the copies, and everything is copied back. libcuda is loaded when first asked for; nothing here is linked to CUDA.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "fovea/fovea.h"

namespace fovea::cases {

// Bytes of host memory that tensors of one call lie in.
struct HostRange {
  std::byte* data = nullptr;
  std::size_t size = 0;
};

// Every tensor of a call, present or not.
std::vector<fovea_tensor*> tensors_of(fovea_forward_args& args);

// The bytes that the present tensors of a call touch, each from its lowest to its highest element; overlapping ones
// together.
std::vector<HostRange> ranges_of(const fovea_forward_args& args);

// The call as it is for CUDA tensors, for questions that read no tensor.
fovea_forward_args placed_on_device(fovea_forward_args args);

// Why no CUDA device can be used; empty when one can.
std::string no_device_reason();

// The stream that each host thread has for itself (CUDA driver API, CU_STREAM_PER_THREAD).
void* stream_of_this_thread();

class DeviceCall {
 public:
  // Makes device 0 current for this thread, copies `ranges` there and points every tensor of `args` into the copies.
  // Needs a usable device; the first failure of the driver is kept in error().
  DeviceCall(const fovea_forward_args& args, const std::vector<HostRange>& ranges);
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  const fovea_forward_args& args() const { return args_; }
  void synchronize();
  // Waits for the device and copies every range back to where it came from.
  void download();
  const std::string& error() const { return error_; }

 private:
  struct Copy {
    HostRange host;
    unsigned long long device = 0;
  };
  void check(int status, const char* what);

  fovea_forward_args args_;
  std::vector<Copy> copies_;
  std::string error_;
};

}  // namespace fovea::cases

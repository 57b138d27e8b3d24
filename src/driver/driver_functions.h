// The one list of driver functions: FOVEA_DRIVER_FUNCTIONS(X) calls X(name, symbol, type) for each.
// `symbol` is what libcuda exports: the newest ABI of that function, spelled out (cuda.h hides the suffix in macros).
// The table in driver.h, and the loading of it, are generated from this list.
#pragma once

#include "driver/cuda_types.h"

// clang-format off
#define FOVEA_DRIVER_FUNCTIONS(X)                                                                                     \
  X(cuInit, "cuInit", CUresult(unsigned flags))                                                                       \
  X(cuDriverGetVersion, "cuDriverGetVersion", CUresult(int* version))                                                 \
  X(cuGetErrorName, "cuGetErrorName", CUresult(CUresult error, const char** name))                                    \
  X(cuGetErrorString, "cuGetErrorString", CUresult(CUresult error, const char** text))                                \
  X(cuDeviceGetCount, "cuDeviceGetCount", CUresult(int* count))                                                       \
  X(cuDeviceGet, "cuDeviceGet", CUresult(CUdevice* device, int ordinal))                                              \
  X(cuDeviceGetName, "cuDeviceGetName", CUresult(char* name, int size, CUdevice device))                              \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", CUresult(int* value, CUdevice_attribute which, CUdevice device))    \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", CUresult(std::size_t* bytes, CUdevice device))                           \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", CUresult(CUcontext* context, CUdevice device))              \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", CUresult(CUdevice device))                             \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", CUresult(CUcontext* context))                                                 \
  X(cuCtxGetDevice, "cuCtxGetDevice", CUresult(CUdevice* device))                                                     \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", CUresult(CUcontext context))                                             \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", CUresult(CUcontext* context))                                              \
  X(cuLibraryLoadData, "cuLibraryLoadData",                                                                           \
    CUresult(CUlibrary* library, const void* image, int* jit_options, void** jit_values, unsigned num_jit,            \
             int* options, void** values, unsigned num))                                                              \
  X(cuLibraryUnload, "cuLibraryUnload", CUresult(CUlibrary library))                                                  \
  X(cuLibraryGetKernel, "cuLibraryGetKernel", CUresult(CUkernel* kernel, CUlibrary library, const char* name))        \
  X(cuKernelGetFunction, "cuKernelGetFunction", CUresult(CUfunction* function, CUkernel kernel))                      \
  X(cuKernelGetAttribute, "cuKernelGetAttribute",                                                                     \
    CUresult(int* value, CUfunction_attribute which, CUkernel kernel, CUdevice device))                               \
  X(cuKernelSetAttribute, "cuKernelSetAttribute",                                                                     \
    CUresult(CUfunction_attribute which, int value, CUkernel kernel, CUdevice device))                                \
  X(cuLaunchKernelEx, "cuLaunchKernelEx",                                                                             \
    CUresult(const CUlaunchConfig* config, CUfunction function, void** params, void** extra))                         \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                                 \
    CUresult(void* map, CUtensorMapDataType type, std::uint32_t rank, void* base, const std::uint64_t* dims,          \
             const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides,            \
             CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,          \
             CUtensorMapFloatOOBfill fill))                                                                           \
  X(cuStreamIsCapturing, "cuStreamIsCapturing", CUresult(CUstream stream, CUstreamCaptureStatus* status))             \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", CUresult(CUstreamCaptureMode* mode))      \
  X(cuStreamCreate, "cuStreamCreate", CUresult(CUstream* stream, unsigned flags))                                     \
  X(cuStreamDestroy, "cuStreamDestroy_v2", CUresult(CUstream stream))                                                 \
  X(cuStreamSynchronize, "cuStreamSynchronize", CUresult(CUstream stream))                                            \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", CUresult(CUstream stream, CUstreamCaptureMode mode))             \
  X(cuStreamEndCapture, "cuStreamEndCapture", CUresult(CUstream stream, CUgraph* graph))                              \
  X(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                                                \
    CUresult(CUgraphExec* exec, CUgraph graph, unsigned long long flags))                                             \
  X(cuGraphLaunch, "cuGraphLaunch", CUresult(CUgraphExec exec, CUstream stream))                                      \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", CUresult(CUgraphExec exec))                                             \
  X(cuGraphDestroy, "cuGraphDestroy", CUresult(CUgraph graph))                                                        \
  X(cuMemAlloc, "cuMemAlloc_v2", CUresult(CUdeviceptr* memory, std::size_t bytes))                                    \
  X(cuMemFree, "cuMemFree_v2", CUresult(CUdeviceptr memory))                                                          \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", CUresult(CUdeviceptr to, const void* from, std::size_t bytes))                   \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", CUresult(void* to, CUdeviceptr from, std::size_t bytes))                         \
  X(cuMemsetD8Async, "cuMemsetD8Async", CUresult(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream s)) \
  X(cuEventCreate, "cuEventCreate", CUresult(CUevent* event, unsigned flags))                                         \
  X(cuEventDestroy, "cuEventDestroy_v2", CUresult(CUevent event))                                                     \
  X(cuEventRecord, "cuEventRecord", CUresult(CUevent event, CUstream stream))                                         \
  X(cuEventSynchronize, "cuEventSynchronize", CUresult(CUevent event))                                                \
  X(cuEventElapsedTime, "cuEventElapsedTime", CUresult(float* milliseconds, CUevent start, CUevent end))
// clang-format on

// StreamKey: which stream of which device a handle means. CU_STREAM_PER_THREAD means another one in each thread.
#pragma once

#include <thread>
#include <tuple>

#include "driver/cuda_types.h"

namespace fovea::cuda {

using StreamKey = std::tuple<int, CUstream, std::thread::id>;

inline StreamKey stream_key(int ordinal, CUstream stream) {
  return {ordinal, stream, stream == per_thread_stream() ? std::this_thread::get_id() : std::thread::id{}};
}

}  // namespace fovea::cuda

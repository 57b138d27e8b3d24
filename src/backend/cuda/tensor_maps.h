// TensorMaps: the maps by which TMA finds the tensors of a call, and those of calls before: encoding one costs the
// driver about a tenth of a microsecond, and a step of a model comes back to the same tensors.
#pragma once

#include <array>
#include <mutex>

#include "device/spec/fwd_wgmma_params.h"
#include "driver/driver.h"
#include "plan/tensor_maps.h"

namespace fovea::cuda {

class TensorMaps {
 public:
  static constexpr std::size_t kKept = 256;

  // `driver` must outlive it.
  explicit TensorMaps(const Driver& driver) : driver_(driver) {}

  // A map says nothing but what its RowMap says: one that was encoded before is as good as a new one, whatever became
  // of the memory in between.
  CUresult fill(const ForwardMaps& maps, FwdWgmmaParams& params);

 private:
  struct Kept {
    RowMap row_map;  // base null: nothing yet
    TensorMap map;
  };

  const Driver& driver_;
  std::mutex mutex_;
  std::array<Kept, kKept> kept_{};  // by hash; a later map takes the place of an earlier one
};

}  // namespace fovea::cuda

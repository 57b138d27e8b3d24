// The tensor maps that are kept from call to call, on a driver that writes down what it was asked.
#include <gtest/gtest.h>

#include <cstring>

#include "backend/cuda/tensor_maps.h"

namespace fovea::testing {
namespace {

using namespace cuda;

int g_encoded = 0;
CUresult g_result = CUDA_SUCCESS;

// A "map" that is the tensor's address and its number of rows.
Driver writing_driver() {
  Driver driver;
  driver.cuTensorMapEncodeTiled = [](void* to, CUtensorMapDataType, std::uint32_t, void* base, const std::uint64_t* dim,
                                     const std::uint64_t*, const std::uint32_t*, const std::uint32_t*,
                                     CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                     CUtensorMapFloatOOBfill) {
    ++g_encoded;
    std::memset(to, 0, sizeof(TensorMap));
    std::memcpy(to, &base, sizeof(base));
    std::memcpy(static_cast<char*>(to) + sizeof(base), &dim[1], sizeof(dim[1]));
    return g_result;
  };
  return driver;
}

class KeptMaps : public ::testing::Test {
 protected:
  KeptMaps() { g_encoded = 0, g_result = CUDA_SUCCESS; }

  static RowMap row_map(std::uintptr_t base, std::uint64_t rows) {
    RowMap map;
    map.base = reinterpret_cast<void*>(base);
    map.dim[0] = 64, map.dim[1] = rows, map.dim[2] = 4, map.dim[3] = 1;
    map.box_rows = 128;
    return map;
  }
  static ForwardMaps maps(std::uintptr_t first, std::uint64_t rows) {
    return {row_map(first, rows), row_map(first + 4096, rows), row_map(first + 8192, rows),
            row_map(first + 12288, rows), std::nullopt};
  }
  static void expect_maps_of(const FwdWgmmaParams& params, std::uintptr_t first, std::uint64_t rows) {
    std::uintptr_t offset = 0;
    for (const TensorMap* map : {&params.q, &params.k, &params.v, &params.out}) {
      std::uintptr_t base = 0;
      std::uint64_t found = 0;
      std::memcpy(&base, map, sizeof(base));
      std::memcpy(&found, reinterpret_cast<const char*>(map) + sizeof(base), sizeof(found));
      EXPECT_EQ(base, first + offset);
      EXPECT_EQ(found, rows);
      offset += 4096;
    }
  }

  Driver driver_ = writing_driver();
  TensorMaps kept_{driver_};
  FwdWgmmaParams params_{};
};

TEST_F(KeptMaps, TheSameTensorsAreEncodedOnce) {
  for (int call = 0; call < 3; ++call) {
    ASSERT_EQ(kept_.fill(maps(1 << 20, 100), params_), CUDA_SUCCESS);
    expect_maps_of(params_, 1 << 20, 100);
  }
  EXPECT_EQ(g_encoded, 4);
}

// More of them than are kept: they take each other's places.
TEST_F(KeptMaps, OtherTensorsAndOtherShapesOfTheSameMemoryAreNotMistaken) {
  for (int call = 0; call < 2; ++call) {
    for (std::uintptr_t i = 1; i <= 2 * TensorMaps::kKept; ++i) {
      ASSERT_EQ(kept_.fill(maps(i << 20U, 100), params_), CUDA_SUCCESS);
      expect_maps_of(params_, i << 20U, 100);
      ASSERT_EQ(kept_.fill(maps(1 << 20, 100 + i), params_), CUDA_SUCCESS);
      expect_maps_of(params_, 1 << 20, 100 + i);
    }
  }
}

TEST_F(KeptMaps, AFailureIsReportedAndNotKept) {
  ASSERT_EQ(kept_.fill(maps(1 << 20, 100), params_), CUDA_SUCCESS);
  g_result = CUDA_ERROR_OUT_OF_MEMORY;
  for (std::uintptr_t i = 2; i <= 4 * TensorMaps::kKept; ++i) {
    EXPECT_EQ(kept_.fill(maps(i << 20U, 100), params_), CUDA_ERROR_OUT_OF_MEMORY);
  }
  g_result = CUDA_SUCCESS;
  for (const std::uintptr_t i : {1, 2}) {
    EXPECT_EQ(kept_.fill(maps(i << 20U, 100), params_), CUDA_SUCCESS);
    expect_maps_of(params_, i << 20U, 100);
  }
}

}  // namespace
}  // namespace fovea::testing

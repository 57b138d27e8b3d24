// Tensor maps of the TMA cases, as data: the GPU runner encodes them with the driver, the replay for the model. One set
// per CTA, over its slice of the input (loads) or of the output (stores).
#pragma once

#include "base/types.h"

namespace fovea::conformance {

struct MapSpec {
  bool on_output;
  u32 word_offset;  // of the tensor in the slice
  bool bf16;        // else fp32
  u32 rank;
  u64 dim[5];
  u64 stride[4];  // bytes, of dimensions 1..
  u32 box[5];
  u32 swizzle;  // 0 none, 1 32 bytes, 2 64, 3 128: as in CUtensorMapSwizzle
};

inline constexpr u32 kTmaLoads = 8;             // slots of 256 words: what the loads brought
inline constexpr u32 kTmaHints = 3;             // and those with an L2 policy
inline constexpr u32 kTmaStoreWords = 5 * 256;  // the output of the cases that store tensors

inline constexpr MapSpec kMaps[] = {
    {false, 0, false, 1, {1000}, {}, {64}, 0},
    {false, 0, true, 2, {64, 40}, {128}, {64, 8}, 3},
    {false, 64, true, 2, {48, 20}, {96}, {32, 8}, 2},
    {false, 0, false, 3, {16, 6, 9}, {64, 384}, {8, 2, 3}, 1},
    {false, 128, false, 4, {8, 4, 5, 6}, {32, 128, 640}, {8, 2, 2, 2}, 0},
    {false, 0, false, 5, {8, 3, 3, 3, 3}, {32, 96, 288, 864}, {4, 2, 2, 2, 2}, 0},
    {true, 0, false, 1, {100}, {}, {64}, 0},
    {true, 256, false, 2, {20, 10}, {80}, {8, 4}, 1},
    {true, 512, false, 3, {16, 5, 3}, {64, 320}, {16, 2, 2}, 2},
    {true, 768, false, 4, {8, 3, 3, 3}, {32, 96, 288}, {8, 2, 2, 2}, 0},
    {true, 1024, false, 5, {4, 2, 3, 2, 3}, {16, 32, 96, 192}, {4, 2, 2, 2, 2}, 0},
};
inline constexpr u32 kMapCount = sizeof(kMaps) / sizeof(kMaps[0]);

constexpr u32 box_bytes(u32 map) {
  u32 bytes = kMaps[map].bf16 ? 2 : 4;
  for (u32 i = 0; i < kMaps[map].rank; ++i) bytes *= kMaps[map].box[i];
  return bytes;
}

}  // namespace fovea::conformance

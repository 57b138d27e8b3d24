// The wgmma state of one warpgroup. Its warps issue the same products in the same order, each when it gets there; a
// product is computed, for all four, when its operands may be read last or at any moment after the fourth warp issued
// it. Registers change at each warp's own wait.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "model/machine.h"
#include "model/runtime/clock.h"

namespace fovea::model {

struct Thread;
struct Warp;

// The accumulators of one chain of products: their values while the registers themselves hold kInFlightBits.
struct Accumulators {
  u32 n = 0;
  u32 warps_active = 0;      // bit per warp whose registers they stand for
  f32* registers[128] = {};  // n / 2 of each thread
  std::vector<u32> value;    // [thread][n / 2]
};

struct Product {
  Wgmma op = Wgmma::k16_bf16;
  u32 n = 0;
  bool trans_a = false, trans_b = false, scale_d = false, from_registers = false;
  u64 desc_a = 0, desc_b = 0;
  u32 joined = 0;  // warps that have issued it
  u32 group = 0;
  bool landed = false;
  u32 a[128][4] = {};
  std::shared_ptr<Accumulators> accumulators;
};

struct WarpgroupState {
  u32 first_product = 0;  // index of products.front() since the start
  std::deque<Product> products;
  u32 issued[4] = {};     // products per warp
  u32 committed[4] = {};  // groups per warp
  bool fenced[4] = {};    // wgmma.fence since the registers last changed
  std::vector<std::shared_ptr<Accumulators>> active;
  std::shared_ptr<Accumulators> returned[4];  // what the last wait wrote, per warp
  std::vector<Warp*> waiting;                 // for other warps to commit

  void check_exit(const Thread& self) const;
};

}  // namespace fovea::model

// ThreadPort: every instruction of the contract as one virtual function, and the way from a kernel's code to the
// thread that runs it. This is all that a kernel, linked in or loaded as a shared object, needs of the model: no symbol
// of the executable. What the instructions do is the business of model/runtime.
#pragma once

#include "base/types.h"

namespace fovea::model {

// Every fibre's stack is one aligned block of this size; its first word points to the thread.
inline constexpr u64 kStackBytes = 128 * 1024;
inline constexpr u32 kUndefinedBits = 0x7fa0deadU;  // a register that nobody wrote
inline constexpr u32 kInFlightBits = 0x7fa1deadU;   // an accumulator of a wgmma that has not been waited for

enum class Special : u32 {
  tid_x,
  ntid_x,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  cluster_ctarank,
  cluster_nctarank,
  smem_base
};
enum class GlobalLoad : u32 { weak, nc, acquire_gpu };
enum class GlobalStore : u32 { weak, release_gpu };
enum class Atomic : u32 { add, inc };
enum class Mma : u32 { k16_bf16, k16_f16, k8_bf16, k8_f16, k16_f16_acc16, k8_tf32, k32_e4m3 };
enum class CacheOp : u32 { ca, cg };
enum class Bar : u32 { sync, arrive, red_popc, red_or };
enum class Fence : u32 { cta, gl, acq_rel_cluster, proxy_async, mbarrier_init };
enum class Mbarrier : u32 {
  init,
  inval,
  arrive,
  arrive_expect_tx,
  expect_tx,
  complete_tx,
  arrive_cluster,
  arrive_drop
};
enum class MbarrierTest : u32 { state, parity, try_parity };
enum class Shfl : u32 { bfly, idx, up, down };
enum class Vote : u32 { any, all, ballot };
enum class Redux : u32 { add, min_u32, max_u32, min_i32, max_i32, and_b32, or_b32, xor_b32 };
enum class Cvt : u32 {
  rn_bf16x2,
  rn_f16x2,
  rn_bf16,
  rn_f16,
  f32_bf16,
  f32_f16,
  rn_satfinite_e4m3x2,
  rn_satfinite_e5m2x2,
  rn_f16x2_e4m3x2,
  rna_tf32
};
enum class Math : u32 {
  ex2_approx_ftz,
  ex2_approx,
  lg2_approx_ftz,
  rcp_approx_ftz,
  tanh_approx,
  fma_rn,
  max,
  min,
  add_rn,
  mul_rn,
  div_rn,
  umulhi,
  prmt,
  popc,
  lop3,
  fma_rn_bf16x2,
  max_bf16x2,
  fma_rn_f16x2,
  max_f16x2,
  ex2_approx_ftz_bf16x2,
  ex2_approx_f16x2
};
enum class TmaOp : u32 { load, store, reduce_add };
enum class BulkOp : u32 { load, store, reduce_add_f32, copy_cluster };
enum class Wgmma : u32 { k16_bf16, k16_f16, k32_e4m3 };
enum class ClusterOp : u32 { arrive, arrive_relaxed, wait };
enum class GridOp : u32 { wait, launch_dependents };

struct TmaArgs {
  TmaOp op;
  u32 rank;
  const TensorMap* map;
  u32 smem, mbar;
  i32 coord[5];
  bool multicast;
  u32 cta_mask;
};

struct WgmmaArgs {
  Wgmma op;
  u32 n;
  bool trans_a, trans_b;
  f32* d;        // n / 2 accumulators of this thread
  const u32* a;  // four registers, or null: A comes from desc_a
  u64 desc_a, desc_b;
  bool scale_d;
};

class ThreadPort {
 public:
  virtual u32 special(Special which) = 0;
  [[noreturn]] virtual void trap() = 0;
  virtual void set_role(const char* name) = 0;

  virtual void load_global(void* value, const void* address, u32 bytes, GlobalLoad kind) = 0;
  virtual void store_global(void* address, const void* value, u32 bytes, GlobalStore kind) = 0;
  virtual u32 atomic_global(Atomic op, u32* address, u32 operand) = 0;
  virtual void red_add_global(f32* address, const f32* values, u32 count) = 0;
  virtual void load_shared(void* value, u32 address, u32 bytes) = 0;
  virtual void store_shared(u32 address, const void* value, u32 bytes) = 0;

  virtual void ldmatrix(u32* regs, u32 address, u32 count, bool trans) = 0;
  virtual void stmatrix(u32 address, const u32* regs, u32 count, bool trans) = 0;
  virtual u32 movmatrix(u32 value) = 0;
  virtual void mma(Mma op, const u32* a, const u32* b, const u32* c, u32* d) = 0;

  virtual void cp_async(u32 dst, const void* src, u32 size, u32 src_bytes, CacheOp cache) = 0;
  virtual void cp_async_commit_group() = 0;
  virtual void cp_async_wait_group(u32 newest_pending) = 0;
  virtual void cp_async_wait_all() = 0;
  virtual void cp_async_mbarrier_arrive(u32 mbar, bool noinc) = 0;

  virtual u32 bar(Bar kind, u32 id, u32 threads, bool predicate) = 0;
  virtual void bar_warp_sync(u32 mask) = 0;
  virtual void fence(Fence kind) = 0;
  virtual u64 mbarrier(Mbarrier op, u32 address, u32 operand) = 0;
  virtual bool mbarrier_test(MbarrierTest kind, u32 address, u64 operand) = 0;
  virtual void mbarrier_wait_parity(u32 address, u32 parity) = 0;
  virtual u32 mbarrier_pending_count(u64 state) = 0;

  virtual u32 shfl(Shfl mode, u32 value, u32 operand) = 0;
  virtual u32 vote(Vote mode, bool predicate) = 0;
  virtual u32 redux(Redux op, u32 value) = 0;
  virtual bool elect_sync() = 0;
  virtual u32 cvt(Cvt op, u32 high, u32 low) = 0;
  virtual u32 math(Math op, u32 a, u32 b, u32 c, u32 immediate) = 0;

  virtual void tma(const TmaArgs& args) = 0;
  virtual void prefetch_tensormap(const TensorMap* map) = 0;
  virtual void bulk(BulkOp op, u32 smem, void* other, u32 remote, u32 bytes, u32 mbar) = 0;
  virtual void bulk_commit_group() = 0;
  virtual void bulk_wait_group(u32 newest_pending, bool read_only) = 0;

  virtual void wgmma_fence() = 0;
  virtual void wgmma(const WgmmaArgs& args) = 0;
  virtual void wgmma_commit_group() = 0;
  virtual void wgmma_wait_group(u32 newest_pending) = 0;

  virtual void cluster_barrier(ClusterOp op) = 0;
  virtual u32 mapa(u32 address, u32 rank) = 0;
  virtual u32 load_shared_cluster(u32 address) = 0;
  virtual void store_shared_cluster(u32 address, u32 value) = 0;
  virtual void store_async(u32 address, u32 value, u32 mbar, bool add) = 0;
  virtual void setmaxnreg(u32 registers, bool increase) = 0;
  virtual void griddepcontrol(GridOp op) = 0;

 protected:
  ~ThreadPort() = default;
};

// The thread whose fibre executes this code: found through the stack, as an operating system finds its current task.
// Valid inside a kernel that model::launch runs, nowhere else.
inline ThreadPort& this_thread() {
  const auto frame = reinterpret_cast<u64>(__builtin_frame_address(0));
  return **reinterpret_cast<ThreadPort**>(frame & ~(kStackBytes - 1));
}

}  // namespace fovea::model

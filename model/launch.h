// Runs a kernel on the host, instruction by instruction, and says what it did wrong. One OS thread per launch, one
// fibre per GPU thread; launches are independent, so several may run at once. No time is modelled.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/types.h"

namespace fovea::model {

// When an asynchronous copy or product really happens between its issue and the wait that it is for. A correct kernel
// gives the same result with each.
enum class AsyncLanding : u8 { eager, lazy, random };

// Which warp runs next. random: any, with preemption. run_ahead: always the first runnable one of an order drawn from
// the seed, so that one warp gets as far ahead of the others as synchronisation lets it.
enum class Schedule : u8 { random, run_ahead };

struct LaunchConfig {
  u32 grid_x = 1, grid_y = 1, grid_z = 1;
  u32 cluster = 1;  // CTAs of a cluster, along x
  u32 threads = 32;
  u32 smem_bytes = 0;  // dynamic shared memory
  int sm = 80;         // compute capability: 80, 86, 89, 90 (that is sm_90a), 100, 120
  u64 seed = 0;
  AsyncLanding landing = AsyncLanding::random;
  Schedule schedule = Schedule::random;
  u32 resident_clusters = 1;       // clusters that run at the same time; others follow in order of their index
  u32 smem_limit = 0;              // 0: the architecture's
  u32 registers_per_thread = 0;    // at launch, for setmaxnreg; 0: 65536 / threads, at most 255
  u64 max_switches = 300'000'000;  // a launch that needs more is taken for one that never ends
};

// Global memory that the kernel may touch. Anything else is a fault.
struct Region {
  const void* base = nullptr;
  u64 bytes = 0;
  bool writable = false;
  const char* name = "";
};

struct Counters {
  u64 mma = 0, wgmma = 0, ldmatrix = 0, stmatrix = 0;
  u64 smem_wavefronts = 0;          // ld, st, ldmatrix, stmatrix: cycles of 32 banks
  u64 smem_bank_conflict_ways = 0;  // of these, more than the access without conflicts needs
  u64 smem_unattributed = 0;        // accesses too far from a warp-wide instruction to be grouped
  u64 cp_async_bytes = 0, tma_bytes = 0, bulk_bytes = 0;
  u64 global_bytes_read = 0, global_bytes_written = 0;
  u64 barriers = 0, mbarrier_waits = 0;
  u64 fibre_switches = 0;
};

enum class Code : u8 {
  launch_config,
  architecture,
  illegal_argument,
  out_of_bounds,
  misaligned,
  read_only,
  uninitialised_memory,
  uninitialised_register,
  copy_in_flight,
  race,
  missing_proxy_fence,
  divergent_collective,
  barrier_misuse,
  mbarrier_misuse,
  accumulator_in_flight,
  exit_with_pending,
  deadlock,
  runaway,
  trap
};
const char* to_string(Code code);

// The first thing that went wrong. The text names the thread, its warp, CTA and role, and what it met.
struct Fault {
  Code code = Code::launch_config;
  std::string text;
};

struct Report {
  std::optional<Fault> fault;
  Counters counters;
};

// `entry` runs once per thread with `params`: fovea_model_main of a loaded stub, or any function that calls a kernel.
Report launch(const LaunchConfig& config, std::span<const Region> memory, void (*entry)(const void* params),
              const void* params);

}  // namespace fovea::model

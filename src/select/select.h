// select: the kernel registry. supports() is the dispatch, the capability query, the refusal, explain and the test
// skip.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cpu_features.h"
#include "core/error.h"
#include "core/tile_request.h"
#include "device/spec/fwd_spec.h"
#include "select/gpu_caps.h"
#include "select/problem.h"

namespace fovea {

enum class KernelId : std::uint8_t { cpu_fwd_f32, cpu_fwd_amx_bf16, fwd_mma, fwd_wgmma };

// Whether a kernel is of a GPU.
inline bool on_gpu(KernelId id) { return id == KernelId::fwd_mma || id == KernelId::fwd_wgmma; }

// What a backend may count on. A value: tests make their own.
struct Caps {
  CpuFeatures cpu;
  int num_threads = 1;
  GpuCaps gpu;       // the CUDA device of the process
  GpuCaps model;     // what the functional model stands for
  TileRequest tile;  // instead of a GPU kernel's tuned tiles
};

struct Verdict {
  KernelId kernel;
  bool served = false;
  bool slow = false;  // served, but more than 1.5x slower than a sibling path would be; `note` says why
  std::string note;   // one line for explain
  Error refusal;      // meaningful when !served
};

// Who runs a kernel: the cpu backend, or a GPU, which is the cuda backend or the model.
enum class Executor : std::uint8_t { cpu, gpu };

struct KernelInfo {
  KernelId id;
  std::string_view name;  // "cpu_fwd_f32"
  Executor executor;
  std::string_view summary;
  Verdict (*supports)(const Problem&, const Caps&);
};

// All kernels, in order of preference.
std::span<const KernelInfo> kernels();
std::string_view name(KernelId id);

// One verdict per kernel of the allowed backend(s), in order of preference.
std::vector<Verdict> supports(const Problem& problem, const Caps& caps, fovea_backend backend);

struct Choice {
  KernelId kernel = KernelId::cpu_fwd_f32;
  FwdSpec spec = {};            // meaningful for GPU kernels
  std::int32_t num_splits = 1;  // likewise; above 1 the spec writes fp32 parts, which a second kernel merges
  bool operator==(const Choice&) const = default;
};

// The first kernel that serves; otherwise the most useful refusal.
Result<Choice> choose(const Problem& problem, const Caps& caps, fovea_backend backend);

}  // namespace fovea

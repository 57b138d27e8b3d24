// The kernel registry: one row per kernel, each with the function that says what it serves and why not.
#include <array>

#include "core/text.h"
#include "select/fwd_mma.h"
#include "select/fwd_wgmma.h"
#include "select/select.h"

namespace fovea {
namespace {

constexpr std::int64_t kCpuMaxHeadDim = 1024;

Verdict refuse(KernelId kernel, Error refusal) {
  return {.kernel = kernel, .served = false, .slow = false, .note = {}, .refusal = std::move(refusal)};
}

bool head_dims_served(const Problem& p) { return p.head_dim_qk <= kCpuMaxHeadDim && p.head_dim_v <= kCpuMaxHeadDim; }

Error head_dim_refusal(const Problem& p) {
  return {.status = FOVEA_HEAD_DIM,
          .asked = cat("head_dim_qk=", p.head_dim_qk, ", head_dim_v=", p.head_dim_v),
          .allowed = cat("head dims from 1 to ", kCpuMaxHeadDim),
          .why = "the cpu kernels keep one row of q and of out per query in scratch memory",
          .hint = cat("split v along its head dim into parts of at most ", kCpuMaxHeadDim,
                      "; a larger head_dim_qk has no kernel")};
}

// What holds for every cpu kernel once its own conditions hold: the strided gather path is served, but named.
Verdict serve_on_cpu(KernelId kernel, const Problem& p) {
  if (!head_dims_served(p)) return refuse(kernel, head_dim_refusal(p));
  if (p.unit_stride_d) {
    return {.kernel = kernel, .served = true, .slow = false, .note = {}, .refusal = {}};
  }
  if (p.forbid_slow) {
    return refuse(kernel, {.status = FOVEA_SLOW_PATH,
                           .asked = "q, k or v with stride(D) != 1, and FOVEA_FLAG_FORBID_SLOW",
                           .allowed = "stride(D) = 1 in q, k and v while slow paths are forbidden",
                           .why = "elements of a row that are not neighbours are gathered one by one",
                           .hint = "copy the tensor so that its last dimension is contiguous, or drop "
                                   "FOVEA_FLAG_FORBID_SLOW"});
  }
  return {.kernel = kernel,
          .served = true,
          .slow = true,
          .note = "stride(D) != 1: rows are gathered element by element",
          .refusal = {}};
}

Verdict supports_cpu_amx(const Problem& p, const Caps& caps) {
  constexpr auto kId = KernelId::cpu_fwd_amx_bf16;
  if (p.dtype != FOVEA_BF16) {
    return refuse(kId, {.status = FOVEA_DTYPE,
                        .asked = cat("q, k, v in ", fovea_dtype_name(p.dtype)),
                        .allowed = "bf16",
                        .why = "AMX tiles multiply bf16",
                        .hint = "cpu_fwd_f32 serves this dtype"});
  }
  if (!caps.cpu.amx_bf16) {
    return refuse(kId, {.status = FOVEA_UNSUPPORTED,
                        .asked = "AMX-BF16 tiles",
                        .allowed = "a CPU, kernel and build with AMX-BF16",
                        .why = caps.cpu.amx_reason,
                        .hint = "cpu_fwd_f32 serves bf16 here"});
  }
  return serve_on_cpu(kId, p);
}

Verdict supports_cpu_f32(const Problem& p, const Caps&) { return serve_on_cpu(KernelId::cpu_fwd_f32, p); }

constexpr std::array kKernels{
    KernelInfo{KernelId::cpu_fwd_amx_bf16, "cpu_fwd_amx_bf16", Executor::cpu,
               "bf16 on AMX tiles with fp32 sums, blocked online softmax", supports_cpu_amx},
    KernelInfo{KernelId::cpu_fwd_f32, "cpu_fwd_f32", Executor::cpu,
               "f32, bf16 and f16 in fp32 SIMD, blocked online softmax, every feature", supports_cpu_f32},
    KernelInfo{KernelId::fwd_wgmma, "fwd_wgmma", Executor::gpu, "bf16 and f16 on wgmma and TMA, SM90",
               supports_fwd_wgmma},
    KernelInfo{KernelId::fwd_mma, "fwd_mma", Executor::gpu, "bf16 and f16 on mma.sync and cp.async, SM80 and up",
               supports_fwd_mma},
};

}  // namespace

std::span<const KernelInfo> kernels() { return kKernels; }

std::string_view name(KernelId id) {
  for (const KernelInfo& kernel : kKernels) {
    if (kernel.id == id) return kernel.name;
  }
  return "unknown";
}

}  // namespace fovea

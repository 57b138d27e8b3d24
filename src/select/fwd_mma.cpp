// What fwd_mma serves, and with which spec.
#include "select/fwd_mma.h"

#include <algorithm>

#include "core/text.h"
#include "select/tuning_mma.h"

namespace fovea {
namespace {

constexpr std::int64_t kMaxHeadDim = 256;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 28;
constexpr std::int64_t kMinTileM = 64;
constexpr std::int64_t kMaxGrid = (std::int64_t{1} << 31) - 1;

Element element_of(fovea_dtype dtype) {
  if (dtype == FOVEA_BF16) return Element::bf16;
  return dtype == FOVEA_F16 ? Element::fp16 : Element::fp32;
}

Error unsupported(std::string asked, std::string allowed, std::string why, std::string hint) {
  return {.status = FOVEA_UNSUPPORTED,
          .asked = std::move(asked),
          .allowed = std::move(allowed),
          .why = std::move(why),
          .hint = std::move(hint)};
}

constexpr std::string_view kCpuServes = "the cpu backend serves it with tensors in CPU memory";

// The features of the contract that this kernel has no code for.
Check missing_feature(const Problem& p) {
  const auto lacks = [](std::string_view feature, std::string_view allowed) {
    return unsupported(std::string(feature), std::string(allowed), "fwd_mma has no code for it yet",
                       std::string(kCpuServes));
  };
  if (p.q_layout != QLayout::dense || p.kv_layout != KvLayout::dense) {
    return lacks("variable lengths or pages", "dense q, k and v");
  }
  if (p.mask != HeadMode::absent) return lacks("a bool mask", "causal and window rules");
  if (p.bias != HeadMode::absent) return lacks("an additive bias", "no bias");
  if (p.requested_splits > 1) return lacks(cat("num_splits=", p.requested_splits), "num_splits 0 or 1");
  return {};
}

Check check_elements(const Problem& p) {
  if (p.dtype != FOVEA_BF16 && p.dtype != FOVEA_F16) {
    return Error{.status = FOVEA_DTYPE,
                 .asked = cat("q, k, v in ", fovea_dtype_name(p.dtype)),
                 .allowed = "bf16 or f16",
                 .why = "mma.m16n8k16 multiplies 16-bit elements",
                 .hint = "convert to bf16 or f16"};
  }
  if (p.out_dtype != p.dtype && p.out_dtype != FOVEA_F32) {
    return Error{.status = FOVEA_DTYPE,
                 .asked = cat("out in ", fovea_dtype_name(p.out_dtype), ", q in ", fovea_dtype_name(p.dtype)),
                 .allowed = "out in the dtype of q, or f32",
                 .why = "no kernel is compiled for mixed 16-bit dtypes",
                 .hint = "take out in the dtype of q"};
  }
  if (p.head_dim_qk > kMaxHeadDim || p.head_dim_v > kMaxHeadDim) {
    return Error{.status = FOVEA_HEAD_DIM,
                 .asked = cat("head_dim_qk=", p.head_dim_qk, ", head_dim_v=", p.head_dim_v),
                 .allowed = cat("head dims from 1 to ", kMaxHeadDim),
                 .why = "the output of a row block stays in registers",
                 .hint = "split v along its head dim; a larger head_dim_qk has no GPU kernel"};
  }
  return {};
}

Check check_layout(const Problem& p) {
  if (!p.unit_stride_d || p.align_qkv < 16 || (p.out_dtype != FOVEA_F32 && p.align_out < 16) || p.align_out < 4) {
    return Error{.status = FOVEA_ALIGNMENT,
                 .asked = cat("rows of q, k, v aligned to ", p.align_qkv, " bytes, of out to ", p.align_out,
                              p.unit_stride_d ? "" : ", stride(D) != 1"),
                 .allowed = "rows that start at multiples of 16 bytes, stride(D) = 1",
                 .why = "fwd_mma moves 16 bytes at a time",
                 .hint = "pad the strides to multiples of 8 elements and align the data pointers to 16 bytes"};
  }
  if (p.seqlen_q >= kMaxExtent || p.seqlen_kv >= kMaxExtent) {
    return unsupported(cat("seqlen_q=", p.seqlen_q, ", seqlen_kv=", p.seqlen_kv), "lengths below 2^28",
                       "positions inside a sequence are 32-bit", "split the keys and merge the parts");
  }
  const std::int64_t tiles = (p.seqlen_q + kMinTileM - 1) / kMinTileM;
  if (p.batch > 0 && p.num_heads_q > 0 && tiles > kMaxGrid / p.batch / p.num_heads_q) {
    return unsupported(cat("batch=", p.batch, ", num_heads_q=", p.num_heads_q, ", seqlen_q=", p.seqlen_q),
                       "fewer than 2^31 tiles of 64 queries", "a grid has at most 2^31 - 1 CTAs",
                       "split the batch over several calls");
  }
  return {};
}

const MmaTuning* tuning_for(std::int64_t head_dim, const GpuCaps& gpu) {
  for (const MmaTuning& row : kMmaTuning) {
    if ((row.sm == 0 || row.sm == gpu.sm) && head_dim <= row.max_head_dim) return &row;
  }
  return nullptr;
}

}  // namespace

Verdict supports_fwd_mma(const Problem& p, const Caps& caps) {
  Verdict verdict{.kernel = KernelId::fwd_mma, .served = false, .slow = false, .note = {}, .refusal = {}};
  const auto refuse = [&verdict](Error refusal) {
    verdict.refusal = std::move(refusal);
    return verdict;
  };
  if (!caps.gpu.present) {
    return refuse({.status = FOVEA_NO_BACKEND,
                   .asked = p.device == FOVEA_DEVICE_CUDA ? "CUDA tensors" : "backend cuda",
                   .allowed = "a CUDA device of compute capability 8.0 or later",
                   .why = caps.gpu.reason,
                   .hint = "use the cpu backend with tensors in CPU memory"});
  }
  if (caps.gpu.model != (p.device == FOVEA_DEVICE_CPU)) {
    return refuse(
        {.status = FOVEA_DEVICE,
         .asked = caps.gpu.model ? "backend model with CUDA tensors" : "backend cuda with tensors in CPU memory",
         .allowed = caps.gpu.model ? "tensors in CPU memory" : "CUDA tensors",
         .why = "tensors are never copied between devices behind the caller's back",
         .hint = "copy the tensors, or ask for FOVEA_BACKEND_AUTO"});
  }
  if (caps.gpu.sm < 80) {
    return refuse(unsupported(cat("sm_", caps.gpu.sm), "sm_80 or later", "bf16 mma and cp.async begin with sm_80",
                              std::string(kCpuServes)));
  }
  if (Check bad = check_elements(p)) return refuse(*std::move(bad));
  if (Check bad = missing_feature(p)) return refuse(*std::move(bad));
  if (Check bad = check_layout(p)) return refuse(*std::move(bad));
  const SmemPlan smem = plan_smem(fwd_mma_spec(p, caps.gpu));
  if (smem.bytes > caps.gpu.smem_bytes) {
    return refuse(unsupported(cat(smem.bytes, " bytes of shared memory"), cat(caps.gpu.smem_bytes, " bytes per CTA"),
                              "the tile of this head dim does not fit this GPU", std::string(kCpuServes)));
  }
  verdict.served = true;
  return verdict;
}

FwdSpec fwd_mma_spec(const Problem& p, const GpuCaps& gpu) {
  const std::int64_t head_dim = std::max(p.head_dim_qk, p.head_dim_v);
  const MmaTuning& tuning = *tuning_for(head_dim, gpu);
  FwdSpec spec;
  spec.element = element_of(p.dtype);
  spec.out = element_of(p.out_dtype);
  spec.head_dim_qk = static_cast<i32>(p.head_dim_qk);
  spec.head_dim_v = static_cast<i32>(p.head_dim_v);
  spec.score = p.softcap == 0.0F && p.softmax_scale > 0.0F ? ScoreForm::scaled : ScoreForm::general;
  spec.store = gpu.sm >= 90 ? Store::stmatrix : Store::vector;
  spec.tile_m = tuning.tile_m;
  spec.tile_n = tuning.tile_n;
  spec.rows_per_warp = tuning.rows_per_warp;
  spec.stages = tuning.stages;
  spec.min_ctas = tuning.min_ctas;
  return spec;
}

std::vector<FwdSpec> standard_fwd_mma_specs(int sm) {
  std::vector<FwdSpec> specs;
  const GpuCaps gpu = architecture_caps(sm);
  for (const fovea_dtype dtype : {FOVEA_BF16, FOVEA_F16}) {
    for (const std::int64_t head_dim : {64, 96, 128, 256}) {
      Problem problem;
      problem.dtype = dtype;
      problem.out_dtype = dtype;
      problem.head_dim_qk = head_dim;
      problem.head_dim_v = head_dim;
      specs.push_back(fwd_mma_spec(problem, gpu));
    }
  }
  return specs;
}

namespace {
std::string_view cpp(Element e) {
  return e == Element::bf16 ? "fovea::Element::bf16"
                            : (e == Element::fp16 ? "fovea::Element::fp16" : "fovea::Element::fp32");
}
}  // namespace

std::string to_cpp(const FwdSpec& spec) {
  const auto& [element, out, head_dim_qk, head_dim_v, score, store, tile_m, tile_n, rows_per_warp, stages, min_ctas] =
      spec;
  return cat("{.element = ", cpp(element), ", .out = ", cpp(out), ", .head_dim_qk = ", head_dim_qk,
             ", .head_dim_v = ", head_dim_v,
             ", .score = fovea::ScoreForm::", score == ScoreForm::scaled ? "scaled" : "general",
             ", .store = fovea::Store::", store == Store::stmatrix ? "stmatrix" : "vector", ", .tile_m = ", tile_m,
             ", .tile_n = ", tile_n, ", .rows_per_warp = ", rows_per_warp, ", .stages = ", stages,
             ", .min_ctas = ", min_ctas, "}");
}

}  // namespace fovea

// What fwd_mma serves, and with which spec.
#include "select/fwd_mma.h"

#include <algorithm>

#include "core/text.h"
#include "select/problem_fields.h"
#include "select/tuning_mma.h"

namespace fovea {
namespace {

constexpr std::int64_t kMaxHeadDim = 256;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 28;
constexpr std::int64_t kMinTileM = 64;
constexpr std::int64_t kMaxGrid = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kMinSplitKeys = 256;  // below this many a split costs more than it gains
constexpr std::int64_t kMaxRows = std::int64_t{1} << 30;

Error unsupported(std::string asked, std::string allowed, std::string why, std::string hint) {
  return {.status = FOVEA_UNSUPPORTED,
          .asked = std::move(asked),
          .allowed = std::move(allowed),
          .why = std::move(why),
          .hint = std::move(hint)};
}

constexpr std::string_view kCpuServes = "the cpu backend serves it with tensors in CPU memory";

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
  const std::int32_t out_element = p.out_dtype == FOVEA_F32 ? 4 : 2;
  if (!p.unit_stride_d || p.align_qkv < 2 || p.align_out < out_element) {
    return Error{.status = FOVEA_ALIGNMENT,
                 .asked = cat("rows of q, k, v aligned to ", p.align_qkv, " bytes, of out to ", p.align_out,
                              p.unit_stride_d ? "" : ", stride(D) != 1"),
                 .allowed = "stride(D) = 1, data pointers that are multiples of the element size",
                 .why = "a row is read and written in pieces of neighbouring elements",
                 .hint = "copy the tensor so that its last dimension is contiguous"};
  }
  if (p.seqlen_q >= kMaxExtent || p.seqlen_kv >= kMaxExtent) {
    return unsupported(cat("seqlen_q=", p.seqlen_q, ", seqlen_kv=", p.seqlen_kv), "lengths below 2^28",
                       "positions inside a sequence are 32-bit", "split the keys and merge the parts");
  }
  const std::int64_t group = heads_per_group(p);
  if (p.seqlen_q > kMaxRows / group) {
    return unsupported(cat("seqlen_q=", p.seqlen_q, " with ", group, " query heads per kv head"),
                       "fewer than 2^30 rows of a group", "rows inside a sequence are 32-bit",
                       "split the queries over several calls");
  }
  const std::int64_t tiles = std::max<std::int64_t>(ceil_div(p.seqlen_q, kMinTileM), 1) * kMaxSplits;
  if (p.batch > 0 && p.num_heads_q > 0 && tiles > kMaxGrid / p.batch / p.num_heads_q) {
    return unsupported(cat("batch=", p.batch, ", num_heads_q=", p.num_heads_q, ", seqlen_q=", p.seqlen_q),
                       "fewer than 2^24 tiles of 64 queries", "a grid has at most 2^31 - 1 CTAs",
                       "split the batch over several calls");
  }
  return {};
}

const MmaTuning& tuning_for(MmaUse use, std::int64_t head_dim, const GpuCaps& gpu) {
  const auto fits = [&](const MmaTuning& row) {
    return (row.sm == 0 || row.sm == gpu.sm) && row.use == use && head_dim <= row.max_head_dim;
  };
  return *std::find_if(kMmaTuning.begin(), kMmaTuning.end(), fits);
}

// The widths of tiles that kernels are compiled for; other head dims take the next one.
i32 tile_width(std::int64_t head_dim) {
  for (const i32 width : {32, 64, 96, 128, 192}) {
    if (head_dim <= width) return width;
  }
  return 256;
}

// Those of the kernels that serve anything.
i32 universal_width(std::int64_t head_dim) { return head_dim <= 64 ? 64 : (head_dim <= 128 ? 128 : 256); }
constexpr i32 kMinAnyWidth = 64;

// Few rows per kv head: one tile holds them all. In batch-invariant mode the choice must not depend on other requests.
bool is_decode(const Problem& p) {
  if (p.batch_invariant) return false;
  const bool packed = p.q_layout == QLayout::varlen;
  const std::int64_t queries = packed ? ceil_div(p.total_q, std::max<std::int64_t>(p.batch, 1)) : p.seqlen_q;
  return queries * heads_per_group(p) <= kMinTileM;
}

MmaUse use_of(const FwdSpec& spec, bool decode) {
  if (decode) return MmaUse::decode;
  if (spec.score != ScoreForm::biased) return MmaUse::prefill;
  return spec.loads == Loads::any ? MmaUse::universal : MmaUse::biased;
}

ScoreForm score_form(const Problem& p) {
  if (p.bias != HeadMode::absent) return ScoreForm::biased;
  if (p.mask != HeadMode::absent) return scale_folds(p) ? ScoreForm::masked : ScoreForm::biased;
  return scale_folds(p) ? ScoreForm::scaled : ScoreForm::general;
}

constexpr i32 kMaxNarrowWidth = 128;  // of tiles for which views have kernels of all kinds

// The most that mask and bias, where there are any, both allow.
ViewReads view_reads(const Problem& p, const FwdSpec& spec) {
  const ViewReads mask = p.mask == HeadMode::absent ? ViewReads::vectors : p.mask_reads;
  const ViewReads bias = p.bias == HeadMode::absent ? ViewReads::vectors : p.bias_reads;
  const ViewReads both = std::min(mask, bias);
  const bool by_words = spec.head_dim_qk == spec.head_dim_v && spec.head_dim_qk <= kMaxNarrowWidth;
  return both == ViewReads::words && !by_words ? ViewReads::elements : both;
}

// What a call seldom has takes the kernel that can do all of it, of which there are few. Rows of a group: few rows.
bool takes_universal(const Problem& p, const FwdSpec& spec, ViewReads reads) {
  const bool decode = spec.rows == Rows::group;
  if (spec.score == ScoreForm::scaled) return decode && spec.loads == Loads::any;
  if (spec.loads != Loads::vector || reads == ViewReads::elements) return true;
  if (decode) return reads != ViewReads::vectors || std::max(spec.head_dim_qk, spec.head_dim_v) > kMaxNarrowWidth;
  if (spec.score == ScoreForm::general) return spec.head_dim_qk != spec.head_dim_v;
  const bool transformed = p.softcap != 0.0F || p.bias == HeadMode::absent;  // scores, before a bias joins them
  return spec.score == ScoreForm::biased && transformed;
}

Loads loads_of(const Problem& p, i32 width_qk, i32 width_v) {
  const bool whole = p.head_dim_qk == width_qk && p.head_dim_v == width_v;
  const bool aligned = p.align_qkv >= 16 && p.align_out >= (p.out_dtype == FOVEA_F32 ? 8 : 16);
  if (!whole || !aligned) return Loads::any;
  return p.kv_layout == KvLayout::paged ? Loads::paged : Loads::vector;
}

// Whether the bias of a block goes through shared memory: where it pays and fits with as many CTAs per SM. H200,
// 2026-11-28: 16-bit bias, S 4096, D 128 8 and 14% faster, D 64 behind the products -1 to 1%; fp32 bias D 128 nothing,
// D 64 4% slower. 2026-11-30: D 64 ahead of the products 9 and 12% faster.
bool takes_bias_tiles(FwdSpec spec, const GpuCaps& gpu) {
  spec.bias_tiles = true;
  if (spec.rows == Rows::group) return false;  // each lane copies the rows of a head
  if (spec.head_dim_v <= 64 && !spec.begins_with_bias()) return false;
  return well_formed(spec) && smem_fits(spec, gpu);
}

// What makes a call take a path of narrow reads, where a sibling reads whole vectors; null when nothing does.
struct SlowPath {
  const char* note;     // for explain
  const char* asked;    // for a refusal
  const char* allowed;  // what takes the fast path
};
const SlowPath* slow_path(const Problem& p, const FwdSpec& spec) {
  static constexpr SlowPath kRows{"rows of q, k and v at 2-byte alignment are copied element by element",
                                  "rows of q, k or v at 2-byte alignment", "rows that start at multiples of 4 bytes"};
  static constexpr const char* kVectors =
      "contiguous keys in rows at multiples of 16 bytes, a multiple of 16 keys long (bias: 8), without pages and with "
      "both head dims 32, 64, 96 or 128; in prefill calls also 192 or 256, and no softcap";
  static constexpr SlowPath kWords{"mask and bias are read by words of 4 bytes, as their rows begin anywhere",
                                   "a mask or bias whose rows are not multiples of 16 bytes apart", kVectors};
  static constexpr SlowPath kViews{"mask and bias are read in a kernel that serves every call",
                                   "a mask or bias that no kernel reads in whole vectors", kVectors};
  static constexpr SlowPath kMixed{"softcap with different head dims runs in a kernel that serves every call",
                                   "softcap, or a scale that is not positive, with different head dims",
                                   "head dims of one width: up to 32, 64, 96, 128, 192 or 256"};
  if (spec.reads == ViewReads::words) return &kWords;
  if (spec.loads != Loads::any) return nullptr;
  if (p.align_qkv < 4) return &kRows;
  if (!scale_folds(p) && tile_width(p.head_dim_qk) != tile_width(p.head_dim_v)) return &kMixed;
  const bool views = p.mask != HeadMode::absent || p.bias != HeadMode::absent;
  return spec.score == ScoreForm::biased && views ? &kViews : nullptr;
}

}  // namespace

bool smem_fits(const FwdSpec& spec, const GpuCaps& gpu) {
  constexpr std::int64_t kReserved = 1024;  // of each CTA, for the system
  return (plan_smem(spec).bytes + kReserved) * spec.min_ctas <= gpu.smem_bytes + kReserved;
}

bool grouping_fills_tiles(const Problem& p, std::int64_t tile_m) {
  const std::int64_t group = heads_per_group(p);
  const std::int64_t apart = group * ceil_div(p.seqlen_q, tile_m);
  return p.q_layout != QLayout::varlen && 10 * ceil_div(p.seqlen_q * group, tile_m) <= 9 * apart;
}

std::int64_t row_tiles(const Problem& p, const FwdSpec& spec) {
  const bool grouped = spec.rows == Rows::group;
  const std::int64_t rows = grouped ? p.seqlen_q * heads_per_group(p) : p.seqlen_q;
  const std::int64_t heads = grouped ? p.num_heads_kv : p.num_heads_q;
  const std::int64_t sequences = p.q_layout == QLayout::varlen ? 1 : p.batch;
  return ceil_div(rows, std::int64_t{spec.tile_m}) * heads * sequences;
}

bool scale_folds(const Problem& p) { return p.softcap == 0.0F && p.softmax_scale > 0.0F; }

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
  if (Check bad = check_layout(p)) return refuse(*std::move(bad));
  const FwdSpec spec = fwd_mma_spec(p, caps.gpu);
  const SmemPlan smem = plan_smem(spec);
  if (smem.bytes > caps.gpu.smem_bytes) {
    return refuse(unsupported(cat(smem.bytes, " bytes of shared memory"), cat(caps.gpu.smem_bytes, " bytes per CTA"),
                              "the tile of this head dim does not fit this GPU", std::string(kCpuServes)));
  }
  if (const SlowPath* slow = slow_path(p, spec)) {
    if (p.forbid_slow) {
      return refuse({.status = FOVEA_SLOW_PATH,
                     .asked = cat(slow->asked, ", and FOVEA_FLAG_FORBID_SLOW"),
                     .allowed = slow->allowed,
                     .why = slow->note,
                     .hint = "copy the tensor into such a layout, or drop FOVEA_FLAG_FORBID_SLOW"});
    }
    verdict.slow = true;
    verdict.note = slow->note;
  }
  verdict.served = true;
  return verdict;
}

Element element_of(fovea_dtype dtype) {
  if (dtype == FOVEA_BF16) return Element::bf16;
  return dtype == FOVEA_F16 ? Element::fp16 : Element::fp32;
}

FwdSpec fwd_mma_spec(const Problem& p, const GpuCaps& gpu) {
  FwdSpec spec;
  spec.element = element_of(p.dtype);
  spec.head_dim_qk = tile_width(p.head_dim_qk);
  spec.head_dim_v = tile_width(p.head_dim_v);
  spec.score = score_form(p);
  spec.loads = loads_of(p, spec.head_dim_qk, spec.head_dim_v);
  const bool decode = is_decode(p);
  spec.rows = decode ? Rows::group : Rows::head;
  const ViewReads reads = view_reads(p, spec);
  if (takes_universal(p, spec, reads)) {
    spec.score = ScoreForm::biased;
    spec.loads = Loads::any;
    spec.head_dim_qk = spec.head_dim_v = universal_width(std::max(p.head_dim_qk, p.head_dim_v));
  } else {
    if (decode && spec.score != ScoreForm::scaled) {
      spec.score = ScoreForm::biased;  // open_views()
    } else if (spec.score == ScoreForm::biased) {
      spec.bias = element_of(p.bias_dtype);
    }
    spec.reads = reads;
  }
  if (spec.loads == Loads::any) {
    spec.head_dim_qk = std::max(spec.head_dim_qk, kMinAnyWidth);
    spec.head_dim_v = std::max(spec.head_dim_v, kMinAnyWidth);
  }
  spec.store = gpu.sm >= 90 ? Store::stmatrix : Store::vector;
  const MmaUse use = use_of(spec, decode);
  const MmaTuning& tuning = tuning_for(use, std::max(spec.head_dim_qk, spec.head_dim_v), gpu);
  spec.tile_m = tuning.tile_m;
  spec.tile_n = tuning.tile_n;
  spec.rows_per_warp = tuning.rows_per_warp;
  spec.stages = tuning.stages;
  spec.min_ctas = tuning.min_ctas;
  if (spec.score == ScoreForm::scaled && spec.loads != Loads::any && !p.batch_invariant &&
      grouping_fills_tiles(p, spec.tile_m)) {
    spec.rows = Rows::group;
  }
  spec.bias_tiles = takes_bias_tiles(spec, gpu);
  return spec;
}

std::int32_t fwd_mma_splits(const Problem& p, const GpuCaps& gpu) {
  if (p.requested_splits > 0) return std::min(p.requested_splits, kMaxSplits);
  if (p.batch_invariant) {  // two at least: in company of a longer request there would be a second, empty one
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(ceil_div(p.seqlen_kv, std::int64_t{kInvariantSplitKeys}), 2, kMaxSplits));
  }
  const FwdSpec spec = fwd_mma_spec(p, gpu);
  const std::int64_t tiles = std::max<std::int64_t>(row_tiles(p, spec), 1);
  const std::int64_t slots = std::int64_t{gpu.num_sms} * spec.min_ctas;
  const std::int64_t useful = p.seqlen_kv / kMinSplitKeys;
  const std::int64_t most = std::min<std::int64_t>({useful, slots / tiles, kMaxSplits});
  return static_cast<std::int32_t>(std::max<std::int64_t>(most, 1));
}

std::vector<FwdSpec> standard_fwd_mma_specs(int sm) {
  std::vector<FwdSpec> specs;
  const GpuCaps gpu = architecture_caps(sm);
  Problem problem;
  problem.batch = 1;
  problem.num_heads_q = problem.num_heads_kv = 8;
  problem.seqlen_q = problem.total_q = problem.seqlen_kv = 1024;
  for (const fovea_dtype dtype : {FOVEA_BF16, FOVEA_F16}) {
    for (const std::int64_t head_dim : {64, 128, 256}) {
      problem.dtype = problem.out_dtype = dtype;
      problem.head_dim_qk = problem.head_dim_v = head_dim;
      specs.push_back(fwd_mma_spec(problem, gpu));
    }
  }
  // bf16, head dim 128: one of each other kind.
  problem.dtype = problem.out_dtype = problem.bias_dtype = FOVEA_BF16;
  problem.head_dim_qk = problem.head_dim_v = 128;
  Problem masked = problem;
  masked.mask = HeadMode::broadcast, masked.mask_reads = ViewReads::vectors;
  Problem biased = problem;
  biased.bias = HeadMode::broadcast, biased.bias_reads = ViewReads::vectors;
  Problem anything = biased;
  anything.bias_reads = ViewReads::elements;
  Problem decode = problem;
  decode.seqlen_q = decode.total_q = decode.num_heads_kv = 1;
  Problem decode_masked = decode;
  decode_masked.mask = HeadMode::broadcast, decode_masked.mask_reads = ViewReads::vectors;
  Problem paged = decode;
  paged.kv_layout = KvLayout::paged;
  paged.requested_splits = 4;
  for (const Problem& p : {masked, biased, anything, decode, decode_masked, paged})
    specs.push_back(fwd_mma_spec(p, gpu));
  return specs;
}

namespace {
std::string_view cpp(Element e) {
  return e == Element::bf16 ? "fovea::Element::bf16"
                            : (e == Element::fp16 ? "fovea::Element::fp16" : "fovea::Element::fp32");
}
std::string_view cpp(ScoreForm form) {
  if (form == ScoreForm::scaled) return "fovea::ScoreForm::scaled";
  if (form == ScoreForm::general) return "fovea::ScoreForm::general";
  if (form == ScoreForm::masked) return "fovea::ScoreForm::masked";
  return form == ScoreForm::biased ? "fovea::ScoreForm::biased" : "fovea::ScoreForm::masked_biased";
}
std::string_view cpp(Loads loads) {
  if (loads == Loads::vector) return "fovea::Loads::vector";
  return loads == Loads::paged ? "fovea::Loads::paged" : "fovea::Loads::any";
}
}  // namespace

std::string to_cpp(const FwdSpec& spec) {
  const auto& [element, head_dim_qk, head_dim_v, score, bias, loads, rows, store, tile_m, tile_n, rows_per_warp, stages,
               min_ctas, family, transformed, bias_tiles, reads] = spec;
  return cat("{.element = ", cpp(element), ", .head_dim_qk = ", head_dim_qk, ", .head_dim_v = ", head_dim_v,
             ", .score = ", cpp(score), ", .bias = ", cpp(bias), ", .loads = ", cpp(loads),
             ", .rows = fovea::Rows::", rows == Rows::group ? "group" : "head",
             ", .store = fovea::Store::", store == Store::stmatrix ? "stmatrix" : "vector", ", .tile_m = ", tile_m,
             ", .tile_n = ", tile_n, ", .rows_per_warp = ", rows_per_warp, ", .stages = ", stages,
             ", .min_ctas = ", min_ctas, ", .family = fovea::Family::", family == Family::mma ? "mma" : "wgmma",
             ", .transformed = ", transformed ? "true" : "false", ", .bias_tiles = ", bias_tiles ? "true" : "false",
             ", .reads = fovea::ViewReads::", name(reads), "}");
}

std::string to_cpp(const CombineSpec& spec) { return cat("{.out = ", cpp(spec.out), "}"); }

CombineSpec combine_spec(const Problem& p) { return {.out = element_of(p.out_dtype)}; }

}  // namespace fovea

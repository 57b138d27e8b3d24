// What fwd_wgmma serves. Every refusal names fwd_mma, which serves instead.
#include "select/fwd_wgmma.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/text.h"
#include "device/spec/fwd_wgmma_params.h"
#include "select/fwd_mma.h"
#include "select/tuning_wgmma.h"

namespace fovea {
namespace {

constexpr std::int64_t kMinRows = 64;  // below, most of a tile would be idle

struct Condition {
  bool holds;
  fovea_status status;
  const char* asked;
  const char* allowed;
  const char* why;
};

// Columns of its tiles of k and of v; TMA fills those past the head dims with zeros.
struct Widths {
  i32 qk, v;
};
constexpr Widths kWidths[] = {{64, 64}, {128, 128}, {192, 128}, {192, 192}, {256, 256}};
const Widths& widths(const Problem& p) {
  const auto fits = [&](const Widths& w) { return p.head_dim_qk <= w.qk && p.head_dim_v <= w.v; };
  return *std::find_if(std::begin(kWidths), std::end(kWidths) - 1, fits);
}

// Whether warps copy the bias: TMA wants rows at multiples of 16 bytes, and ldmatrix elements of 16 bits.
bool copies_bias(const Problem& p) {
  return p.bias != HeadMode::absent && (p.bias_reads != ViewReads::vectors || p.bias_dtype == FOVEA_F32);
}

WgmmaViews views_of(const Problem& p) {
  using enum WgmmaViews;
  const bool masked = p.mask != HeadMode::absent;
  if (p.bias == HeadMode::absent) return masked ? mask : none;
  if (p.bias_dtype == FOVEA_F32) return fp32_bias;
  if (copies_bias(p)) return masked ? copied_both : copied_bias;
  return masked ? both : bias;
}

// Whether shared memory has room for a bias that is copied, whose rows are 16 bytes longer there.
bool copies_fit(const Problem& p) {
  const bool alone = p.bias_dtype != FOVEA_F32 && p.mask == HeadMode::absent;
  return alone || std::max(p.head_dim_qk, p.head_dim_v) <= 192;
}

const WgmmaTuning& tuning_for(const Problem& p) {
  const WgmmaKeys keys = uneven_keys(p) ? WgmmaKeys::uneven : WgmmaKeys::even;
  const WgmmaViews views = views_of(p);
  const std::int64_t queries =
      p.q_layout == QLayout::varlen ? p.total_q / std::max<std::int64_t>(p.batch, 1) : p.seqlen_q;
  const Widths& width = widths(p);
  return *std::find_if(kWgmmaTuning.begin(), kWgmmaTuning.end() - 1, [&](const WgmmaTuning& t) {
    return (t.keys == keys || t.keys == WgmmaKeys::any) && t.views == views && width.qk <= t.max_head_dim &&
           width.v <= t.max_head_dim_v && queries >= t.min_queries;
  });
}

// Whether a tile's rows are those of a group. A box of TMA then holds the group's heads of several queries, in 16 rows
// at least.
bool packs_heads(const Problem& p, const FwdSpec& spec) {
  FwdSpec grouped = spec;
  grouped.rows = Rows::group;
  return kMaxTmaGroup % heads_per_group(p) == 0 && grouping_fills_tiles(p, spec.tile_m) && well_formed(grouped);
}

// Whether the call has tiles for a third of the SMs. With fewer, and so many keys that one CTA takes its time over
// them, fwd_mma is faster, which splits keys. H200, 2026-11-29, fewer than 64 queries of 4 or 8 heads, head dims 64 and
// 128, time of fwd_mma over that of fwd_wgmma: 48 tiles and more 0.95 to 2.8, 8 to 32 tiles of 4096 and 8192 keys 0.41
// to 1.03, of 1024 keys 1.06 to 1.54. 2026-11-30, with a mask or bias, head dims 64 to 256: 8 tiles of 8192 keys 0.18
// to 0.36, of 2048 keys 0.54 to 0.69, 32 tiles of 8192 keys 0.61 to 0.71, 64 of them 1.10 to 1.27.
bool busies_the_chip(const Problem& p, const FwdSpec& spec, const GpuCaps& gpu) {
  const std::int64_t many_keys = spec.views() ? 2048 : 4096;
  return 3 * row_tiles(p, spec) >= gpu.num_sms || p.seqlen_kv < many_keys;
}

// Whether fwd_mma's kernel for few rows is faster, of which a tile here would be half empty: up to 64 rows. H200,
// 2026-11-30, 64 queries, time of fwd_wgmma over that of fwd_mma: bias of fp32 2.1 to 4.8. With a tile per SM and up to
// 4096 keys: mask or bias 1.02 to 3.9, head dim 64 without either 1.06 to 1.46, head dim 128 0.93 to 1.12; 8192 keys,
// mask or bias 0.94 to 0.96; fewer tiles 0.8 to 1.5.
bool suits_few_rows(const Problem& p, const FwdSpec& spec, const GpuCaps& gpu) {
  if (p.seqlen_q * heads_per_group(p) > kMinRows) return false;
  if (copies_bias(p)) return true;
  const bool narrow = std::max(p.head_dim_qk, p.head_dim_v) <= 64 && scale_folds(p) && p.kv_layout != KvLayout::paged;
  return (spec.views() || narrow) && row_tiles(p, spec) >= gpu.num_sms && p.seqlen_kv <= 4096;
}

// Whether tiles have enough rows, queries of a head or of the heads of a group, and whether there are enough of them;
// where fwd_mma has no kernel but its slow one, few will do.
bool fills_tiles(const Problem& p, const GpuCaps& gpu, bool slow_in_mma) {
  if (p.q_layout == QLayout::varlen) return p.total_q >= kMinRows;
  const FwdSpec spec = fwd_wgmma_spec(p);
  const bool few = p.seqlen_q < kMinRows;
  if (few && (spec.rows != Rows::group || p.seqlen_q * heads_per_group(p) <= kMinRows)) return false;
  return slow_in_mma || (busies_the_chip(p, spec, gpu) && !suits_few_rows(p, spec, gpu));
}

// TMA brings pieces that divide a page and a step's keys, which are a multiple of 32. A piece of 16 keys takes as long
// to send as one of 128: up to head dim 64 fwd_mma is faster then (H200, 2026-11-30, S 1k to 16k: by 16 to 27%), where
// it need not take its kernel for everything.
bool pages_fit(const Problem& p) {
  const bool narrow = std::max(p.head_dim_qk, p.head_dim_v) <= 64;
  const bool plain = scale_folds(p) && p.mask == HeadMode::absent && p.bias == HeadMode::absent;
  return p.page_size % (narrow && plain ? 2 * kMinPageRows : kMinPageRows) == 0;
}

std::array<Condition, 9> conditions(const Problem& p, const GpuCaps& gpu, bool slow_in_mma) {
  return {{
      {gpu.sm == 90, FOVEA_UNSUPPORTED, "a GPU of another architecture", "SM90", "wgmma exists there alone"},
      {(p.dtype == FOVEA_BF16 || p.dtype == FOVEA_F16) && p.out_dtype == p.dtype, FOVEA_DTYPE, "other dtypes",
       "bf16 or f16, and out in the same", "it is compiled for these"},
      {std::max(p.head_dim_qk, p.head_dim_v) <= 256 && p.head_dim_qk % 8 == 0 && p.head_dim_v % 8 == 0, FOVEA_HEAD_DIM,
       "these head dims", "multiples of 8 up to 256", "TMA wants rows of whole 16 bytes"},
      {!copies_bias(p) || (p.bias_reads != ViewReads::elements && copies_fit(p)), FOVEA_UNSUPPORTED, "this bias",
       "neighbouring keys; above head dim 192 bf16 or f16, with a mask rows of a multiple of 8 keys at multiples of 16 "
       "bytes",
       "it goes through the shared memory that K and V leave"},
      {p.mask == HeadMode::absent || p.mask_reads != ViewReads::elements, FOVEA_UNSUPPORTED, "this mask",
       "neighbouring keys", "three warps read 16 keys at a time"},
      {p.kv_layout != KvLayout::paged || pages_fit(p), FOVEA_UNSUPPORTED, "pages of this size",
       "multiples of 16 keys; of 32 where head dims up to 64 have no softcap, mask or bias",
       "TMA brings pieces of a page that divide a step's keys as well, one after the other"},
      {p.align_qkv >= 16 && p.unit_stride_d && p.forward_strides, FOVEA_ALIGNMENT, "these strides",
       "positive strides, rows at multiples of 16 bytes", "TMA knows no others"},
      {p.align_out >= 16, FOVEA_ALIGNMENT, "rows of out at this alignment", "multiples of 16 bytes",
       "TMA knows no others"},
      {p.requested_splits <= 1 && !p.batch_invariant && fills_tiles(p, gpu, slow_in_mma), FOVEA_UNSUPPORTED,
       "few queries, split keys or batch-invariant mode",
       "64 queries or more, or more than 64 rows of a group of 2, 4, 8 or 16 heads; tiles for a third of the SMs or "
       "fewer than 4096 keys, 2048 with a mask or bias; in one part; not what fwd_mma's kernel for 64 rows does faster",
       "fwd_mma packs heads and splits keys"},
  }};
}

}  // namespace

Verdict supports_fwd_wgmma(const Problem& p, const Caps& caps) {
  Verdict verdict{.kernel = KernelId::fwd_wgmma, .served = false, .slow = false, .note = {}, .refusal = {}};
  const Verdict mma = supports_fwd_mma(p, caps);  // sizes, devices and what no GPU kernel serves
  if (!mma.served && mma.refusal.status != FOVEA_SLOW_PATH) {
    verdict.refusal = mma.refusal;
    return verdict;
  }
  for (const Condition& c : conditions(p, caps.gpu, mma.slow || !mma.served)) {
    if (c.holds) continue;
    verdict.refusal = {
        .status = c.status, .asked = c.asked, .allowed = c.allowed, .why = c.why, .hint = "fwd_mma serves it"};
    return verdict;
  }
  verdict.served = true;
  return verdict;
}

std::int32_t fwd_wgmma_page_box(const Problem& p, std::int64_t keys) {
  return static_cast<std::int32_t>(std::gcd(p.page_size, keys));
}

FwdSpec fwd_wgmma_spec(const Problem& p) {
  const WgmmaTuning& tuning = tuning_for(p);
  FwdSpec spec;
  spec.element = element_of(p.dtype);
  spec.score = scale_folds(p) ? ScoreForm::scaled : ScoreForm::general;
  const bool masked = p.mask != HeadMode::absent;
  const bool biased = p.bias != HeadMode::absent;
  if (masked) spec.score = ScoreForm::masked;
  if (biased) {
    spec.score = masked ? ScoreForm::masked_biased : ScoreForm::biased;
    spec.bias = element_of(p.bias_dtype);
    spec.bias_tiles = true;
    if (copies_bias(p)) spec.reads = ViewReads::words;
  }
  // A bias joins any scale in one step.
  spec.transformed = biased ? p.softcap != 0.0F : masked && !scale_folds(p);
  spec.loads = p.kv_layout == KvLayout::paged ? Loads::paged : Loads::vector;
  spec.head_dim_qk = widths(p).qk;
  spec.head_dim_v = widths(p).v;
  spec.store = Store::stmatrix;
  spec.tile_m = tuning.tile_m;
  spec.tile_n = tuning.tile_n;
  spec.stages = tuning.stages;
  spec.rows_per_warp = 16;
  spec.family = Family::wgmma;
  if (packs_heads(p, spec)) spec.rows = Rows::group;
  return spec;
}

std::vector<FwdSpec> standard_fwd_wgmma_specs(int sm) {
  std::vector<FwdSpec> specs;
  if (sm != 90) return specs;
  Problem problem;
  problem.batch = 1;
  for (const fovea_dtype dtype : {FOVEA_BF16, FOVEA_F16}) {
    for (const std::int64_t head_dim : {64, 128, 192, 256}) {
      for (const std::int64_t queries : {kMinRows, std::int64_t{16384}}) {
        if ((head_dim > 64 && queries != kMinRows) || (head_dim > 128 && dtype != FOVEA_BF16)) continue;
        problem.dtype = problem.out_dtype = dtype;
        problem.head_dim_qk = problem.head_dim_v = head_dim;
        problem.seqlen_q = problem.total_q = queries;
        specs.push_back(fwd_wgmma_spec(problem));
        if (dtype != FOVEA_BF16 || queries != kMinRows || head_dim == 192) continue;
        Problem capped = problem;
        capped.softcap = 30.0F;
        Problem paged = problem;
        paged.kv_layout = KvLayout::paged;
        paged.page_size = 128;
        Problem masked = problem;
        masked.mask = HeadMode::broadcast, masked.mask_reads = ViewReads::vectors;
        Problem biased = problem;
        biased.bias = HeadMode::broadcast, biased.bias_reads = ViewReads::vectors, biased.bias_dtype = FOVEA_BF16;
        Problem both = masked;
        both.bias = biased.bias, both.bias_reads = ViewReads::vectors, both.bias_dtype = biased.bias_dtype;
        if (head_dim == 256) {
          specs.push_back(fwd_wgmma_spec(both));
          continue;
        }
        Problem copied = masked;
        copied.bias = biased.bias, copied.bias_reads = ViewReads::words;
        copied.bias_dtype = head_dim == 128 ? FOVEA_BF16 : FOVEA_F32;
        Problem grouped = problem;
        grouped.num_heads_q = 8, grouped.num_heads_kv = 1;
        for (const Problem& other : {capped, paged, masked, biased, both, copied, grouped}) {
          specs.push_back(fwd_wgmma_spec(other));
        }
      }
    }
  }
  return specs;
}

}  // namespace fovea

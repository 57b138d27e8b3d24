// FwdSpec: everything that changes a forward kernel's code, as one structural value; what a call can decide without
// cost (lengths, position rules, varlen, splits, lse, sink) is in FwdParams instead, so that few kernels serve many
// calls. The host chooses it, the run-time compiler puts it into the kernel as a template argument, and what follows
// from it (shared memory, threads) is computed here, by the same functions, for both.
#pragma once

#include "layout/smem_tile.h"
#include "spec/view_reads.h"

namespace fovea {

enum class Element : u8 { bf16, fp16, fp32 };

// scaled: one positive softmax_scale, folded into the exponent. general: scores are transformed first, one by one
// (softcap, or a scale that is zero or negative). masked: scaled (with `transformed`: general), with a bool mask.
// biased: any scale, with an additive bias, and a mask where the call has one; with Loads::any also softcap, and calls
// with neither mask nor bias. masked_biased: fwd_wgmma alone, whose biased has no mask.
enum class ScoreForm : u8 { scaled, general, masked, biased, masked_biased };

// How rows of q, k and v reach shared memory. vector: 16 bytes at a time, every row as wide as the tile. paged: the
// same with k and v rows found through the page table. any: rows of any alignment and of at most the tile's width, k
// and v paged or not, mask and bias with any strides; with the others mask and bias are read 8 keys at a time.
enum class Loads : u8 { vector, paged, any };

// What a tile's rows are: the queries of one head, or the queries of all heads that share a kv head, head fastest
// (pack-GQA), so that K and V are read once for the group. Family::wgmma: groups that divide kMaxTmaGroup, the rows
// that a warp sends together.
enum class Rows : u8 { head, group };
inline constexpr i32 kMaxTmaGroup = 16;

// How 16-bit output fragments reach shared memory: st.shared.b32, or stmatrix (sm_90 and up).
enum class Store : u8 { vector, stmatrix };

// Which kernel: fwd_mma, or fwd_wgmma (SM90), of which tile_m / 64 warpgroups compute and one more brings tiles.
enum class Family : u8 { mma, wgmma };

// Family::wgmma: bytes for barriers and the like in front of its tiles; with a bias, behind that one's tiles.
inline constexpr u32 kWgmmaHeader = 2048;
inline constexpr u32 kBiasHeader = 112;
// Family::wgmma: threads of the producer's warpgroup that are not the producer. They look at a mask, or copy a bias.
inline constexpr i32 kHelperThreads = 96;
// With a mask: blocks of keys whose mask has been looked at, and bytes in front of their bits.
inline constexpr u32 kMaskSteps = 4;
inline constexpr u32 kMaskHeader = 128;

struct FwdSpec {
  Element element = Element::bf16;  // q, k, v; out too, or fp32: FwdParams::out_f32
  i32 head_dim_qk = 128;  // width of the q and k tiles: the head dim; an upper bound of it with Loads::any or wgmma
  i32 head_dim_v = 128;   // likewise of the v and out tiles
  ScoreForm score = ScoreForm::scaled;
  Element bias = Element::fp32;  // ScoreForm::biased, but not with Loads::any, which takes any of them
  Loads loads = Loads::vector;
  Rows rows = Rows::head;
  Store store = Store::vector;
  i32 tile_m = 128;        // query rows per CTA
  i32 tile_n = 64;         // keys per step
  i32 rows_per_warp = 32;  // 16 or 32: mma row blocks per warp
  i32 stages = 2;          // K/V tiles in flight or in use
  i32 min_ctas = 1;        // CTAs per SM that registers must allow
  Family family = Family::mma;
  bool transformed = false;  // Family::wgmma with a mask or a bias: scores as in general, then these
  bool bias_tiles = false;   // biased, not with Loads::any: the bias of a block goes through shared memory (16 bits, or
                             // Family::wgmma)
  ViewReads reads = ViewReads::vectors;  // of mask and bias; with Loads::any, and of a mask in wgmma, the call says it

  constexpr bool operator==(const FwdSpec&) const = default;

  // Whether mask or bias may be present, and whether the exponent takes FwdParams::scale.
  constexpr bool views() const { return score != ScoreForm::scaled && score != ScoreForm::general; }
  // Family::mma: whether the call says which of mask and bias there are, and the dtype of the bias.
  constexpr bool open_views() const { return views() && (loads == Loads::any || rows == Rows::group); }
  // Family::mma: of these the kernels for few rows, whose views are read in vectors; the others serve everything.
  constexpr bool few_rows_views() const { return open_views() && loads != Loads::any; }
  constexpr bool folded_scale() const {
    return ((score == ScoreForm::scaled || score == ScoreForm::masked) && !transformed) || begins_with_bias();
  }
  // Whether mask and bias of a block are fetched before its scores are computed: where registers allow it, counted per
  // lane for output, scores and the fetched words.
  constexpr bool prefetch_views() const {
    const i32 score_registers = rows_per_warp * tile_n / 32;
    const bool mask_alone = score == ScoreForm::masked || bias_tiles;
    const i32 words = mask_alone ? score_registers / 4 : score_registers / (bias == Element::fp32 ? 1 : 2);
    return views() && loads != Loads::any && rows_per_warp * head_dim_v / 32 + score_registers + words <= 230;
  }
  // Family::wgmma. Q tiles: one in use and, where it fits, one on its way; a mask or bias takes the room of the second.
  constexpr i32 q_tiles() const {
    return family == Family::wgmma && tile_m * head_dim_qk <= 128 * 128 && !views() ? 2 : 1;
  }
  constexpr bool scans_mask() const {
    return family == Family::wgmma && (score == ScoreForm::masked || score == ScoreForm::masked_biased);
  }
  // How many blocks ahead a mask is fetched.
  constexpr i32 mask_buffers() const { return head_dim_qk <= 64 && head_dim_v <= 64 && !copies_bias() ? 3 : 1; }
  // Family::mma: whether the accumulators of products begin with the bias, which is there before them then, divided by
  // what the exponent takes of the scale. See FwdParams::query_scale.
  constexpr bool begins_with_bias() const {
    return family == Family::mma && bias_tiles && bias == element && head_dim_v <= 64;
  }
  // How many blocks of bias have room.
  constexpr i32 bias_buffers() const {
    if (begins_with_bias()) return stages;
    const bool narrow = tile_m <= 128 && head_dim_qk <= 64 && head_dim_v <= 64;
    if (copies_bias()) return (narrow && bias != Element::fp32) || (head_dim_qk <= 128 && tile_n <= 64) ? 2 : 1;
    return family == Family::wgmma && score == ScoreForm::biased && (narrow || head_dim_qk > 128) ? 2 : 1;
  }
  // Family::wgmma: whether warps copy the bias, which TMA cannot bring: rows that begin anywhere, or fp32. Then a row
  // of a block has 16 bytes more in shared memory, as its keys lie in one piece of 16 more.
  constexpr bool copies_bias() const { return family == Family::wgmma && bias_tiles && reads == ViewReads::words; }
  constexpr i32 bias_element_bytes() const { return bias == Element::fp32 ? 4 : 2; }
  constexpr i32 bias_pitch() const { return tile_n * bias_element_bytes() + (copies_bias() ? 16 : 0); }
  // Family::wgmma: whether output goes through shared memory. A mask and a bias together leave too little of it, and so
  // do a bias that is copied, and wide rows of Q and K in blocks of more than 96 keys, or with either.
  constexpr bool stages_out() const {
    return score != ScoreForm::masked_biased && !copies_bias() && (head_dim_qk <= 128 || (tile_n <= 96 && !views()));
  }
  // Whether warps of the producer's warpgroup that look at no mask send it, one for each consumer. Wider rows gain
  // nothing by it.
  constexpr bool sends_apart() const {
    return family == Family::wgmma && stages_out() && !scans_mask() && head_dim_v <= 64;
  }
  constexpr SmemTile bias_tile() const { return {.rows = tile_m, .cols = tile_n}; }
  // Whether a consumer's rows often see a block less than the tile, or are not there at all. A mask's steps are those
  // of the tile.
  constexpr bool own_blocks() const { return !scans_mask() && (tile_m > 128 || tile_n <= 64); }
  constexpr i32 warps() const { return tile_m / rows_per_warp; }
  constexpr u32 consumers() const { return static_cast<u32>(tile_m) / 64U; }  // Family::wgmma: warpgroups that compute
  constexpr i32 threads() const { return family == Family::mma ? warps() * 32 : 128 + 2 * tile_m; }
  constexpr SmemTile q_tile() const { return {.rows = tile_m, .cols = head_dim_qk}; }
  constexpr SmemTile k_tile() const { return {.rows = tile_n, .cols = head_dim_qk}; }
  constexpr SmemTile v_tile() const { return {.rows = tile_n, .cols = head_dim_v}; }
  // Family::wgmma: as many of the columns as leave shared memory one after the other.
  constexpr SmemTile o_tile() const {
    return {.rows = tile_m, .cols = family == Family::wgmma && head_dim_v > 128 ? 128 : head_dim_v};
  }
  constexpr u32 bias_bytes() const {
    if (!bias_tiles) return 0;
    return static_cast<u32>(tile_m * bias_pitch() * bias_buffers()) + (family == Family::wgmma ? kBiasHeader : 0U);
  }
  // Family::wgmma with a mask: 16-byte pieces that one of its buffers holds, as many for each of the threads that look
  // at it. Where rows begin anywhere, a row's keys lie in one piece more. They exchange 16 bits per piece.
  constexpr i32 mask_pieces() const { return round_up(tile_m * (tile_n / 16 + 1), kHelperThreads); }
};

// Byte offsets from the base of dynamic shared memory. A stage is a K tile followed by a V tile. The output tile takes
// over the space of Q, and of the stages behind it, once the last product has read them. Behind all of them lie the
// bias of a block, and, where a mask may be looked at, the two words of each warp that mask_blocks() exchanges.
// Family::wgmma begins with its header, and its output tile, if any, is behind the stages: the next tile's Q, K and V
// are on their way by then. Its mask words are a header, a bit per score of kMaskSteps blocks, and the mask of blocks
// that is on its way.
struct SmemPlan {
  u32 q = 0;
  u32 stage0 = 0;
  u32 v_in_stage = 0;
  u32 stage_bytes = 0;
  u32 bias = 0;
  u32 mask_words = 0;
  u32 out = 0;
  u32 bytes = 0;

  constexpr bool operator==(const SmemPlan&) const = default;
};

constexpr SmemPlan plan_smem(const FwdSpec& spec) {
  SmemPlan plan;
  plan.q = spec.family == Family::wgmma ? kWgmmaHeader : 0U;
  plan.stage0 = plan.q + static_cast<u32>(spec.q_tiles()) * spec.q_tile().bytes();
  plan.v_in_stage = spec.k_tile().bytes();
  plan.stage_bytes = spec.k_tile().bytes() + spec.v_tile().bytes();
  plan.bytes = plan.stage0 + static_cast<u32>(spec.stages) * plan.stage_bytes;
  if (spec.family == Family::wgmma) {
    plan.out = plan.bytes;
    if (spec.stages_out()) plan.bytes += spec.o_tile().bytes();
  }
  if (plan.bytes < spec.o_tile().bytes()) plan.bytes = spec.o_tile().bytes();
  plan.bias = plan.bytes;
  plan.bytes += spec.bias_bytes();
  plan.mask_words = plan.bytes;
  if (spec.scans_mask()) {
    plan.bytes += kMaskHeader + kMaskSteps * static_cast<u32>(spec.tile_m * spec.tile_n / 8) +
                  static_cast<u32>(spec.mask_pieces() * (16 * spec.mask_buffers() + 2));
  } else if (spec.views() && spec.family == Family::mma) {
    plan.bytes += static_cast<u32>(spec.warps()) * 8U;
  }
  return plan;
}

// FNV-1a over every field, in declaration order. A field that is added to FwdSpec and not here does not compile.
constexpr u64 digest(const FwdSpec& spec) {
  const auto& [element, head_dim_qk, head_dim_v, score, bias, loads, rows, store, tile_m, tile_n, rows_per_warp, stages,
               min_ctas, family, transformed, bias_tiles, reads] = spec;
  const u32 fields[] = {static_cast<u32>(element),    static_cast<u32>(head_dim_qk),   static_cast<u32>(head_dim_v),
                        static_cast<u32>(score),      static_cast<u32>(bias),          static_cast<u32>(loads),
                        static_cast<u32>(rows),       static_cast<u32>(store),         static_cast<u32>(tile_m),
                        static_cast<u32>(tile_n),     static_cast<u32>(rows_per_warp), static_cast<u32>(stages),
                        static_cast<u32>(min_ctas),   static_cast<u32>(family),        static_cast<u32>(transformed),
                        static_cast<u32>(bias_tiles), static_cast<u32>(reads)};
  u64 hash = 0xcbf29ce484222325ULL;
  for (const u32 field : fields) {
    for (i32 byte = 0; byte < 4; ++byte) hash = (hash ^ ((field >> (8 * byte)) & 0xffU)) * 0x100000001b3ULL;
  }
  return hash;
}

// What fwd_wgmma relies on.
constexpr bool well_formed_wgmma(const FwdSpec& spec) {
  const bool products = spec.tile_n % 32 == 0 && spec.tile_n >= 32 && spec.tile_n <= 128 && spec.tile_m % 64 == 0 &&
                        spec.tile_m >= 64 && spec.tile_m <= 192;
  // Scores, weights and output of wider rows do not fit the registers that three consumers leave each other.
  const auto width = [&spec](i32 cols) {
    return cols == 64 || (spec.tile_m <= 128 && (cols == 128 || cols == 192 || cols == 256));
  };
  const bool head_dims = width(spec.head_dim_qk) && width(spec.head_dim_v);
  // A consumer skips fewer blocks than there are stages: the producer, which waits for verdicts, is not waited for.
  const i32 skipped = products && spec.own_blocks() ? ceil_div(spec.tile_m - 64, spec.tile_n) : 0;
  // Nor for bias of the blocks behind its own, while it waits for the next tile's Q.
  const bool copied = spec.copies_bias() && spec.tile_m == 128;
  const bool bias = spec.bias_tiles && spec.tile_n % 64 == 0 && skipped <= spec.bias_buffers() &&
                    (spec.reads == ViewReads::vectors ? spec.bias != Element::fp32 : copied);
  const bool mask = spec.tile_m == 128 && (spec.tile_n == 64 || spec.tile_n == 128);
  const bool biased = spec.score == ScoreForm::biased || spec.score == ScoreForm::masked_biased;
  const bool views =
      (biased ? bias : !spec.bias_tiles) && (!spec.scans_mask() || mask) && (!spec.transformed || spec.views());
  if (spec.reads != ViewReads::vectors && !copied) return false;
  const bool ring = spec.stages >= 2 && spec.stages <= 4 && skipped < spec.stages && spec.min_ctas == 1;
  return products && head_dims && ring && spec.rows_per_warp == 16 && spec.element != Element::fp32 &&
         spec.loads != Loads::any && views && (spec.rows == Rows::head || (!spec.views() && spec.stages_out()));
}

// What a kernel relies on. A spec that breaks it does not compile.
constexpr bool well_formed(const FwdSpec& spec) {
  if (spec.family == Family::wgmma) return well_formed_wgmma(spec);
  const auto width = [](i32 cols) { return cols >= 16 && cols <= 256 && cols % 16 == 0; };
  return (spec.rows_per_warp == 16 || spec.rows_per_warp == 32) && spec.tile_m % spec.rows_per_warp == 0 &&
         spec.tile_n % 32 == 0 && spec.tile_n >= 32 && spec.stages >= 2 && spec.element != Element::fp32 &&
         width(spec.head_dim_qk) && width(spec.head_dim_v) && spec.warps() >= 1 && spec.threads() <= 1024 &&
         spec.min_ctas >= 1 && spec.score != ScoreForm::masked_biased && !spec.transformed &&
         (spec.reads == ViewReads::vectors ||
          (spec.reads == ViewReads::words && spec.views() && spec.loads != Loads::any && !spec.bias_tiles)) &&
         (!spec.bias_tiles || (spec.score == ScoreForm::biased && spec.bias != Element::fp32 &&
                               spec.loads != Loads::any && spec.rows == Rows::head));
}
static_assert(well_formed(FwdSpec{}));
static_assert(plan_smem(FwdSpec{}).bytes == 32768 + 2 * 2 * 16384);

}  // namespace fovea

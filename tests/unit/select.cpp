// The registry, the choice, and the digest of a Problem.
#include "select/select.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "select/fwd_mma.h"
#include "select/fwd_wgmma.h"
#include "select/problem_fields.h"
#include "select/tuning_mma.h"
#include "select/tuning_wgmma.h"

namespace fovea::test {
namespace {

Caps machine(bool amx) {
  Caps caps;
  caps.cpu.amx_bf16 = amx;
  caps.cpu.amx_reason = amx ? "" : "the CPU has no AMX-BF16";
  caps.gpu.reason = "no driver";
  return caps;
}

Problem problem(fovea_dtype dtype) {
  Problem p;
  p.dtype = dtype;
  p.batch = 1, p.num_heads_q = 4, p.num_heads_kv = 2, p.head_dim_qk = 64, p.head_dim_v = 64;
  p.seqlen_q = p.total_q = 128, p.seqlen_kv = 128;
  return p;
}

void expect_full(const Error& error) {
  EXPECT_FALSE(error.asked.empty());
  EXPECT_FALSE(error.allowed.empty());
  EXPECT_FALSE(error.why.empty());
  EXPECT_FALSE(error.hint.empty());
}

TEST(Choose, prefers_amx_for_bf16_where_it_exists) {
  EXPECT_EQ(choose(problem(FOVEA_BF16), machine(true), FOVEA_BACKEND_AUTO).value().kernel, KernelId::cpu_fwd_amx_bf16);
  EXPECT_EQ(choose(problem(FOVEA_BF16), machine(false), FOVEA_BACKEND_AUTO).value().kernel, KernelId::cpu_fwd_f32);
  EXPECT_EQ(choose(problem(FOVEA_F32), machine(true), FOVEA_BACKEND_CPU).value().kernel, KernelId::cpu_fwd_f32);
  EXPECT_EQ(choose(problem(FOVEA_F16), machine(true), FOVEA_BACKEND_AUTO).value().kernel, KernelId::cpu_fwd_f32);
}

TEST(Choose, no_amx_is_unsupported_and_names_the_kernel_that_serves) {
  const auto verdicts = supports(problem(FOVEA_BF16), machine(false), FOVEA_BACKEND_CPU);
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_FALSE(verdicts[0].served);
  EXPECT_EQ(verdicts[0].refusal.status, FOVEA_UNSUPPORTED);
  EXPECT_EQ(verdicts[0].refusal.why, "the CPU has no AMX-BF16");
  EXPECT_NE(verdicts[0].refusal.hint.find("cpu_fwd_f32"), std::string::npos);
  expect_full(verdicts[0].refusal);
  EXPECT_TRUE(verdicts[1].served);
}

TEST(Choose, strided_rows_are_slow_and_can_be_forbidden) {
  Problem p = problem(FOVEA_F32);
  p.unit_stride_d = false;
  const auto verdicts = supports(p, machine(true), FOVEA_BACKEND_AUTO);
  EXPECT_TRUE(verdicts[1].served);
  EXPECT_TRUE(verdicts[1].slow);
  EXPECT_FALSE(verdicts[1].note.empty());
  p.forbid_slow = true;
  const auto refused = choose(p, machine(true), FOVEA_BACKEND_AUTO);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().status, FOVEA_SLOW_PATH);
  expect_full(refused.error());
}

TEST(Choose, cuda_is_no_backend_without_a_gpu) {
  const auto refused = choose(problem(FOVEA_F32), machine(true), FOVEA_BACKEND_CUDA);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().status, FOVEA_NO_BACKEND);
  EXPECT_EQ(refused.error().why, "no driver");
  const auto verdicts = supports(problem(FOVEA_F32), machine(true), FOVEA_BACKEND_CUDA);
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_FALSE(verdicts[0].served || verdicts[1].served);
}

TEST(Choose, head_dims_end_at_1024) {
  Problem p = problem(FOVEA_F32);
  p.head_dim_qk = p.head_dim_v = 1024;
  EXPECT_TRUE(choose(p, machine(false), FOVEA_BACKEND_AUTO).ok());
  p.head_dim_v = 1025;
  const auto refused = choose(p, machine(false), FOVEA_BACKEND_AUTO);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().status, FOVEA_HEAD_DIM);
  EXPECT_NE(refused.error().asked.find("1025"), std::string::npos);
  expect_full(refused.error());
}

TEST(Registry, names_are_distinct_and_found) {
  std::set<std::string_view> names;
  for (const KernelInfo& kernel : kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second);
    EXPECT_EQ(name(kernel.id), kernel.name);
    EXPECT_FALSE(kernel.summary.empty());
  }
}

// Another value of the same type.
struct Flip {
  void operator()(bool& field) const { field = !field; }
  void operator()(float& field) const { field += 0.5F; }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T& field) const { field = static_cast<T>(static_cast<int>(field) + 1); }
  template <class T>
  requires std::is_integral_v<T>
  void operator()(T& field) const { field = static_cast<T>(field + 1); }
};

TEST(Digest, changes_with_every_field) {
  const Problem base = problem(FOVEA_F32);
  EXPECT_EQ(digest(base), digest(problem(FOVEA_F32)));
  std::set<std::uint64_t> digests{digest(base)};
  std::size_t fields = 0;
  visit_fields(base, [&fields](std::string_view, const auto&) { ++fields; });
  for (std::size_t target = 0; target < fields; ++target) {
    Problem changed = base;
    std::size_t at = 0;
    std::string name;
    visit_fields(changed, [&](std::string_view field_name, auto& field) {
      if (at++ != target) return;
      Flip{}(field);
      name = field_name;
    });
    EXPECT_NE(changed, base) << name;
    EXPECT_TRUE(digests.insert(digest(changed)).second) << name;
  }
  EXPECT_EQ(digests.size(), fields + 1);
}

TEST(ProblemText, names_what_is_given) {
  Problem p = problem(FOVEA_BF16);
  p.causal = p.has_window_left = p.has_sink = true;
  p.window_left = 17;
  p.mask = HeadMode::kv_head;
  p.softcap = 30.0F;
  const std::string text = to_string(p);
  for (const char* part :
       {"bf16", "causal", "window_left=17", "mask(kv_head)", "softcap=30", "sink", "head_dim_v=64"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " not in " << text;
  }
  EXPECT_EQ(text.find("bias"), std::string::npos);
}

// Shared memory of one CTA on SM86, SM89 and SM120; every architecture takes these tiles, so that all of them serve.
TEST(SelectMma, EveryTileFits99KB) {
  for (const MmaTuning& row : kMmaTuning) {
    FwdSpec spec;
    spec.score = ScoreForm::biased;
    spec.head_dim_qk = spec.head_dim_v = row.max_head_dim;
    spec.tile_m = row.tile_m, spec.tile_n = row.tile_n, spec.rows_per_warp = row.rows_per_warp;
    spec.stages = row.stages;
    EXPECT_TRUE(well_formed(spec)) << row.evidence;
    EXPECT_LE(plan_smem(spec).bytes, 99U << 10U) << row.evidence;
  }
}

TEST(SelectMma, BatchInvariantCallsAreSplitAndTiledAlike) {
  GpuCaps gpu = architecture_caps(90);
  gpu.num_sms = 132;
  Problem alone = problem(FOVEA_BF16);
  alone.batch_invariant = true;
  alone.seqlen_q = 1, alone.seqlen_kv = 100;
  Problem in_company = alone;
  in_company.batch = 38;
  EXPECT_EQ(fwd_mma_spec(alone, gpu), fwd_mma_spec(in_company, gpu));
  in_company.seqlen_kv = 9000;
  EXPECT_EQ(fwd_mma_spec(alone, gpu), fwd_mma_spec(in_company, gpu));
  EXPECT_GE(fwd_mma_splits(alone, gpu), 2);
}

Verdict on_sm90(Problem p) {
  Caps caps;
  caps.gpu = architecture_caps(90);
  p.device = FOVEA_DEVICE_CUDA;
  return supports_fwd_mma(p, caps);
}

// What fwd_wgmma is asked for on sm_90, and what it must answer.
class SelectWgmma : public ::testing::Test {
 protected:
  SelectWgmma() {
    caps_.gpu = architecture_caps(90);
    caps_.gpu.model = true;
    plain_.out_dtype = FOVEA_BF16;
  }
  // Every refusal says what serves instead.
  void refused(const char* what, fovea_status status, const auto& change) const {
    Problem p = plain_;
    change(p);
    const Verdict verdict = supports_fwd_wgmma(p, caps_);
    EXPECT_FALSE(verdict.served) << what;
    EXPECT_EQ(verdict.refusal.status, status) << what;
    EXPECT_EQ(verdict.refusal.hint, "fwd_mma serves it") << what;
    expect_full(verdict.refusal);
    EXPECT_TRUE(supports_fwd_mma(p, caps_).served) << what;
  }

  Caps caps_;
  Problem plain_ = problem(FOVEA_BF16);
};

TEST_F(SelectWgmma, SendsWhatItLacksToFwdMma) {
  refused("mask", FOVEA_UNSUPPORTED, [](Problem& p) { p.mask = HeadMode::broadcast; });
  for (const int page_size : {1, 8, 24, 100}) {
    refused("pages", FOVEA_UNSUPPORTED, [&](Problem& p) { p.kv_layout = KvLayout::paged, p.page_size = page_size; });
  }
  refused("odd head dim", FOVEA_HEAD_DIM, [](Problem& p) { p.head_dim_v = 60; });
  refused("out", FOVEA_DTYPE, [](Problem& p) { p.out_dtype = FOVEA_F32; });
  refused("alignment", FOVEA_ALIGNMENT, [](Problem& p) { p.align_qkv = 8; });
  refused("backwards", FOVEA_ALIGNMENT, [](Problem& p) { p.forward_strides = false; });
  refused("out alignment", FOVEA_ALIGNMENT, [](Problem& p) { p.align_out = 8; });
  refused("decode", FOVEA_UNSUPPORTED, [](Problem& p) { p.seqlen_q = p.total_q = 1; });
  refused("splits", FOVEA_UNSUPPORTED, [](Problem& p) { p.requested_splits = 4; });
  refused("batch invariant", FOVEA_UNSUPPORTED, [](Problem& p) { p.batch_invariant = true; });
  caps_.gpu = architecture_caps(80);
  caps_.gpu.model = true;
  EXPECT_EQ(supports_fwd_wgmma(plain_, caps_).refusal.allowed, "SM90");
}

TEST_F(SelectWgmma, ServesBiasesThatTmaCanBring) {
  const auto bias = [](Problem& p) {
    p.bias = HeadMode::broadcast, p.bias_reads = ViewReads::vectors, p.bias_dtype = FOVEA_F16;
  };
  Problem biased = plain_;
  bias(biased);
  EXPECT_TRUE(supports_fwd_wgmma(biased, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(biased).bias, Element::fp16);
  Problem odd_mask = plain_;
  odd_mask.mask = HeadMode::broadcast, odd_mask.mask_reads = ViewReads::words, odd_mask.forbid_slow = true;
  EXPECT_TRUE(supports_fwd_wgmma(odd_mask, caps_).served) << "rows of a mask may begin anywhere";
  refused("bias of odd rows", FOVEA_UNSUPPORTED, [&](Problem& p) { bias(p), p.bias_reads = ViewReads::words; });
  refused("fp32 bias", FOVEA_UNSUPPORTED, [&](Problem& p) { bias(p), p.bias_dtype = FOVEA_F32; });
  biased.mask = HeadMode::broadcast, biased.mask_reads = ViewReads::vectors, biased.softmax_scale = -1.0F;
  EXPECT_TRUE(supports_fwd_wgmma(biased, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(biased).score, ScoreForm::masked_biased);
  EXPECT_FALSE(fwd_wgmma_spec(biased).transformed);
  biased.softcap = 3.0F;
  EXPECT_TRUE(supports_fwd_wgmma(biased, caps_).served);
  EXPECT_TRUE(fwd_wgmma_spec(biased).transformed);
  biased.bias = HeadMode::absent;
  EXPECT_TRUE(supports_fwd_wgmma(biased, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(biased).score, ScoreForm::masked);
  EXPECT_TRUE(fwd_wgmma_spec(biased).transformed);
  refused("bias and odd mask", FOVEA_UNSUPPORTED, [&](Problem& p) { bias(p), p.mask = HeadMode::broadcast; });
}

TEST_F(SelectWgmma, ServesMasksAndBiasesOfEveryHeadDim) {
  const std::int64_t room = architecture_caps(90).smem_bytes;
  for (const std::int64_t head_dim : {64, 128, 192, 256}) {
    for (const bool masked : {false, true}) {
      for (const bool biased : {false, true}) {
        Problem p = plain_;
        p.head_dim_qk = p.head_dim_v = head_dim;
        if (masked) p.mask = HeadMode::broadcast, p.mask_reads = ViewReads::words;
        if (biased) p.bias = HeadMode::broadcast, p.bias_reads = ViewReads::vectors, p.bias_dtype = FOVEA_BF16;
        EXPECT_TRUE(supports_fwd_wgmma(p, caps_).served) << head_dim;
        EXPECT_TRUE(well_formed(fwd_wgmma_spec(p))) << head_dim;
        EXPECT_LE(plan_smem(fwd_wgmma_spec(p)).bytes, room) << head_dim;
      }
    }
  }
}

TEST_F(SelectWgmma, ServesCallsOnSm90) {
  EXPECT_TRUE(supports_fwd_wgmma(plain_, caps_).served);
  Problem narrow = plain_;
  narrow.head_dim_qk = 96, narrow.head_dim_v = 40;
  EXPECT_TRUE(supports_fwd_wgmma(narrow, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(narrow).head_dim_v, 128);
  Problem wide = plain_;
  wide.head_dim_qk = 184, wide.head_dim_v = 128;
  EXPECT_TRUE(supports_fwd_wgmma(wide, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(wide).head_dim_qk, 192);
  EXPECT_EQ(fwd_wgmma_spec(wide).head_dim_v, 128);
  EXPECT_EQ(fwd_wgmma_spec(wide).tile_n, 128);
  EXPECT_FALSE(fwd_wgmma_spec(wide).stages_out());
  wide.head_dim_v = 200;
  EXPECT_EQ(fwd_wgmma_spec(wide).head_dim_qk, 256);
  Problem general = plain_;
  general.softcap = 3.0F;
  EXPECT_TRUE(supports_fwd_wgmma(general, caps_).served);
  EXPECT_EQ(fwd_wgmma_spec(general).score, ScoreForm::general);
  general.softcap = 0.0F, general.softmax_scale = 0.0F;
  EXPECT_EQ(fwd_wgmma_spec(general).score, ScoreForm::general);
  Problem paged = plain_;
  paged.kv_layout = KvLayout::paged;
  for (const int head_dim : {128, 192, 256}) {
    paged.head_dim_qk = paged.head_dim_v = head_dim;
    for (const int page_size : {16, 32, 48, 64, 96, 128, 384}) {
      paged.page_size = page_size;
      EXPECT_TRUE(supports_fwd_wgmma(paged, caps_).served) << head_dim << " " << page_size;
      EXPECT_EQ(fwd_wgmma_spec(paged).loads, Loads::paged);
    }
  }
}

TEST_F(SelectWgmma, LeavesSmallPagesOfNarrowHeadsToFwdMma) {
  Problem paged = plain_;
  paged.kv_layout = KvLayout::paged;
  paged.head_dim_qk = paged.head_dim_v = 64;
  for (const int page_size : {16, 32, 48, 64, 96, 128}) {
    paged.page_size = page_size;
    EXPECT_EQ(supports_fwd_wgmma(paged, caps_).served, page_size % 32 == 0) << page_size;
  }
  paged.page_size = 16, paged.softcap = 3.0F;
  EXPECT_TRUE(supports_fwd_wgmma(paged, caps_).served) << "fwd_mma has no kernel of its own for it";
}

TEST_F(SelectWgmma, EveryTuningRowIsReachedIsWellFormedAndFits) {
  std::set<std::uint64_t> specs;
  Problem p = problem(FOVEA_BF16);
  p.num_heads_kv = p.num_heads_q;
  for (const std::int64_t head_dim : {64, 128, 192, 256}) {
    for (const bool causal : {false, true}) {
      for (const std::int64_t queries : {64, 1023, 1024, 2047, 2048, 8192, 16384}) {
        p.head_dim_qk = p.head_dim_v = head_dim;
        p.causal = causal;
        p.seqlen_q = queries;
        const FwdSpec spec = fwd_wgmma_spec(p);
        EXPECT_TRUE(well_formed(spec)) << head_dim << " " << queries;
        EXPECT_LE(plan_smem(spec).bytes, static_cast<std::uint64_t>(architecture_caps(90).smem_bytes));
        specs.insert(digest(spec));
      }
    }
  }
  EXPECT_EQ(specs.size(), 5U);
  p.bias = HeadMode::broadcast, p.bias_reads = ViewReads::vectors, p.bias_dtype = FOVEA_BF16;
  for (const auto& [head_dim, queries, rows] :
       {std::tuple{64, 4095, 128}, std::tuple{64, 4096, 192}, std::tuple{128, 4096, 128}}) {
    for (const bool causal : {false, true}) {
      p.head_dim_qk = p.head_dim_v = head_dim, p.seqlen_q = queries, p.causal = causal;
      const FwdSpec spec = fwd_wgmma_spec(p);
      EXPECT_TRUE(well_formed(spec)) << head_dim << " " << queries;
      EXPECT_EQ(spec.tile_m, rows);
      EXPECT_LE(plan_smem(spec).bytes, static_cast<std::uint64_t>(architecture_caps(90).smem_bytes));
      Problem both = p;
      both.mask = HeadMode::broadcast, both.mask_reads = ViewReads::vectors;
      EXPECT_TRUE(well_formed(fwd_wgmma_spec(both))) << head_dim << " " << queries;
      EXPECT_LE(plan_smem(fwd_wgmma_spec(both)).bytes, static_cast<std::uint64_t>(architecture_caps(90).smem_bytes));
    }
  }
  p.bias = HeadMode::absent;
  p.head_dim_qk = p.head_dim_v = 64, p.causal = true;
  for (const auto& [queries, rows] :
       {std::pair{256, 128}, std::pair{511, 128}, std::pair{512, 192}, std::pair{8192, 192}}) {
    p.seqlen_q = queries;
    EXPECT_EQ(fwd_wgmma_spec(p).tile_m, rows) << queries;
  }
  p.causal = false;
  EXPECT_EQ(fwd_wgmma_spec(p).tile_m, 192);
  p.q_layout = QLayout::varlen, p.batch = 64, p.total_q = p.seqlen_q = 16384;
  EXPECT_EQ(fwd_wgmma_spec(p).tile_m, 128) << "256 queries in a sequence";
  for (const WgmmaTuning& row : kWgmmaTuning) EXPECT_FALSE(row.evidence.empty());
}

// Contract section 6: a path that costs more than 1.5x is named, and can be forbidden.
TEST(SelectMma, PathsOfNarrowReadsAreSlowAndCanBeForbidden) {
  Problem fast = problem(FOVEA_BF16);
  fast.mask = HeadMode::broadcast, fast.mask_reads = ViewReads::vectors;
  fast.bias = HeadMode::broadcast, fast.bias_reads = ViewReads::vectors;
  fast.bias_dtype = FOVEA_BF16;
  Problem odd_mask = fast;
  odd_mask.mask_reads = ViewReads::elements;
  Problem odd_bias = fast;
  odd_bias.bias_reads = ViewReads::words;
  EXPECT_EQ(fwd_mma_spec(odd_bias, architecture_caps(90)).reads, ViewReads::words);
  EXPECT_EQ(fwd_mma_spec(odd_bias, architecture_caps(90)).loads, Loads::vector);
  EXPECT_EQ(fwd_mma_spec(odd_mask, architecture_caps(90)).loads, Loads::any);
  Problem odd_rows = problem(FOVEA_BF16);
  odd_rows.align_qkv = 2;
  Problem four_byte_rows = odd_rows;
  four_byte_rows.align_qkv = 4;
  Problem capped = fast;
  capped.softcap = 30.0F;
  for (const auto& [p, slow] : {std::pair{fast, false},
                                {odd_mask, true},
                                {odd_bias, true},
                                {odd_rows, true},
                                {four_byte_rows, false},
                                {capped, true}}) {
    const Verdict verdict = on_sm90(p);
    EXPECT_TRUE(verdict.served) << to_string(p);
    EXPECT_EQ(verdict.slow, slow) << to_string(p);
    EXPECT_EQ(verdict.note.empty(), !slow) << to_string(p);
    Problem strict = p;
    strict.forbid_slow = true;
    const Verdict refused = on_sm90(strict);
    EXPECT_EQ(refused.served, !slow) << to_string(p);
    if (!slow) continue;
    EXPECT_EQ(refused.refusal.status, FOVEA_SLOW_PATH);
    expect_full(refused.refusal);
  }
}

}  // namespace
}  // namespace fovea::test

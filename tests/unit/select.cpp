// The registry, the choice, and the digest of a Problem.
#include "select/select.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "select/fwd_mma.h"
#include "select/problem_fields.h"
#include "select/tuning_mma.h"
#include "unit/select_problem.h"

namespace fovea::test {
namespace {

Caps machine(bool amx) {
  Caps caps;
  caps.cpu.amx_bf16 = amx;
  caps.cpu.amx_reason = amx ? "" : "the CPU has no AMX-BF16";
  caps.gpu.reason = "no driver";
  return caps;
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
  Problem capped_mixed = problem(FOVEA_BF16);
  capped_mixed.softcap = 30.0F, capped_mixed.head_dim_qk = 192, capped_mixed.head_dim_v = 128;
  Problem wide_words = odd_bias;
  wide_words.head_dim_qk = wide_words.head_dim_v = 256;
  EXPECT_EQ(fwd_mma_spec(wide_words, architecture_caps(90)).loads, Loads::any);
  for (const auto& [p, slow] : {std::pair{fast, false},
                                {odd_mask, true},
                                {odd_bias, true},
                                {odd_rows, true},
                                {four_byte_rows, false},
                                {capped, true},
                                {capped_mixed, true},
                                {wide_words, true}}) {
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

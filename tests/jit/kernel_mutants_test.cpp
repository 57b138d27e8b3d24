// Known mistakes of attention kernels, written into a copy of the embedded sources one at a time: the model must
// name the fault, or the result must be visibly wrong.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "jit/small_call.h"
#include "jit/toy.h"

namespace fovea::testing {
namespace {

constexpr double kWrong = 0.05;  // a right result is within 0.004

// plain: the smallest call. odd_mask: mask rows that no vector load may read. narrow: rows that no copy of 16 bytes may
// read. capped: few rows with a bias and a softcap.
// wgmma: fwd_wgmma, several tiles per CTA.
// growing: scores that outgrow the maxima of earlier blocks.
enum class Features {
  plain,
  growing,
  masked,
  odd_mask,
  biased,
  biased_fp16,
  capped,
  narrow,
  paged,
  split,
  wgmma,
  wgmma_growing,
  wgmma_masked,
  wgmma_odd_mask,
  wgmma_biased,
  wgmma_both,
  wgmma_odd_bias,
  wgmma_odd_both
};

SmallCall small_call(Features setup) {
  if (setup == Features::plain) return SmallCall();
  if (setup == Features::wgmma) return SmallCall(900, 420);
  if (setup == Features::growing || setup == Features::wgmma_growing) {
    SmallCall call(setup == Features::growing ? kRows : 200, 600);
    call.grow_scores();
    return call;
  }
  if (setup == Features::wgmma_masked || setup == Features::wgmma_odd_mask) {
    SmallCall call(600, setup == Features::wgmma_masked ? 640 : 635);
    call.add_mask(128);
    return call;
  }
  if (setup >= Features::wgmma_biased) {
    const bool odd = setup >= Features::wgmma_odd_bias;
    SmallCall call(600, odd ? 395 : (setup == Features::wgmma_both ? 272 : 264));
    call.add_bias();
    if (setup == Features::wgmma_both || setup == Features::wgmma_odd_both) call.add_mask(64);
    return call;
  }
  if (setup == Features::narrow) {
    SmallCall call(72, 150);
    call.use_narrow_rows();
    return call;
  }
  if (setup == Features::split) {
    SmallCall call(kRows, 600);
    call.problem.requested_splits = 3;  // the last one has no keys
    call.problem.softmax_scale = 1.0F;  // maxima of the splits differ
    return call;
  }
  const bool biased = setup == Features::biased || setup == Features::biased_fp16;
  const bool vectors = setup == Features::masked || biased;
  SmallCall call(vectors ? 72 : kRows, setup == Features::odd_mask ? 303 : 304);
  if (setup == Features::paged) {
    call.use_pages();
  } else if (setup == Features::capped) {
    call.add_bias();
    call.problem.softmax_scale = 0.5F;
    call.problem.softcap = 2.0F;
  } else if (biased) {
    call.add_bias(setup == Features::biased ? FOVEA_BF16 : FOVEA_F16);
    call.problem.softmax_scale = 0.2F;  // no power of two
  } else {
    call.add_mask();
  }
  return call;
}

Result<model::Report> run(SmallCall& call, Features setup, model::Modules& modules, model::Settings settings) {
  const bool wgmma = setup >= Features::wgmma;
  settings.sm = wgmma ? 90 : 80;
  const Plan plan = wgmma ? wgmma_plan_of(call) : plan_of(call, 80);
  return model::run_forward(plan, call.operands, modules, settings);
}

struct Mutant {
  const char* name;
  const char* file;
  const char* find;
  const char* replace;
  std::optional<model::Code> fault;  // absent: a wrong result
  Features setup = Features::plain;
};

const Mutant kMutants[] = {
    {"copy_read_before_its_wait", "device/kernels/fwd_mma.h", "isa::cp_async_wait_group<kAhead - 1>();", "",
     model::Code::copy_in_flight},
    {"barrier_after_the_wait_dropped", "device/kernels/fwd_mma.h",
     "isa::syncthreads();                      // for all;", "// for all;", model::Code::uninitialised_memory},
    {"output_staged_over_tiles_in_use", "device/kernels/fwd_mma.h",
     "isa::redux_or(isa::bar_red_or(0, kSpec.threads(), again) ? 1U : 0U) == 0U", "!again", model::Code::race},
    {"output_read_before_it_is_staged", "device/kernels/fwd_mma.h", "    isa::syncthreads();\n    store_rows",
     "    store_rows", model::Code::race},
    {"accumulator_not_initialised", "device/tile/fragment.h", "return {{{0.0F, 0.0F, 0.0F, 0.0F}}};",
     "const f32 x = isa::undefined<f32>(); return {{{x, x, x, x}}};", model::Code::uninitialised_register},
    {"column_predicate_dropped", "device/attention/visibility.h", " || fragment_key(tile, e) >= end", "", std::nullopt},
    {"rows_past_the_end_loaded", "device/tile/copy.h", "map_.row(pass) < valid ? 16U : 0U", "16U",
     model::Code::out_of_bounds},
    {"v_read_without_transposition", "device/tile/ldmatrix.h", "isa::ldmatrix_x4_trans(", "isa::ldmatrix_x4(",
     std::nullopt},
    {"sum_not_normalised", "device/attention/epilogue.h", ": isa::rcp_approx_ftz(sum);", ": isa::rcp_approx_ftz(1.0F);",
     std::nullopt},
    {"outgrown_output_not_shrunk", "device/kernels/fwd_mma_warp.h", "scale_row(warp.o[block], half, factor);",
     "scale_row(warp.o[block], half, 1.0F + 0.0F * factor);", std::nullopt, Features::growing},
    {"word_of_an_odd_mask_row", "device/attention/score_views.h", "words_ = row - offset;", "words_ = row;",
     model::Code::misaligned, Features::odd_mask},
    {"words_of_an_odd_row_not_shifted", "device/attention/score_views.h", "low) >> shift_);", "low));", std::nullopt,
     Features::odd_mask},
    {"word_past_the_end_of_an_odd_row", "device/attention/score_views.h", "if (i < whole_) return",
     "if (i <= whole_) return", model::Code::out_of_bounds, Features::odd_mask},
    {"bytes_past_the_end_of_an_odd_row", "device/attention/score_views.h", "if (i >= rest_) continue;", "",
     model::Code::out_of_bounds, Features::odd_mask},
    {"mask_words_read_before_they_are_there", "device/attention/mask_blocks.h",
     "{bits.some, bits.every});\n  isa::syncthreads();", "{bits.some, bits.every});", model::Code::uninitialised_memory,
     Features::masked},
    {"look_at_the_first_row_alone", "device/attention/mask_blocks.h", "if (alike) rows = min(rows, 1);",
     "rows = min(rows, 1);", std::nullopt, Features::masked},
    {"masked_block_taken_for_full", "device/attention/mask_blocks.h",
     "if ((finds.all & kAllSeen) != kAllSeen) bits.every &= ~bit;", "", std::nullopt, Features::masked},
    {"bias_read_before_it_has_landed", "device/kernels/fwd_mma.h", "isa::cp_async_wait_group<1>();", ";",
     model::Code::copy_in_flight, Features::biased_fp16},
    {"bias_of_the_next_row", "device/attention/bias_tile.h", "static_cast<u32>(row) * row_bytes_",
     "static_cast<u32>(row ^ 1) * row_bytes_", std::nullopt, Features::biased_fp16},
    {"bias_not_divided_by_the_rest_of_the_scale", "device/kernels/fwd_mma_warp.h",
     "scale_row(s[block], half, p.bias_scale);", "scale_row(s[block], half, 1.0F);", std::nullopt, Features::biased},
    {"queries_without_their_part_of_the_scale", "device/kernels/fwd_mma.h", "factor = task_.p.query_scale",
     "factor = 1.0F", std::nullopt, Features::biased},
    {"queries_scaled_before_they_have_landed", "device/kernels/fwd_mma.h", "isa::cp_async_wait_group<kAhead>();", "",
     model::Code::copy_in_flight, Features::biased},
    {"bias_of_another_stage", "device/kernels/fwd_mma.h", "views.begin(s, task_.p, bias_tile_, slot_);",
     "views.begin(s, task_.p, bias_tile_, next_slot_);", model::Code::copy_in_flight, Features::biased},
    {"capped_scores_scaled_again", "device/attention/score_views.h",
     "return kSpec.loads != Loads::any && !(kSpec.open_views() && p.softcap != 0.0F);",
     "return kSpec.loads != Loads::any;", std::nullopt, Features::capped},
    {"softcap_of_few_rows_dropped", "device/kernels/fwd_mma_warp.h", "if (!kCaps || p.softcap == 0.0F) {",
     "if (true) {", std::nullopt, Features::capped},
    {"end_of_a_narrow_row_left_out", "device/tile/copy_any.h", "if (!ends_whole_ || align_ < 4) {", "if (align_ < 4) {",
     model::Code::uninitialised_memory, Features::narrow},
    {"end_of_a_narrow_row_copied_whole", "device/tile/copy_any.h", "inside ? bytes_ : 0);", "inside ? 16 : 0);",
     model::Code::out_of_bounds, Features::narrow},
    {"narrow_rows_found_once", "device/tile/copy_any.h", "const u32 owner = map_.owner(pass);",
     "const u32 owner = map_.owner(0);", std::nullopt, Features::narrow},
    {"narrow_k_taken_for_v", "device/kernels/fwd_mma_loads.h", "either(i == 0, p.k, p.v)", "either(true, p.k, p.v)",
     std::nullopt, Features::narrow},
    {"first_block_of_one_loop_overwritten", "device/kernels/fwd_mma.h", "    slot_ = 1;\n", "    slot_ = 0;\n",
     model::Code::uninitialised_memory, Features::narrow},
    {"pages_taken_in_storage_order", "device/kernels/fwd_mma_loads.h",
     "return {page_of(p, task_.seq.batch, index), key", "return {index, key", std::nullopt, Features::paged},
    {"row_inside_the_page_dropped", "device/kernels/fwd_mma_loads.h", "index), key - index * p.page_size};",
     "index), 0};", std::nullopt, Features::paged},
    {"split_merged_without_its_maximum", "device/kernels/combine.h",
     "w.weight[i] *= isa::ex2_approx_ftz((max[i] - softmax_base(w.max)) * kLog2E);", "w.weight[i] *= 1.0F;",
     std::nullopt, Features::split},
    {"first_split_counted_twice", "device/kernels/combine.h", "min(32 * group + first + i, p.num_splits - 1)",
     "min(32 * group + first, p.num_splits - 1)", std::nullopt, Features::split},
    {"wgmma_k_handed_back_before_its_products", "device/kernels/fwd_wgmma_consumer.h",
     "      isa::wgmma_wait_group<1>();\n      release(ring_.k_empty(step));",
     "      release(ring_.k_empty(step));\n      isa::wgmma_wait_group<1>();", model::Code::race, Features::wgmma},
    {"wgmma_v_not_awaited", "device/kernels/fwd_wgmma_consumer.h",
     "isa::mbarrier_wait_parity(ring_.v_full(step), ring_.parity(step));", "", model::Code::copy_in_flight,
     Features::wgmma},
    {"wgmma_output_sent_without_proxy_fence", "device/kernels/fwd_wgmma_output.h",
     "  isa::fence_proxy_async_shared_cta();\n}", "}", model::Code::missing_proxy_fence, Features::wgmma},
    {"wgmma_output_staged_over_one_on_its_way", "device/kernels/fwd_wgmma_output.h",
     "    isa::bulk_wait_group_read<0>();\n  }", "  }", model::Code::race, Features::wgmma_masked},
    {"wgmma_output_staged_over_what_a_warp_sends", "device/kernels/fwd_wgmma_consumer.h", "      out_.await_empty();\n",
     "", model::Code::race, Features::wgmma},
    {"wgmma_output_handed_back_while_it_is_read", "device/kernels/fwd_wgmma_sender.h",
     "if (isa::elect_sync()) isa::bulk_wait_group_read<0>();", "", model::Code::race, Features::wgmma},
    {"wgmma_output_sent_before_it_is_there", "device/kernels/fwd_wgmma_sender.h",
     "isa::mbarrier_wait_parity(ring_.out_full(group_), parity());", "", model::Code::uninitialised_memory,
     Features::wgmma},
    {"wgmma_producer_parity_of_the_phase_itself", "device/kernels/fwd_wgmma_producer.h", "ring_.parity(v_step_) ^ 1U",
     "ring_.parity(v_step_)", model::Code::deadlock, Features::wgmma},
    {"wgmma_mask_read_before_it_has_landed", "device/kernels/fwd_wgmma_mask.h",
     "isa::cp_async_wait_group<kAhead - 1>();", "", model::Code::copy_in_flight, Features::wgmma_masked},
    {"wgmma_mask_bits_over_those_in_use", "device/kernels/fwd_wgmma_mask_ring.h",
     "isa::mbarrier_wait_parity(empty(step), parity(step) ^ 1U);", "", model::Code::deadlock, Features::wgmma_masked},
    {"wgmma_mask_of_one_row", "device/kernels/fwd_wgmma_consumer.h",
     "p_.fwd.mask.stride_q == 0 ? 0 : lane_row() + 8 * half", "lane_row()", std::nullopt, Features::wgmma_masked},
    {"wgmma_masked_block_taken_for_full", "device/kernels/fwd_wgmma_mask.h",
     "isa::bar_red_or(Ring::kBarrier, Ring::kThreads, !pieces.sees_every())", "false", std::nullopt,
     Features::wgmma_masked},
    {"wgmma_block_skipped_by_its_first_rows", "device/kernels/fwd_wgmma_mask_pieces.h", "kPieces; ++i) any",
     "1; ++i) any", std::nullopt, Features::wgmma_masked},
    {"wgmma_odd_mask_not_shifted", "device/kernels/fwd_wgmma_mask_pieces.h", "both >> lead(min(row, last_))", "both",
     std::nullopt, Features::wgmma_odd_mask},
    {"wgmma_odd_mask_bits_of_the_next_block", "device/kernels/fwd_wgmma_mask_pieces.h",
     "isa::bar_sync(Ring::kBarrier, Ring::kThreads);", "", model::Code::race, Features::wgmma_odd_mask},
    {"wgmma_odd_mask_read_past_the_end", "device/kernels/fwd_wgmma_mask_pieces.h",
     "if (key0 + 16 * kRowPieces > p_.mask.keys) return", "if (false) return", model::Code::out_of_bounds,
     Features::wgmma_odd_mask},
    {"wgmma_bias_not_awaited", "device/kernels/fwd_wgmma_bias.h",
     "isa::mbarrier_wait_parity(full(step, group % kParts), parity(step));\n    const bool alike", "const bool alike",
     model::Code::copy_in_flight, Features::wgmma_biased},
    {"wgmma_bias_over_one_in_use", "device/kernels/fwd_wgmma_bias.h",
     "isa::mbarrier_wait_parity(empty(step, 0), parity(step) ^ 1U);", "", model::Code::mbarrier_misuse,
     Features::wgmma_biased},
    {"wgmma_copied_bias_not_awaited", "device/kernels/fwd_wgmma_bias.h",
     "isa::mbarrier_wait_parity(full(step, group % kParts), parity(step));\n    const bool alike", "const bool alike",
     model::Code::race, Features::wgmma_odd_bias},
    {"wgmma_copied_bias_over_one_in_use", "device/kernels/fwd_wgmma_bias.h",
     "isa::mbarrier_wait_parity(empty(step, part), parity(step) ^ 1U);", "", model::Code::copy_in_flight,
     Features::wgmma_odd_bias},
    {"wgmma_copied_bias_here_before_its_copies", "device/kernels/fwd_wgmma_bias_copies.h",
     "ring.arrive_behind_copies(step, static_cast<u32>(part));", "ring.arrive(step, static_cast<u32>(part));",
     model::Code::copy_in_flight, Features::wgmma_odd_bias},
    {"wgmma_copied_bias_not_shifted", "device/kernels/fwd_wgmma_bias.h", "words >> 8U * (lead & 3U)", "words",
     std::nullopt, Features::wgmma_odd_bias},
    {"wgmma_copied_bias_without_its_lead", "device/kernels/fwd_wgmma_bias.h", "(lead & ~3U) + 4U * lane", "4U * lane",
     std::nullopt, Features::wgmma_odd_bias},
    {"wgmma_copied_bias_without_the_last_pieces", "device/kernels/fwd_wgmma_bias_copies.h", "keys_behind, key0);",
     "keys_behind, key0 + 16);", std::nullopt, Features::wgmma_odd_bias},
    {"wgmma_copied_bias_read_past_the_end", "device/kernels/fwd_wgmma_bias_copies.h",
     "kElement * (view_.keys - key0) - before)", "16)", model::Code::out_of_bounds, Features::wgmma_odd_bias},
    {"wgmma_copied_bias_here_before_its_last_words", "device/kernels/fwd_wgmma_bias_copies.h", "if (rows_end) {",
     "if (false) {", model::Code::race, Features::wgmma_odd_bias},
    {"wgmma_copied_bias_of_the_next_step", "device/kernels/fwd_wgmma_mask.h",
     "copies.copy(bias_, step_ - 1, Ring::unpack(what).block)",
     "copies.copy(bias_, step_ - 1, max(Ring::unpack(what).block - 1, 0))", std::nullopt, Features::wgmma_odd_both},
    {"wgmma_bias_of_the_first_warp", "device/kernels/fwd_wgmma_bias.h", "tile(step) + row * SmemTile::kRowBytes",
     "tile(step) + 0U * row * SmemTile::kRowBytes", std::nullopt, Features::wgmma_biased},
    {"wgmma_bias_of_the_block_before", "device/kernels/fwd_wgmma_producer.h", "p_, work, first_key(work, i)",
     "p_, work, first_key(work, i - 1)", std::nullopt, Features::wgmma_biased},
    {"wgmma_columns_not_exchanged", "device/kernels/fwd_wgmma_output.h",
     "isa::shfl_bfly(odd ? pairs[half] : pairs[half + 2], 1U)", "odd ? pairs[half] : pairs[half + 2]", std::nullopt,
     Features::wgmma_both},
    {"wgmma_bias_of_a_masked_tile_in_order", "device/kernels/fwd_wgmma_producer.h", "send_bias(turn, step.block);",
     "send_bias(turn, i);", std::nullopt, Features::wgmma_both},
    {"wgmma_outgrown_output_not_shrunk", "device/kernels/fwd_wgmma_scores.h",
     "maxima.factor[half] = maxima.moved ? maxima.factor[half] * factor : factor;", "maxima.factor[half] = 1.0F;",
     std::nullopt, Features::wgmma_growing},
    {"wgmma_outgrown_weights_not_shrunk", "device/kernels/fwd_wgmma_scores.h", "s.at(i / 2, half, i % 2) *= factor;",
     "s.at(i / 2, half, i % 2) *= 1.0F;", std::nullopt, Features::wgmma_growing},
    {"wgmma_outgrown_sums_not_shrunk", "device/kernels/fwd_wgmma_scores.h", "lost ? kQuietNaN : sums[half] * factor;",
     "lost ? kQuietNaN : sums[half];", std::nullopt, Features::wgmma_growing},
    {"wgmma_sum_of_one_lane", "device/kernels/fwd_wgmma_consumer.h", "quad_sum(rows_.stats.sum[half])",
     "rows_.stats.sum[half]", std::nullopt, Features::wgmma},
};

// The embedded sources with one text replaced. The text must be there exactly once.
class MutatedBundle {
 public:
  explicit MutatedBundle(const Mutant& mutant) {
    for (BundleFile file : embedded_files()) {
      if (file.path == mutant.file) {
        text_ = file.text;
        const std::size_t place = text_.find(mutant.find);
        found_ = place != std::string::npos && text_.find(mutant.find, place + 1) == std::string::npos;
        if (found_) text_.replace(place, std::string(mutant.find).size(), mutant.replace);
        file.text = text_;
      }
      files_.push_back(file);
    }
  }
  bool found() const { return found_; }
  Bundle bundle() const { return Bundle(files_); }

 private:
  std::string text_;
  std::vector<BundleFile> files_;
  bool found_ = false;
};

class KernelMutants : public ::testing::TestWithParam<Mutant> {
 protected:
  ScratchDirectory scratch_;
};

TEST(KernelSetups, AreRightWithoutAMutation) {
  ScratchDirectory scratch;
  Jit jit(toy_config(scratch.path() + "/cache"), 0, embedded_bundle());
  model::Modules modules(jit);
  for (const Features setup :
       {Features::plain, Features::masked, Features::odd_mask, Features::biased, Features::biased_fp16,
        Features::capped, Features::narrow, Features::paged, Features::split, Features::wgmma, Features::wgmma_masked,
        Features::wgmma_odd_mask, Features::wgmma_biased, Features::wgmma_both, Features::wgmma_odd_bias,
        Features::wgmma_odd_both}) {
    SmallCall call = small_call(setup);
    const Result<model::Report> report = run(call, setup, modules, {});
    ASSERT_TRUE(report.ok()) << to_string(report.error());
    EXPECT_FALSE(report.value().fault.has_value()) << report.value().fault->text;
    EXPECT_LT(call.worst_error(), 0.004) << static_cast<int>(setup);
  }
}

TEST_P(KernelMutants, AreFaultsOrWrongResults) {
  const Mutant& mutant = GetParam();
  const MutatedBundle mutated(mutant);
  ASSERT_TRUE(mutated.found()) << mutant.find << " does not stand once in " << mutant.file;
  Jit jit(toy_config(scratch_.path() + "/cache"), 0, mutated.bundle());
  model::Modules modules(jit);
  std::optional<model::Fault> fault;
  double worst = 0;
  // A mistake of order shows under some schedule: as few as needed are tried.
  for (u64 seed = 0; seed < 6 && !fault && worst < kWrong; ++seed) {
    SmallCall call = small_call(mutant.setup);
    const Result<model::Report> report =
        run(call, mutant.setup, modules, {.seed = seed, .landing = model::AsyncLanding::lazy, .schedule = {}});
    ASSERT_TRUE(report.ok()) << to_string(report.error());
    fault = report.value().fault;
    if (!fault) worst = call.worst_error();
    if (worst != worst) worst = 1;  // NaN is as wrong as can be
  }
  if (mutant.fault) {
    ASSERT_TRUE(fault.has_value()) << "no fault, largest error " << worst;
    EXPECT_EQ(model::to_string(fault->code), std::string(model::to_string(*mutant.fault))) << fault->text;
  } else {
    EXPECT_FALSE(fault.has_value()) << fault->text;
    EXPECT_GT(worst, kWrong);
  }
}

INSTANTIATE_TEST_SUITE_P(Forward, KernelMutants, ::testing::ValuesIn(kMutants),
                         [](const auto& mutant) { return std::string(mutant.param.name); });

}  // namespace
}  // namespace fovea::testing

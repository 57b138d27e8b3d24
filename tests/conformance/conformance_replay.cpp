// The model against the hardware: recomputes each golden record's inputs, runs the kernel on the model, compares every
// word. FOVEA_CONFORMANCE_VECTORS names another file (wide.bin) to replay instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "conformance/compare.h"
#include "conformance/inputs.h"
#include "conformance/model_kernels.h"
#include "conformance/vectors.h"
#include "model/launch.h"
#include "model/tensor_map.h"

namespace fovea::conformance {

void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

namespace {

constexpr int kShownDifferences = 8;

std::string vectors_path() {
  const char* other = std::getenv("FOVEA_CONFORMANCE_VECTORS");
  return other != nullptr ? other : FOVEA_SOURCE_DIR "/tests/conformance/golden/h100.bin";
}

const std::map<std::string, Record, std::less<>>& records() {
  static const auto instance = [] {
    std::map<std::string, Record, std::less<>> map;
    for (Record& record : read_records(vectors_path())) map.emplace(record.name, std::move(record));
    return map;
  }();
  return instance;
}

// Global memory of a launch: 128-byte aligned, so that every instruction's alignment can be met.
struct alignas(128) Line {
  u32 words[32];
};

std::vector<Line> aligned_copy(const std::vector<u32>& words) {
  std::vector<Line> lines(words.size() / 32 + 1);
  for (std::size_t i = 0; i < words.size(); ++i) lines[i / 32].words[i % 32] = words[i];
  return lines;
}

// As upload_maps of the GPU runner.
std::vector<TensorMap> model_maps(const Case& test, u32 ctas, const u32* in, u32* out) {
  std::vector<TensorMap> maps;
  for (u32 cta = 0; test.tensor_maps && cta < ctas; ++cta) {
    for (const MapSpec& spec : kMaps) {
      const std::size_t words = std::size_t{cta} * (spec.on_output ? test.out_words : test.in_words);
      const bool room = !spec.on_output || test.out_words == kTmaStoreWords;
      model::TiledMap map;
      map.type = spec.bf16 ? model::MapType::bf16 : model::MapType::f32;
      map.rank = spec.rank;
      map.base = room ? (spec.on_output ? out : in) + words + spec.word_offset : in;
      std::copy_n(spec.dim, 5, map.dim);
      std::copy_n(spec.stride, 4, map.stride);
      std::copy_n(spec.box, 5, map.box);
      map.swizzle = static_cast<model::MapSwizzle>(spec.swizzle);
      maps.emplace_back();
      EXPECT_EQ(model::encode_tiled(&maps.back(), map), "");
    }
  }
  return maps;
}

struct ModelRun {
  std::vector<u32> out;
  std::string fault;
};

ModelRun run_on_model(const Case& test, const std::vector<u32>& in, u32 ctas, model::AsyncLanding landing) {
  const std::vector<Line> input = aligned_copy(in);
  std::vector<Line> output = aligned_copy(std::vector<u32>(std::size_t{ctas} * test.out_words));
  const std::vector<TensorMap> maps = model_maps(test, ctas, input.data()->words, output.data()->words);
  const KernelArguments arguments{input.data()->words, output.data()->words, maps.data()};
  const model::Region memory[] = {{input.data(), input.size() * sizeof(Line), false, "in"},
                                  {output.data(), output.size() * sizeof(Line), true, "out"}};
  model::LaunchConfig config;
  config.grid_x = ctas;
  config.cluster = test.cluster;
  config.threads = test.threads;
  config.smem_bytes = test.smem_bytes;
  config.sm = 90;
  config.landing = landing;
  const model::Report report = model::launch(config, memory, model_entry(test.kernel), &arguments);
  ModelRun run{{}, report.fault ? report.fault->text : ""};
  for (std::size_t i = 0; i < std::size_t{ctas} * test.out_words; ++i) run.out.push_back(output[i / 32].words[i % 32]);
  return run;
}

class Replay : public testing::TestWithParam<Case> {};

std::string differences(const Case& test, const std::vector<u32>& got, const std::vector<u32>& wanted) {
  std::ostringstream text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const u32 index = static_cast<u32>(i % test.out_words);
    if (agrees(test, index, got[i], wanted[i])) continue;
    if (++count <= kShownDifferences) {
      text << "\n  cta " << i / test.out_words << " word " << index << std::hex << ": model 0x" << got[i]
           << ", hardware 0x" << wanted[i] << std::dec;
    }
  }
  return count == 0 ? "" : std::to_string(count) + " of " + std::to_string(wanted.size()) + " words" + text.str();
}

TEST_P(Replay, ModelGivesWhatTheHardwareGave) {
  const Case& test = GetParam();
  const auto found = records().find(test.name);
  if (found == records().end()) {
    ASSERT_NE(test.tier, Tier::golden) << "no record of this case in " << vectors_path();
    GTEST_SKIP() << "not recorded, or in the wide file only";
  }
  const Record& record = found->second;
  ASSERT_NE(model_entry(test.kernel), nullptr);
  const std::vector<u32> in = make_inputs(test, record.ctas);
  ASSERT_EQ(digest(in), record.input_digest) << "inputs have changed since the recording";
  ASSERT_EQ(record.out.size(), std::size_t{record.ctas} * test.out_words);
  for (const model::AsyncLanding landing : {model::AsyncLanding::lazy, model::AsyncLanding::eager}) {
    const ModelRun run = run_on_model(test, in, record.ctas, landing);
    ASSERT_EQ(run.fault, "");
    EXPECT_EQ(differences(test, run.out, record.out), "");
  }
}

INSTANTIATE_TEST_SUITE_P(H100, Replay, testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Golden, HoldsNothingButKnownCases) {
  for (const auto& [name, record] : records()) {
    bool known = false;
    for (const Case& test : kCases) known = known || test.name == name;
    EXPECT_TRUE(known) << name;
  }
}

TEST(Comparison, CanFail) {
  const Case exact{"x", "x", 32, 1, 0, 32, 32, 1, Input::bits};
  EXPECT_EQ(differences(exact, {1, 2}, {1, 2}), "");
  EXPECT_NE(differences(exact, {1, 2}, {1, 3}), "");
  EXPECT_FALSE(close_f32(3, 0x3f800000U, 0x3f800003U));
  EXPECT_TRUE(close_f32(3, 0x3f800000U, 0x3f800002U));
  EXPECT_FALSE(close_f32(0, 0x7f800000U, 0x7f7fffffU));
  EXPECT_FALSE(close_pair(0x3c003c00U, 0x3c0a3c00U, 0x7c00U, 4));
  EXPECT_FALSE(close_pair(0x7c003c00U, 0x7c013c00U, 0x7c00U, 4));
}

}  // namespace
}  // namespace fovea::conformance

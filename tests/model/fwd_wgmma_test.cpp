// fwd_wgmma on the model: small calls against attention in double, under every landing and schedule.
#include <cmath>
#include <limits>
#include <random>

#include "kernel_run.h"
#include "kernels/fwd_wgmma.h"
#include "model/tensor_map.h"

namespace fovea::model_test {
namespace {

constexpr FwdSpec kD64{
    .head_dim_qk = 64, .head_dim_v = 64, .tile_m = 128, .tile_n = 64, .rows_per_warp = 16, .family = Family::wgmma};
constexpr FwdSpec kD128{
    .head_dim_qk = 128, .head_dim_v = 128, .tile_m = 128, .tile_n = 128, .rows_per_warp = 16, .family = Family::wgmma};
constexpr FwdSpec kM192{
    .head_dim_qk = 64, .head_dim_v = 64, .tile_m = 192, .tile_n = 128, .rows_per_warp = 16, .family = Family::wgmma};
constexpr FwdSpec kWide{
    .head_dim_qk = 256, .head_dim_v = 256, .tile_m = 128, .tile_n = 64, .rows_per_warp = 16, .family = Family::wgmma};

struct Shape {
  i32 batch, rows, keys, heads, group;
  i32 left, right;  // position rules; kFarKeys: none
};

template <FwdSpec kSpec>
class Call {
 public:
  explicit Call(const Shape& shape) : c_(shape) {
    fill(q_, static_cast<std::size_t>(c_.batch * c_.rows * c_.heads * kDim), 1);
    fill(k_, static_cast<std::size_t>(c_.batch * c_.keys * kv_heads() * kDim), 2);
    fill(v_, k_.size(), 3);
    out_.assign(q_.size(), 0x7fc0);
    lse_.assign(static_cast<std::size_t>(c_.batch * c_.heads * c_.rows), std::numeric_limits<float>::quiet_NaN());
    map(params_.q, q_, c_.rows, c_.heads, kSpec.tile_m);
    map(params_.k, k_, c_.keys, kv_heads(), kSpec.tile_n);
    map(params_.v, v_, c_.keys, kv_heads(), kSpec.tile_n);
    map(params_.out, out_, c_.rows, c_.heads, 16);
    FwdParams& p = params_.fwd;
    p = FwdParams{};
    p.out = {out_.data(), c_.rows * c_.heads * kDim, c_.heads * kDim, kDim};
    p.lse = lse_.data();
    p.lse_b = c_.heads * c_.rows, p.lse_h = c_.rows, p.lse_s = 1;
    p.batch = c_.batch, p.num_heads_q = c_.heads, p.group = c_.group;
    p.seqlen_q = c_.rows, p.seqlen_kv = c_.keys;
    p.head_dim_qk = p.head_dim_v = kDim;
    p.tiles_m = ceil_div(c_.rows, kSpec.tile_m);
    p.heads_in_flight = c_.batch * c_.heads, p.head_groups = 1;
    p.num_splits = 1;
    p.left = c_.left, p.right = c_.right, p.bottom_right = 1;
    p.scale = kScale;
    p.scale_log2 = kScale * kLog2E;
  }

  Report run_on(LaunchConfig config, i32 ctas = 2) {
    config.sm = 90;
    params_.tiles = static_cast<u32>(params_.fwd.tiles_m * c_.batch * c_.heads);
    counter_ = {0, 0};
    params_.counter = config.seed % 2 == 0 ? counter_.data() : nullptr;
    config.grid_x = static_cast<u32>(min(static_cast<i32>(params_.tiles), ctas));
    config.threads = static_cast<u32>(kSpec.threads());
    config.smem_bytes = plan_smem(kSpec).bytes;
    config.registers_per_thread = 65536 / config.threads / 8 * 8;
    const Report report = run<FwdWgmmaParams>(
        config,
        {region(q_, "q", false), region(k_, "k", false), region(v_, "v", false), region(out_, "out"),
         region(lse_, "lse"), region(counter_, "counter")},
        [](const FwdWgmmaParams& p) { kernels::fwd_wgmma<kSpec>(p); }, params_);
    EXPECT_EQ(counter_, (std::vector<u32>{0, 0})) << "as it was before";
    return report;
  }

  // Overwrites element d of V at a key of every batch entry and head.
  void set_v(i32 key, i32 d, f32 value) {
    for (i32 b = 0; b < c_.batch; ++b) {
      for (i32 h = 0; h < kv_heads(); ++h) {
        v_[static_cast<std::size_t>(((b * c_.keys + key) * kv_heads() + h) * kDim + d)] = f32_to_bf16(value);
      }
    }
  }
  u16 out_bits(i32 row, i32 d) const { return out_[static_cast<std::size_t>(row * c_.heads * kDim + d)]; }

  // Largest error of out and of lse; NaN where a result is.
  double worst() const {
    double worst = 0;
    for (i32 b = 0; b < c_.batch; ++b) {
      for (i32 h = 0; h < c_.heads; ++h) {
        for (i32 i = 0; i < c_.rows; ++i) worst = std::fmax(worst, row_error(b, h, i));
      }
    }
    return worst;
  }

 private:
  static constexpr i32 kDim = kSpec.head_dim_qk;
  static constexpr f32 kScale = 0.25F;
  i32 kv_heads() const { return c_.heads / c_.group; }

  static void fill(std::vector<u16>& values, std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(f32_to_bf16(static_cast<f32>(static_cast<int>(random() % 257) - 128) / 128.0F));
    }
  }
  void map(TensorMap& result, std::vector<u16>& values, i32 rows, i32 heads, i32 box) const {
    model::TiledMap tiled;
    tiled.rank = 4;
    tiled.base = values.data();
    const auto row = static_cast<u64>(2 * heads * kDim);
    tiled.dim[0] = kDim, tiled.dim[1] = static_cast<u64>(rows), tiled.dim[2] = static_cast<u64>(heads);
    tiled.dim[3] = static_cast<u64>(c_.batch);
    tiled.stride[0] = row, tiled.stride[1] = 2 * kDim, tiled.stride[2] = row * static_cast<u64>(rows);
    tiled.box[0] = 64, tiled.box[1] = static_cast<u32>(box);
    tiled.swizzle = model::MapSwizzle::bytes_128;
    EXPECT_EQ(model::encode_tiled(&result, tiled), "");
  }
  static double at(const std::vector<u16>& values, i64 index) {
    return static_cast<double>(bf16_to_f32(values[static_cast<std::size_t>(index)]));
  }
  double row_error(i32 b, i32 h, i32 i) const {
    const i64 q_row = ((i64{b} * c_.rows + i) * c_.heads + h) * kDim;
    const i32 diagonal = c_.keys - c_.rows;
    double sum = 0;
    std::vector<double> exact(kDim);
    for (i32 j = 0; j < c_.keys; ++j) {
      if (j < i + diagonal + c_.left || j > i + diagonal + c_.right) continue;
      const i64 k_row = ((i64{b} * c_.keys + j) * kv_heads() + h / c_.group) * kDim;
      double score = 0;
      for (i32 d = 0; d < kDim; ++d) score += at(q_, q_row + d) * at(k_, k_row + d);
      const double weight = std::exp(score * static_cast<double>(kScale));
      sum += weight;
      for (i32 d = 0; d < kDim; ++d) exact[static_cast<std::size_t>(d)] += weight * at(v_, k_row + d);
    }
    const float lse = lse_[static_cast<std::size_t>((b * c_.heads + h) * c_.rows + i)];
    double worst = sum == 0 ? (lse == -std::numeric_limits<float>::infinity() ? 0 : 1)
                            : std::abs(static_cast<double>(lse) - std::log(sum));
    for (i32 d = 0; d < kDim; ++d) {
      const double wanted = sum == 0 ? 0 : exact[static_cast<std::size_t>(d)] / sum;
      const double error = std::abs(at(out_, q_row + d) - wanted);
      worst = error <= worst ? worst : (error == error ? error : 1e9);
    }
    return worst;
  }

  Shape c_;
  std::vector<u16> q_, k_, v_, out_;
  std::vector<float> lse_;
  std::vector<u32> counter_;
  FwdWgmmaParams params_;
};

constexpr double kLimit = 4e-3;

TEST(FwdWgmma, ComputesAttention) {
  for (const Shape& shape :
       {Shape{1, 128, 64, 1, 1, -kFarKeys, kFarKeys}, Shape{2, 130, 300, 4, 2, -kFarKeys, kFarKeys},
        Shape{1, 200, 200, 2, 1, -kFarKeys, 0}, Shape{1, 150, 100, 1, 1, -kFarKeys, 0},
        Shape{1, 260, 260, 1, 1, -40, 10}, Shape{1, 1, 5, 1, 1, -kFarKeys, kFarKeys}}) {
    Call<kD64> narrow(shape);
    const Report first = narrow.run_on({.seed = 1});
    ASSERT_FALSE(first.fault) << text(first);
    EXPECT_LE(narrow.worst(), kLimit) << shape.rows << " x " << shape.keys;
    Call<kD128> wide(shape);
    const Report second = wide.run_on({.seed = 2});
    ASSERT_FALSE(second.fault) << text(second);
    EXPECT_LE(wide.worst(), kLimit) << shape.rows << " x " << shape.keys;
  }
}

TEST(FwdWgmma, OneCtaTakesManyTiles) {
  for (const u64 seed : {1, 2}) {  // without and with a counter
    Call<kD64> call({3, 300, 150, 4, 2, -kFarKeys, 0});
    const Report report = call.run_on({.seed = seed}, 1);
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_LE(call.worst(), kLimit);
    Call<kM192> three({3, 500, 150, 4, 2, -kFarKeys, 0});
    const Report second = three.run_on({.seed = seed}, 2);
    ASSERT_FALSE(second.fault) << text(second);
    EXPECT_LE(three.worst(), kLimit);
    Call<kWide> wide({1, 500, 300, 2, 1, -kFarKeys, 0});
    const Report third = wide.run_on({.seed = seed}, 2);
    ASSERT_FALSE(third.fault) << text(third);
    EXPECT_LE(wide.worst(), kLimit);
  }
}

TEST(FwdWgmma, RunsUnderEveryLandingAndSchedule) {
  for (const LaunchConfig& config : adversaries({})) {
    Call<kM192> three({1, 420, 450, 1, 1, -70, 0});
    const Report first = three.run_on(config, 1);
    ASSERT_FALSE(first.fault) << text(first);
    EXPECT_LE(three.worst(), kLimit);
    Call<kD64> call({1, 140, 330, 1, 1, -kFarKeys, 0});
    const Report report = call.run_on(config);
    ASSERT_FALSE(report.fault) << text(report);
    EXPECT_LE(call.worst(), kLimit);
  }
}

// 64 rows of a tile see other blocks than the next 64, or none; of the last tile some are not there at all.
TEST(FwdWgmma, WarpgroupsSkipBlocksThatTheirRowsDoNotSee) {
  for (const Shape& shape : {Shape{1, 450, 480, 2, 1, -70, 0}, Shape{1, 500, 90, 2, 1, -kFarKeys, kFarKeys},
                             Shape{2, 400, 330, 1, 1, -20, -10}, Shape{1, 390, 700, 1, 1, -kFarKeys, 0}}) {
    Call<kM192> narrow(shape);
    const Report first = narrow.run_on({.seed = 1}, 1);
    ASSERT_FALSE(first.fault) << text(first);
    EXPECT_LE(narrow.worst(), kLimit);
    Call<kWide> wide(shape);
    const Report second = wide.run_on({.seed = 2}, 1);
    ASSERT_FALSE(second.fault) << text(second);
    EXPECT_LE(wide.worst(), kLimit);
  }
}

// As many keys as rows. Rows that do not see a key with Inf or NaN keep their bits.
template <FwdSpec kSpec>
void expect_special_values_where_they_are_seen(const Shape& shape, const LaunchConfig& config, i32 ctas) {
  constexpr f32 kInf = std::numeric_limits<f32>::infinity();
  constexpr f32 kNaN = std::numeric_limits<f32>::quiet_NaN();
  Call<kSpec> zeros(shape);
  Call<kSpec> special(shape);
  for (const auto& [key, d, value] :
       {std::tuple{70, 3, kInf}, {71, 5, -kInf}, {72, 7, kNaN}, {30, 9, kInf}, {75, 9, -kInf}}) {
    zeros.set_v(key, d, 0);
    special.set_v(key, d, value);
  }
  for (Call<kSpec>* call : {&zeros, &special}) {
    const Report report = call->run_on(config, ctas);
    ASSERT_FALSE(report.fault) << text(report);
  }
  for (i32 row = 0; row < shape.rows; ++row) {
    const auto sees = [&](i32 key) { return key >= row + shape.left && key <= row + shape.right; };
    for (i32 d = 0; d < kSpec.head_dim_v; ++d) {
      const f32 out = bf16_to_f32(special.out_bits(row, d));
      const bool sees_plus = (d == 3 && sees(70)) || (d == 9 && sees(30));
      const bool sees_minus = (d == 5 && sees(71)) || (d == 9 && sees(75));
      if ((d == 7 && sees(72)) || (sees_plus && sees_minus)) {
        EXPECT_NE(out, out) << row << ", " << d;
      } else if (sees_plus || sees_minus) {
        EXPECT_EQ(out, sees_plus ? kInf : -kInf) << row << ", " << d;
      } else {
        EXPECT_EQ(special.out_bits(row, d), zeros.out_bits(row, d)) << row << ", " << d;
      }
    }
  }
}

TEST(FwdWgmma, VThatIsNotFiniteReachesTheRowsThatSeeItAlone) {
  expect_special_values_where_they_are_seen<kD64>({1, 140, 140, 1, 1, -kFarKeys, 0}, {.seed = 7}, 2);
  for (const AsyncLanding landing : {AsyncLanding::eager, AsyncLanding::lazy, AsyncLanding::random}) {
    const LaunchConfig config{.seed = 9, .landing = landing, .schedule = model::Schedule::run_ahead};
    expect_special_values_where_they_are_seen<kM192>({1, 400, 400, 1, 1, -90, 20}, config, 1);
  }
  expect_special_values_where_they_are_seen<kWide>({1, 400, 400, 1, 1, -90, 20}, {.seed = 8}, 1);
}

}  // namespace
}  // namespace fovea::model_test

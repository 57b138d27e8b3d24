// Draws the property tests' cases, runs their calls and compares the answers row by row.
#include "property_support.h"

#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

#include "cases/run.h"
#include "cpu/test_backend.h"

namespace fovea::property {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::int64_t pack(fovea_tensor& t) {
  std::int64_t count = 1;
  for (int i = t.rank - 1; i >= 0; --i) {
    t.strides[i] = count;
    count *= t.shape[i];
  }
  t.dtype = FOVEA_F32;
  return count;
}

// Of two results, each of which may err by the contract's floor (section 5), a share of the largest element.
double tolerance(fovea_dtype dtype, double largest) {
  const double unit = dtype == FOVEA_F32 ? 0x1p-20 : dtype == FOVEA_F16 ? 0x1p-10 : 0x1p-7;
  return unit * std::max(largest, 1.0);
}

template <class Check>
void each_row(const Rows& rows, Check check) {
  const Case& c = rows.instance.of();
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const std::int64_t count = rows.instance.geometry().q[static_cast<std::size_t>(b)].rows;
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t h = 0; h < c.num_heads_q; ++h) {
        if (!rows.keep || rows.keep(b, h, i)) check(b, i, h);
      }
    }
  }
}

void fail(const Case& c, const char* what, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d, float actual,
          float expected) {
  std::ostringstream text;
  text.precision(9);
  text << what << " at (b=" << b << ", h=" << h << ", i=" << i << ", d=" << d << "): " << actual << " and " << expected
       << "\n  from " << cases::to_string(c);
  RC_FAIL(text.str());
}

bool close(float a, float e, double limit) {
  if (std::isnan(e)) return std::isnan(a);
  if (std::isinf(e)) return a == e;
  return std::fabs(static_cast<double>(a) - static_cast<double>(e)) <= limit;
}

}  // namespace

Property::Property() {
  fovea_context* context = nullptr;
  const fovea_status status = fovea_context_create(nullptr, &context, nullptr);
  if (status != FOVEA_OK) throw std::runtime_error("fovea_context_create failed");
  context_.reset(context);
}

Case draw_case() {
  Case c;
  c.seed = *rc::gen::inRange<std::uint64_t>(1, 1000000);
  c.dtype = *rc::gen::element(FOVEA_F32, FOVEA_BF16, FOVEA_F16);
  c.out_dtype = FOVEA_F32;
  c.batch = *rc::gen::inRange<std::int64_t>(1, 4);
  c.seqlen_q = *rc::gen::inRange<std::int64_t>(1, 60);
  c.seqlen_kv = *rc::gen::inRange<std::int64_t>(1, 200);
  c.num_heads_kv = *rc::gen::inRange<std::int64_t>(1, 4);
  c.num_heads_q = c.num_heads_kv * *rc::gen::element<std::int64_t>(1, 2, 3, 8);
  c.head_dim_qk = *rc::gen::inRange<std::int64_t>(1, 80);
  c.head_dim_v = *rc::gen::inRange<std::int64_t>(1, 80);
  return c;
}

void draw_visibility(Case& c) {
  c.causal = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) c.window_left = *rc::gen::inRange<std::int64_t>(0, 50);
  if (*rc::gen::arbitrary<bool>()) c.window_right = *rc::gen::inRange<std::int64_t>(0, 50);
}

Answer::Answer(const fovea_forward_args& like) : out_(like.out), lse_(like.lse) {
  out_storage_.assign(static_cast<std::size_t>(pack(out_)), kNaN);
  lse_storage_.assign(static_cast<std::size_t>(pack(lse_)), kNaN);
  out_.data = out_storage_.data();
  lse_.data = lse_storage_.data();
}

Answer::Answer(fovea_context* context, fovea_forward_args args) : Answer(args) {
  args.out = out_;
  args.lse = lse_;
  fovea_error error{};
  error.struct_size = sizeof(error);
  const fovea_status status = test_backend::forward(context, args, &error, &from_cpu_);
  if (status != FOVEA_OK) RC_FAIL(std::string(error.code) + ": " + error.asked + "; " + error.allowed);
}

float Answer::out(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d) const {
  const std::int64_t* t = out_.strides + out_.rank - 3;
  return out_storage_[static_cast<std::size_t>((out_.rank == 4 ? b * out_.strides[0] : 0) + s * t[0] + h * t[1] + d)];
}

float Answer::lse(std::int64_t b, std::int64_t h, std::int64_t s) const {
  const std::int64_t* t = lse_.strides + lse_.rank - 2;
  return lse_storage_[static_cast<std::size_t>((lse_.rank == 3 ? b * lse_.strides[0] : 0) + h * t[0] + s)];
}

PlaceOf places(const Instance& instance) {
  const bool varlen = instance.of().q_layout == cases::Layout::varlen;
  return [varlen, q = instance.geometry().q](std::int64_t b, std::int64_t i) {
    return Place{varlen ? 0 : b, q[static_cast<std::size_t>(b)].begin + i};
  };
}

void expect_close(const Rows& rows, const Answer& actual, const PlaceOf& actual_place, const Answer& expected,
                  const PlaceOf& expected_place, double lse_shift) {
  const Case& c = rows.instance.of();
  double largest = 0;
  each_row(rows, [&](std::int64_t b, std::int64_t i, std::int64_t h) {
    const Place e = expected_place(b, i);
    for (std::int64_t d = 0; d < c.head_dim_v; ++d) {
      const double y = std::fabs(static_cast<double>(expected.out(e.b, e.s, h, d)));
      if (std::isfinite(y)) largest = std::max(largest, y);
    }
  });
  const double limit = tolerance(c.dtype, largest);
  each_row(rows, [&](std::int64_t b, std::int64_t i, std::int64_t h) {
    const Place a = actual_place(b, i);
    const Place e = expected_place(b, i);
    for (std::int64_t d = 0; d < c.head_dim_v; ++d) {
      const float x = actual.out(a.b, a.s, h, d);
      const float y = expected.out(e.b, e.s, h, d);
      if (!close(x, y, limit)) fail(c, "out", b, h, i, d, x, y);
    }
    const float x = actual.lse(a.b, h, a.s);
    const auto y = static_cast<float>(static_cast<double>(expected.lse(e.b, h, e.s)) + lse_shift);
    if (!close(x, y, c.dtype == FOVEA_F32 ? 2e-5 : 2e-3)) fail(c, "lse", b, h, i, 0, x, y);
  });
}

void expect_same_bits(const Rows& rows, const Answer& actual, const PlaceOf& actual_place, const Answer& expected,
                      const PlaceOf& expected_place) {
  const Case& c = rows.instance.of();
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  each_row(rows, [&](std::int64_t b, std::int64_t i, std::int64_t h) {
    const Place a = actual_place(b, i);
    const Place e = expected_place(b, i);
    for (std::int64_t d = 0; d < c.head_dim_v; ++d) {
      const float x = actual.out(a.b, a.s, h, d);
      const float y = expected.out(e.b, e.s, h, d);
      if (bits(x) != bits(y)) fail(c, "bits of out", b, h, i, d, x, y);
    }
    const float x = actual.lse(a.b, h, a.s);
    const float y = expected.lse(e.b, h, e.s);
    if (bits(x) != bits(y)) fail(c, "bits of lse", b, h, i, 0, x, y);
  });
}

fovea_forward_args alone(const Instance& instance, std::int64_t b) {
  fovea_forward_args args = instance.args();
  const auto entry = [b](fovea_tensor& t, std::int64_t extent) {
    if (t.rank == 0) return;
    const std::int64_t bytes = t.dtype == FOVEA_BOOL ? 1 : t.dtype == FOVEA_BF16 || t.dtype == FOVEA_F16 ? 2 : 4;
    t.data = static_cast<std::byte*>(t.data) + b * t.strides[0] * bytes;
    t.shape[0] = extent;
  };
  if (args.cu_seqlens_q.rank == 0) {
    entry(args.q, 1);
    entry(args.out, 1);
    entry(args.lse, 1);
  }
  if (args.cu_seqlens_kv.rank == 0 && args.page_table.rank == 0) {
    entry(args.k, 1);
    entry(args.v, 1);
  }
  if (args.mask.shape[0] != 1) entry(args.mask, 1);
  if (args.bias.shape[0] != 1) entry(args.bias, 1);
  entry(args.cu_seqlens_q, 2);
  entry(args.cu_seqlens_kv, 2);
  entry(args.seqused_q, 1);
  entry(args.seqused_kv, 1);
  entry(args.page_table, 1);
  return args;
}

bool in_reach(const Instance& instance, std::int64_t b, std::int64_t i, std::int64_t j) {
  const Case& c = instance.of();
  const std::int64_t used_q = instance.geometry().q[static_cast<std::size_t>(b)].used;
  const std::int64_t used_kv = instance.geometry().kv[static_cast<std::size_t>(b)].used;
  const bool shifted = c.q_offset || c.kv_offset;
  const std::int64_t diagonal = shifted ? c.q_offset.value_or(0) - c.kv_offset.value_or(0) : used_kv - used_q;
  if (i >= used_q || j >= used_kv) return false;
  const std::int64_t right = j - (i + diagonal);
  if (c.causal && right > 0) return false;
  if (c.window_left && right < -*c.window_left) return false;
  return !c.window_right || right <= *c.window_right;
}

}  // namespace fovea::property

// Batch 1 with B*H heads: the library parallelises over both alike.
#include "tools/fovea/bench_points.h"

namespace fovea::cli {
namespace {

BenchPoint prefill(const std::string& dtype, std::int64_t heads, std::int64_t seqlen, std::int64_t dim, bool causal) {
  BenchPoint point;
  point.name = "prefill " + dtype + " bh=" + std::to_string(heads) + " s=" + std::to_string(seqlen) +
               " d=" + std::to_string(dim) + (causal ? " causal" : "");
  point.shapes.dtype = dtype;
  point.shapes.heads_q = heads;
  point.shapes.seqlen_q = seqlen;
  point.shapes.head_dim = dim;
  point.causal = causal;
  return point;
}

void add_prefill(std::vector<BenchPoint>& points, bool small) {
  for (const std::string dtype : {"f32", "bf16"}) {
    for (const std::int64_t heads : {8, 32}) {
      for (const std::int64_t seqlen : {128, 512, 1024, 4096}) {
        if (small && (heads != 8 || seqlen > 1024)) continue;
        for (const std::int64_t dim : {64, 128}) {
          for (const bool causal : {false, true}) points.push_back(prefill(dtype, heads, seqlen, dim, causal));
        }
      }
    }
  }
}

void add_scores(std::vector<BenchPoint>& points) {
  for (const std::string dtype : {"f32", "bf16"}) {
    BenchPoint plain = prefill(dtype, 8, 1024, 64, false);
    plain.name = "scores " + dtype + " bh=8 s=1024 d=64 none";
    BenchPoint mask = plain, bias = plain;
    mask.name = "scores " + dtype + " bh=8 s=1024 d=64 mask";
    mask.shapes.mask_shape = {1, 1, 1024, 1024};
    bias.name = "scores " + dtype + " bh=8 s=1024 d=64 bias";
    bias.shapes.bias_shape = {1, 1, 1024, 1024};
    bias.shapes.bias_dtype = "f32";
    points.insert(points.end(), {plain, mask, bias});
  }
}

void add_decode(std::vector<BenchPoint>& points, bool small) {
  for (const std::string dtype : {"f32", "bf16"}) {
    for (const std::int64_t seqlen_kv : {1024, 8192, 65536}) {
      if (small && seqlen_kv > 8192) continue;
      BenchPoint point = prefill(dtype, 32, 1, 128, false);
      point.name = "decode " + dtype + " h=32/4 skv=" + std::to_string(seqlen_kv) + " d=128";
      point.shapes.heads_kv = 4;
      point.shapes.seqlen_kv = seqlen_kv;
      points.push_back(point);
    }
  }
}

}  // namespace

std::vector<BenchPoint> bench_points(const std::string& set) {
  std::vector<BenchPoint> points;
  const bool quick = set == "quick", all = set == "all";
  if (quick || all || set == "prefill") add_prefill(points, quick);
  if (quick || all || set == "scores") add_scores(points);
  if (quick || all || set == "decode") add_decode(points, quick);
  return points;
}

}  // namespace fovea::cli

// Which rows a shape belongs to: the same rules as tuning_for() of each kernel.
#include "tools/fovea/tuning/row.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "tools/fovea/tuning/candidates.h"

namespace fovea::cli {
namespace {

// "1.03, 1.07"; lengths likewise.
template <class T, class Text>
std::string joined(const std::vector<T>& values, Text text) {
  std::string all;
  for (const T& value : values) all += (all.empty() ? "" : ", ") + text(value);
  return all;
}

std::string two_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

int at(const Measured& m, const std::string& name) {
  const auto found = m.tile.find(name);
  return found == m.tile.end() ? 0 : found->second;
}

int width(std::int64_t dim) { return dim <= 64 ? 64 : dim <= 128 ? 128 : dim <= 192 ? 192 : 256; }

// Columns of fwd_wgmma's tiles of k and of v, "192, 128": the first pair that holds both head dims.
std::string wgmma_widths(std::int64_t qk, std::int64_t v) {
  static constexpr int kPairs[][2] = {{64, 64}, {128, 128}, {192, 128}, {192, 192}, {256, 256}};
  const auto& pair = *std::find_if(std::begin(kPairs), std::end(kPairs) - 1,
                                   [&](const int(&p)[2]) { return qk <= p[0] && v <= p[1]; });
  return std::to_string(pair[0]) + ", " + std::to_string(pair[1]);
}

const char* wgmma_views(const Shapes& s) {
  if (s.mask_shape.empty()) return s.bias_shape.empty() ? "none" : "bias";
  return s.bias_shape.empty() ? "mask" : "both";
}

std::int64_t queries(const Shapes& s) {
  if (s.lengths_q.empty()) return s.seqlen_q;
  std::int64_t total = 0;
  for (const std::int64_t length : s.lengths_q) total += length;
  return total / static_cast<std::int64_t>(s.lengths_q.size());
}

std::vector<std::int64_t> all_queries(const TuneOptions& options) {
  std::vector<std::int64_t> all;
  for (const Shapes& shapes : shapes_of(options)) all.push_back(queries(shapes));
  return all;
}

}  // namespace

std::string evidence(const TuneOptions& options, const Measured& present, const Contender& winner,
                     const std::string& date) {
  const std::string vendor = "NVIDIA ";
  const std::string device = present.device.starts_with(vendor) ? present.device.substr(vendor.size()) : present.device;
  std::string tile;
  for (const std::string& field : tile_fields(present.kernel)) {
    tile += (tile.empty() ? "" : " x ") + std::to_string(at(present, field));
  }
  return device + ", " + date + ": " + (options.features.causal ? "causal " : "") + "S " +
         joined(all_queries(options), [](std::int64_t n) { return std::to_string(n); }) + ", " +
         joined(winner.gains, two_digits) + "x the speed of " + tile;
}

std::string tuning_row(const TuneOptions& options, const Measured& won, const std::string& evidence) {
  const Shapes& s = options.shapes;
  const std::int64_t head_dim_v = s.head_dim_v < 0 ? s.head_dim : s.head_dim_v;
  const std::vector<std::int64_t> lengths = all_queries(options);
  const std::int64_t shortest = *std::min_element(lengths.begin(), lengths.end());
  const auto number = [&](const char* name) { return std::to_string(at(won, name)) + ", "; };
  const std::string tile = number("tile_m") + number("tile_n");
  if (won.kernel == "fwd_wgmma") {
    const bool even = !options.features.causal && options.features.window.empty();
    return std::string("WgmmaTuning{") + (even ? "even" : "uneven") + ", " + wgmma_views(s) + ", " +
           wgmma_widths(s.head_dim, head_dim_v) + ", " + std::to_string(shortest) + ", " + tile + number("stages") +
           "\"" + evidence + "\"},";
  }
  const std::int64_t group = s.heads_kv > 0 ? s.heads_q / s.heads_kv : 1;
  const char* const use = !s.bias_shape.empty() ? "biased" : shortest * group <= 64 ? "decode" : "prefill";
  return "MmaTuning{" + std::to_string(won.sm) + ", MmaUse::" + use + ", " +
         std::to_string(width(std::max(s.head_dim, head_dim_v))) + ", " + tile + number("rows_per_warp") +
         number("stages") + number("min_ctas") + "\"" + evidence + "\"},";
}

}  // namespace fovea::cli

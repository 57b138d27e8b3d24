// Draws a Case's lengths, gaps and page order from its seed.
#include "cases/geometry.h"

#include <algorithm>
#include <numeric>

#include "cases/random.h"

namespace fovea::cases {
namespace {

std::uint64_t bits(const Case& c, Stream stream, std::int64_t index) {
  return random_bits(c.seed, stream, static_cast<std::uint64_t>(index));
}

std::int64_t sequence_rows(const Case& c, bool varlen, Stream stream, std::int64_t b, std::int64_t longest) {
  if (!varlen || c.lengths == Lengths::full) return longest;
  if (c.lengths == Lengths::gaps && b % 2 == 1) return 0;
  return integer(bits(c, stream, b), 0, longest);
}

// One call in four keeps everything, one in eight nothing.
std::int64_t used_rows(std::uint64_t random, std::int64_t rows) {
  if (random % 4 == 0) return rows;
  if (random % 8 == 1) return 0;
  return integer(random >> 8, 0, rows);
}

std::vector<Rows> sequences(const Case& c, bool varlen, bool seqused, bool for_q) {
  const Stream length_stream = for_q ? Stream::q_length : Stream::kv_length;
  const Stream used_stream = for_q ? Stream::q_used : Stream::kv_used;
  std::vector<Rows> result;
  std::int64_t begin = varlen ? c.rows_before : 0;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const std::int64_t rows = sequence_rows(c, varlen, length_stream, b, for_q ? c.seqlen_q : c.seqlen_kv);
    const std::int64_t used = seqused ? used_rows(bits(c, used_stream, b), rows) : rows;
    result.push_back({begin, rows, used});
    if (varlen) begin += rows;
  }
  return result;
}

std::int64_t storage_rows(const Case& c, bool varlen, const std::vector<Rows>& rows, std::int64_t longest) {
  return varlen ? rows.back().begin + rows.back().rows + c.rows_after : longest;
}

std::vector<std::int32_t> page_order(const Case& c, std::int64_t pages) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
  std::iota(order.begin(), order.end(), 0);
  if (c.page_order == PageOrder::forward) return order;
  for (std::int64_t i = pages - 1; i > 0; --i) {
    const std::int64_t other = integer(bits(c, Stream::pages, i), 0, i);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(other)]);
  }
  return order;
}

void add_pages(const Case& c, Geometry& g) {
  const auto needed = [&](std::int64_t b) {
    return (g.kv[static_cast<std::size_t>(b)].used + c.page_size - 1) / c.page_size;
  };
  const auto shared = [&](std::int64_t b) {
    return c.shared_pages && b > 0 ? (std::min(needed(0), needed(b)) + 1) / 2 : std::int64_t{0};
  };
  g.table_width = std::max<std::int64_t>(1, (c.seqlen_kv + c.page_size - 1) / c.page_size);
  g.kv_storage = c.page_size;
  g.pages = 2;
  for (std::int64_t b = 0; b < c.batch; ++b) g.pages += needed(b) - shared(b);

  constexpr std::int32_t kNoPage = -1;
  g.page_table.assign(static_cast<std::size_t>(c.batch * g.table_width), kNoPage);
  const std::vector<std::int32_t> order = page_order(c, g.pages);
  std::size_t next = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    g.shared_prefix[static_cast<std::size_t>(b)] = shared(b) * c.page_size;
    for (std::int64_t p = 0; p < needed(b); ++p) {
      std::int32_t& entry = g.page_table[static_cast<std::size_t>(b * g.table_width + p)];
      entry = p < shared(b) ? g.page_table[static_cast<std::size_t>(p)] : order[next++];
    }
  }
}

}  // namespace

Geometry make_geometry(const Case& c) {
  const bool q_varlen = c.q_layout == Layout::varlen;
  const bool kv_varlen = c.kv_layout == Layout::varlen;
  Geometry g;
  g.q = sequences(c, q_varlen, c.seqused_q, true);
  g.kv = sequences(c, kv_varlen, c.seqused_kv, false);
  g.q_storage = storage_rows(c, q_varlen, g.q, c.seqlen_q);
  g.kv_storage = storage_rows(c, kv_varlen, g.kv, c.seqlen_kv);
  g.shared_prefix.assign(static_cast<std::size_t>(c.batch), 0);
  if (c.kv_layout == Layout::paged) add_pages(c, g);
  return g;
}

}  // namespace fovea::cases

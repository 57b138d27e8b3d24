// Dimensions of one element have a stride that nothing follows; the driver wants it to be a multiple of 16 all the
// same.
#include "plan/tensor_maps.h"

#include <algorithm>

#include "select/fwd_wgmma.h"

namespace fovea {
namespace {

constexpr std::int32_t kOutRows = 16;  // a warp's

RowMap row_map(const RowView& view, std::int64_t cols, std::int64_t rows, std::int64_t heads, std::int64_t batch,
               std::int32_t box_rows) {
  const auto bytes = [cols](std::int64_t extent, std::int64_t stride) {
    return static_cast<std::uint64_t>(2 * (extent > 1 ? stride : cols));
  };
  RowMap map;
  map.base = view.data;
  map.dtype = view.dtype;
  const std::int64_t dims[] = {cols, rows, heads, batch};
  for (int i = 0; i < 4; ++i) map.dim[i] = static_cast<std::uint64_t>(std::max<std::int64_t>(dims[i], 1));
  map.stride_bytes[0] = bytes(rows, view.stride_s);
  map.stride_bytes[1] = bytes(heads, view.stride_h);
  map.stride_bytes[2] = bytes(batch, view.stride_b);
  map.box_rows = static_cast<std::uint32_t>(box_rows);
  return map;
}

// A bias; what is broadcast has extent 1.
RowMap bias_map(const ScoreView& view, const Problem& p, std::int32_t box_rows) {
  const auto extent = [](std::int64_t n, std::int64_t stride) { return stride == 0 ? 1 : n; };
  const RowView rows{.data = const_cast<void*>(view.data),
                     .dtype = view.dtype,
                     .stride_b = view.stride_b,
                     .stride_s = view.stride_q,
                     .stride_h = view.stride_h,
                     .stride_d = 1};
  return row_map(rows, view.keys, extent(view.rows, view.stride_q),
                 extent(p.num_heads_q / view.head_group, view.stride_h), extent(p.batch, view.stride_b),
                 view.stride_q == 0 ? 1 : box_rows);
}

// Rows of a group of heads: neighbouring rows are heads of a query.
RowMap grouped(RowMap map, std::int64_t group) {
  std::swap(map.dim[1], map.dim[2]);
  std::swap(map.stride_bytes[0], map.stride_bytes[1]);
  map.box_queries = map.box_rows / static_cast<std::uint32_t>(group);
  map.box_rows = static_cast<std::uint32_t>(group);
  return map;
}

}  // namespace

ForwardMaps forward_maps(const Plan& plan, const ForwardOperands& operands) {
  const Problem& p = plan.problem;
  const FwdSpec& spec = plan.choice.spec;
  const std::int64_t q_batch = p.q_layout == QLayout::varlen ? 1 : p.batch;
  const bool paged = p.kv_layout == KvLayout::paged;
  const std::int64_t kv_batch = paged ? operands.num_pages : (p.kv_layout == KvLayout::varlen ? 1 : p.batch);
  const std::int64_t kv_rows = paged ? p.page_size : operands.rows_kv;
  const std::int32_t kv_box = paged ? fwd_wgmma_page_box(p, spec.tile_n) : spec.tile_n;
  std::optional<RowMap> bias;
  if (p.bias != HeadMode::absent && !spec.copies_bias()) bias = bias_map(operands.bias, p, spec.tile_m);
  const auto query_map = [&](const RowView& view, std::int64_t cols, std::int32_t box_rows) {
    const RowMap map = row_map(view, cols, operands.rows_q, p.num_heads_q, q_batch, box_rows);
    return spec.rows == Rows::group ? grouped(map, heads_per_group(p)) : map;
  };
  return {query_map(operands.q, p.head_dim_qk, spec.tile_m),
          row_map(operands.k, p.head_dim_qk, kv_rows, p.num_heads_kv, kv_batch, kv_box),
          row_map(operands.v, p.head_dim_v, kv_rows, p.num_heads_kv, kv_batch, kv_box),
          query_map(operands.out, p.head_dim_v, kOutRows), bias};
}

}  // namespace fovea

// From strides and extents to byte ranges. Strides may be zero or negative. What lies between the rows of a strided
// view counts as part of it, and of a mask or bias the rest of the 16 bytes that it begins in: aligned words of them
// are read whole (ViewReads::words), which no allocation can tell from reading the element.
#include "backend/model/regions.h"

#include <initializer_list>
#include <utility>

namespace fovea::model {
namespace {

struct Dimension {
  std::int64_t extent;
  std::int64_t stride;  // elements
};

class Regions {
 public:
  void add(const char* name, const void* data, std::size_t element, bool writable,
           std::initializer_list<Dimension> dimensions) {
    if (data == nullptr) return;
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (const Dimension& d : dimensions) {
      if (d.extent == 0) return;
      const std::int64_t span = (d.extent - 1) * d.stride;
      (span < 0 ? low : high) += span;
    }
    const auto bytes = static_cast<std::int64_t>(element);
    all_.push_back({.base = static_cast<const char*>(data) + low * bytes,
                    .bytes = static_cast<u64>((high - low + 1) * bytes),
                    .writable = writable,
                    .name = name});
  }

  void add(const char* name, const RowView& view, bool writable, std::int64_t batch, std::int64_t rows,
           std::int64_t heads, std::int64_t head_dim) {
    add(name, view.data, fovea_dtype_size(view.dtype), writable,
        {{batch, view.stride_b}, {rows, view.stride_s}, {heads, view.stride_h}, {head_dim, view.stride_d}});
  }

  void add(const char* name, const IndexView& view, std::int64_t count) {
    add(name, view.data, sizeof(std::int32_t), false, {{count, view.stride}});
  }

  void add(const char* name, const ScoreView& view, const Problem& p) {
    const std::int64_t heads = p.num_heads_q / view.head_group;
    const std::size_t before = all_.size();
    add(name, view.data, view.dtype == FOVEA_BOOL ? 1 : fovea_dtype_size(view.dtype), false,
        {{p.batch, view.stride_b}, {heads, view.stride_h}, {view.rows, view.stride_q}, {view.keys, view.stride_k}});
    if (all_.size() == before || view.reads != ViewReads::words) return;
    Region& region = all_.back();
    const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(region.base) % 16;
    region.base = static_cast<const char*>(region.base) - behind;
    region.bytes += behind;
  }

  std::vector<Region> take() { return std::move(all_); }

 private:
  std::vector<Region> all_;
};

}  // namespace

std::vector<Region> forward_regions(const Problem& p, const ForwardOperands& o) {
  Regions regions;
  const bool packed_q = p.q_layout == QLayout::varlen;
  const std::int64_t batch_q = packed_q ? 1 : p.batch;
  const std::int64_t batch_kv =
      p.kv_layout == KvLayout::dense ? p.batch : (p.kv_layout == KvLayout::paged ? o.num_pages : 1);
  const std::int64_t rows_kv = p.kv_layout == KvLayout::paged ? p.page_size : o.rows_kv;
  regions.add("q", o.q, false, batch_q, o.rows_q, p.num_heads_q, p.head_dim_qk);
  regions.add("k", o.k, false, batch_kv, rows_kv, p.num_heads_kv, p.head_dim_qk);
  regions.add("v", o.v, false, batch_kv, rows_kv, p.num_heads_kv, p.head_dim_v);
  regions.add("out", o.out, true, batch_q, o.rows_q, p.num_heads_q, p.head_dim_v);
  regions.add("lse", o.lse, sizeof(float), true, {{batch_q, o.lse_b}, {p.num_heads_q, o.lse_h}, {o.rows_q, o.lse_s}});
  regions.add("mask", o.mask, p);
  regions.add("bias", o.bias, p);
  regions.add("sink", o.sink, sizeof(float), false, {{p.num_heads_q, o.sink_stride}});
  regions.add("seqused_q", o.seqused_q, p.batch);
  regions.add("seqused_kv", o.seqused_kv, p.batch);
  regions.add("cu_seqlens_q", o.cu_seqlens_q, p.batch + 1);
  regions.add("cu_seqlens_kv", o.cu_seqlens_kv, p.batch + 1);
  regions.add("page_table", o.page_table, sizeof(std::int32_t), false, {{p.batch, o.page_b}, {o.max_pages, o.page_p}});
  return regions.take();
}

std::vector<Region> merge_regions(const MergeOperands& o) {
  Regions regions;
  const auto add = [&](const PartView& part, bool writable) {
    if (writable || part.out.data != o.result.out.data) {
      regions.add("out", part.out, writable, o.batch, o.rows, o.heads, o.head_dim);
    }
    if (writable || part.lse != o.result.lse) {
      regions.add("lse", part.lse, sizeof(float), writable,
                  {{o.batch, part.lse_b}, {o.heads, part.lse_h}, {o.rows, part.lse_s}});
    }
  };
  add(o.result, true);
  for (const PartView& part : o.parts) add(part, false);
  regions.add("sink", o.sink, sizeof(float), false, {{o.heads, o.sink_stride}});
  return regions.take();
}

}  // namespace fovea::model

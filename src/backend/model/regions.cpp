// From strides and extents to byte ranges. Strides may be zero or negative. What lies between the rows of a strided
// view counts as part of it.
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

  void add(const char* name, const RowView& view, bool writable, const Problem& p, std::int64_t rows,
           std::int64_t heads, std::int64_t head_dim) {
    add(name, view.data, fovea_dtype_size(view.dtype), writable,
        {{p.batch, view.stride_b}, {rows, view.stride_s}, {heads, view.stride_h}, {head_dim, view.stride_d}});
  }

  std::vector<Region> take() { return std::move(all_); }

 private:
  std::vector<Region> all_;
};

}  // namespace

std::vector<Region> forward_regions(const Problem& p, const ForwardOperands& o) {
  Regions regions;
  regions.add("q", o.q, false, p, p.seqlen_q, p.num_heads_q, p.head_dim_qk);
  regions.add("k", o.k, false, p, p.seqlen_kv, p.num_heads_kv, p.head_dim_qk);
  regions.add("v", o.v, false, p, p.seqlen_kv, p.num_heads_kv, p.head_dim_v);
  regions.add("out", o.out, true, p, p.seqlen_q, p.num_heads_q, p.head_dim_v);
  regions.add("lse", o.lse, sizeof(float), true, {{p.batch, o.lse_b}, {p.num_heads_q, o.lse_h}, {p.seqlen_q, o.lse_s}});
  regions.add("sink", o.sink, sizeof(float), false, {{p.num_heads_q, o.sink_stride}});
  regions.add("seqused_q", o.seqused_q.data, sizeof(std::int32_t), false, {{p.batch, o.seqused_q.stride}});
  regions.add("seqused_kv", o.seqused_kv.data, sizeof(std::int32_t), false, {{p.batch, o.seqused_kv.stride}});
  return regions.take();
}

}  // namespace fovea::model

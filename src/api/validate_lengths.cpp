// Contents of the int32 operands: offsets, used lengths and page indices. Entries that no key needs are never read.
#include <algorithm>

#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {
namespace {

IndexView index_view(const fovea_tensor& t) {
  if (!present(t)) return {};
  return {static_cast<const std::int32_t*>(t.data), t.strides[0]};
}

// Offsets start at >= 0, never fall, and end inside the buffer of `rows` rows.
Check check_offsets(const char* name, const IndexView& cu, std::int64_t batch, std::int64_t rows) {
  std::int64_t previous = 0;
  for (std::int64_t b = 0; b <= batch; ++b) {
    const std::int64_t value = cu.at(b);
    if (value >= previous && value <= rows) {
      previous = value;
      continue;
    }
    return Error{.status = FOVEA_CU_SEQLENS,
                 .asked = cat(name, "[", b, "]=", value, b > 0 ? cat(" after ", previous) : std::string()),
                 .allowed = cat("values from ", previous, " to ", rows),
                 .why = "offsets start at 0 or more, never fall, and stay inside the packed rows",
                 .hint = cat(name, " is the running sum of the sequence lengths, with batch + 1 entries")};
  }
  return {};
}

Check check_used(const char* name, const IndexView& used, std::int64_t b, std::int64_t storage) {
  const std::int64_t value = used.at(b);
  if (value >= 0 && value <= storage) return {};
  return Error{.status = FOVEA_SEQUSED,
               .asked = cat(name, "[", b, "]=", value),
               .allowed = cat("0 to ", storage, ", the rows stored for that sequence"),
               .why = "a used length counts rows of its own storage",
               .hint = cat("correct ", name, ", or enlarge the storage")};
}

Check check_pages(const ForwardOperands& o, std::int64_t b, std::int64_t used, std::int64_t page_size,
                  std::int64_t pages) {
  const std::int64_t needed = used / page_size + (used % page_size != 0 ? 1 : 0);
  for (std::int64_t i = 0; i < needed; ++i) {
    const std::int64_t page = o.page_table[b * o.page_b + i * o.page_p];
    if (page >= 0 && page < pages) continue;
    return Error{.status = FOVEA_PAGE_TABLE,
                 .asked = cat("page_table[", b, ", ", i, "]=", page),
                 .allowed = cat("0 to ", pages - 1, ", the pages of the cache"),
                 .why = cat("sequence ", b, " uses ", used, " keys and needs ", needed, " pages of ", page_size),
                 .hint = "write valid page indices before the call; entries past the needed ones are never read"};
  }
  return {};
}

// Lengths, offsets and pages in device memory cannot be read here: kernels take those outside the storage as its
// nearest bound, and the problem counts with the storage.
bool on_host(const fovea_forward_args& a) { return a.q.device_type == FOVEA_DEVICE_CPU; }

Check check_query_lengths(const fovea_forward_args& a, ForwardCall& call) {
  Problem& p = call.problem;
  const ForwardOperands& o = call.operands;
  const bool varlen = p.q_layout == QLayout::varlen;
  if (varlen && !on_host(a)) {
    p.total_q = p.seqlen_q = a.q.shape[0];
  } else if (varlen) {
    if (Check bad = check_offsets("cu_seqlens_q", o.cu_seqlens_q, p.batch, a.q.shape[0])) return bad;
    p.total_q = o.cu_seqlens_q.at(p.batch) - o.cu_seqlens_q.at(0);
  } else if (__builtin_mul_overflow(p.batch, p.seqlen_q, &p.total_q)) {
    return Error{.status = FOVEA_SHAPE,
                 .asked = cat("q of shape ", shape_text(a.q)),
                 .allowed = "batch * seqlen_q within 63 bits",
                 .why = "query rows are counted in 64-bit integers",
                 .hint = "correct the shape of q"};
  }
  if (!on_host(a) || (!varlen && o.seqused_q.data == nullptr)) {
    call.longest_used_q = p.batch > 0 ? p.seqlen_q : 0;
    return {};
  }
  for (std::int64_t b = 0; b < p.batch; ++b) {
    const std::int64_t rows = varlen ? o.cu_seqlens_q.at(b + 1) - o.cu_seqlens_q.at(b) : p.seqlen_q;
    std::int64_t used = rows;
    if (o.seqused_q.data != nullptr) {
      if (Check bad = check_used("seqused_q", o.seqused_q, b, rows)) return bad;
      used = o.seqused_q.at(b);
    }
    if (varlen) p.seqlen_q = std::max(p.seqlen_q, rows);
    call.longest_used_q = std::max(call.longest_used_q, used);
  }
  return {};
}

// Rows of key storage: of a batch entry, varlen: of all sequences together.
std::int64_t key_storage(const fovea_forward_args& a, const ForwardCall& call) {
  if (call.problem.kv_layout == KvLayout::varlen) return a.k.shape[0];
  if (call.problem.kv_layout == KvLayout::dense) return a.k.shape[1];
  std::int64_t rows = 0;
  const bool overflow = __builtin_mul_overflow(a.page_table.shape[1], call.problem.page_size, &rows);
  return overflow || rows > kMaxExtent ? kMaxExtent : rows;
}

Check check_key_lengths(const fovea_forward_args& a, ForwardCall& call) {
  Problem& p = call.problem;
  const ForwardOperands& o = call.operands;
  if (!on_host(a)) {
    p.seqlen_kv = key_storage(a, call);
    return {};
  }
  if (p.kv_layout == KvLayout::varlen) {
    if (Check bad = check_offsets("cu_seqlens_kv", o.cu_seqlens_kv, p.batch, a.k.shape[0])) return bad;
  } else if (p.kv_layout == KvLayout::dense && o.seqused_kv.data == nullptr) {
    p.seqlen_kv = a.k.shape[1];
    return {};
  }
  for (std::int64_t b = 0; b < p.batch; ++b) {
    const bool varlen = p.kv_layout == KvLayout::varlen;
    std::int64_t used = varlen ? o.cu_seqlens_kv.at(b + 1) - o.cu_seqlens_kv.at(b) : key_storage(a, call);
    if (o.seqused_kv.data != nullptr) {
      if (Check bad = check_used("seqused_kv", o.seqused_kv, b, used)) return bad;
      used = o.seqused_kv.at(b);
    }
    if (p.kv_layout == KvLayout::paged) {
      if (Check bad = check_pages(o, b, used, p.page_size, a.k.shape[0])) return bad;
    }
    p.seqlen_kv = std::max(p.seqlen_kv, used);
  }
  return {};
}

}  // namespace

Check check_lengths(const fovea_forward_args& a, ForwardCall& call) {
  ForwardOperands& o = call.operands;
  o.cu_seqlens_q = index_view(a.cu_seqlens_q);
  o.cu_seqlens_kv = index_view(a.cu_seqlens_kv);
  o.seqused_q = index_view(a.seqused_q);
  o.seqused_kv = index_view(a.seqused_kv);
  if (present(a.page_table)) {
    o.page_table = static_cast<const std::int32_t*>(a.page_table.data);
    o.page_b = a.page_table.strides[0];
    o.page_p = a.page_table.strides[1];
    o.num_pages = a.k.shape[0];
    o.max_pages = a.page_table.shape[1];
  }
  o.rows_q = call.problem.q_layout == QLayout::varlen ? a.q.shape[0] : a.q.shape[1];
  o.rows_kv = key_storage(a, call);
  if (Check bad = check_query_lengths(a, call)) return bad;
  return check_key_lengths(a, call);
}

}  // namespace fovea

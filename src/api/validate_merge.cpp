// A result may be the very view of a part (merging in place); any other overlap is refused.
#include "api/validate_merge.h"

#include <algorithm>
#include <cstddef>

#include "api/validate_steps.h"
#include "api/versioned.h"
#include "core/text.h"
#include "device/spec/merge_params.h"

namespace fovea {
namespace {

constexpr std::array<std::uint64_t, 2> kMergeArgsSizes{offsetof(fovea_merge_args, backend), sizeof(fovea_merge_args)};

Check check_count(const fovea_merge_args& a) {
  if (a.reserved != 0 || a.reserved2 != 0) {
    return Error{.status = FOVEA_UNKNOWN_FLAG,
                 .asked = cat("reserved=", a.reserved, ", reserved2=", a.reserved2),
                 .allowed = "0 in both",
                 .why = "a later version may give the field a meaning",
                 .hint = "zero-initialise fovea_merge_args"};
  }
  if (a.count < 1) {
    return Error{.status = FOVEA_MERGE_COUNT,
                 .asked = cat("count=", a.count),
                 .allowed = "at least 1 part",
                 .why = "the union of no key sets has no shape to write",
                 .hint = "for an empty result fill out with 0 and lse with -inf"};
  }
  if (a.outs == nullptr) return null_pointer("outs");
  if (a.lses == nullptr) return null_pointer("lses");
  return {};
}

// The tensors of a merge, in one list: result first, then sink, then each part's out and lse.
std::vector<Arg> tensors_of(const fovea_merge_args& a) {
  std::vector<Arg> args{{"out", &a.out}, {"lse", &a.lse}, {"sink", &a.sink}};
  for (std::int32_t i = 0; i < a.count; ++i) {
    args.push_back({"outs[i]", &a.outs[i]});
    args.push_back({"lses[i]", &a.lses[i]});
  }
  return args;
}

Check check_views(const fovea_merge_args& a, const std::vector<Arg>& args) {
  ByteRange bytes;
  for (const Arg& arg : args) {
    const bool optional = arg.tensor == &a.lse || arg.tensor == &a.sink;
    if (Check bad = check_presence(arg, !optional)) return bad;
    if (!present(*arg.tensor)) continue;
    if (Check bad = check_tensor(arg, bytes)) return bad;
  }
  for (const Arg& arg : args) {
    if (!present(*arg.tensor)) continue;
    if (Check bad = check_same_device(args.front(), arg)) return bad;
  }
  return {};
}

fovea_backend backend_of(const fovea_merge_args& a) {
  if (a.backend != FOVEA_BACKEND_AUTO) return static_cast<fovea_backend>(a.backend);
  return a.out.device_type == FOVEA_DEVICE_CPU ? FOVEA_BACKEND_CPU : FOVEA_BACKEND_CUDA;
}

// The tensors are on one device.
Check check_backend(const fovea_merge_args& a) {
  if (Check bad = check_backend_number(a.backend)) return bad;
  const fovea_backend backend = backend_of(a);
  const bool on_cpu = a.out.device_type == FOVEA_DEVICE_CPU;
  if (on_cpu == (backend == FOVEA_BACKEND_CUDA)) {
    return Error{.status = FOVEA_DEVICE,
                 .asked = cat(on_cpu ? "tensors in CPU memory" : "CUDA tensors", ", backend=", a.backend),
                 .allowed = "CUDA tensors for FOVEA_BACKEND_CUDA, tensors in CPU memory for the others",
                 .why = "tensors are never copied between devices behind the caller's back",
                 .hint = "copy the tensors, or ask for FOVEA_BACKEND_AUTO"};
  }
  if (backend == FOVEA_BACKEND_CPU || a.count <= kMaxMergeParts) return {};
  return Error{.status = FOVEA_MERGE_COUNT,
               .asked = cat("count=", a.count, " on a GPU"),
               .allowed = cat("at most ", kMaxMergeParts, " parts"),
               .why = "the GPU kernel weighs one part per lane of a warp",
               .hint = "merge groups of parts in fp32, then their results"};
}

// "outs[3] of shape ..." instead of "outs[i]": adds the index of part i to a refusal.
Check at_part(Check bad, std::int32_t i) {
  if (bad) bad->asked += cat(" (i=", i, ")");
  return bad;
}

Check check_out_shape(Arg arg, const fovea_tensor& out) {
  if (Check bad = check_float_dtype(arg)) return bad;
  if (out.rank == 3) {
    return check_shape(arg, {out.shape[0], out.shape[1], out.shape[2]}, "[total_q, num_heads_q, head_dim_v] as out",
                       FOVEA_SHAPE);
  }
  return check_shape(arg, {out.shape[0], out.shape[1], out.shape[2], out.shape[3]},
                     "[batch, seqlen_q, num_heads_q, head_dim_v] as out", FOVEA_SHAPE);
}

Check check_lse_shape(Arg arg, const fovea_tensor& out) {
  if (Check bad = check_exact_dtype(arg, FOVEA_F32)) return bad;
  if (out.rank == 3) return check_shape(arg, {out.shape[1], out.shape[0]}, "[num_heads_q, total_q]", FOVEA_SHAPE);
  return check_shape(arg, {out.shape[0], out.shape[2], out.shape[1]}, "[batch, num_heads_q, seqlen_q]", FOVEA_SHAPE);
}

Check check_result(const fovea_merge_args& a) {
  const Arg out{"out", &a.out};
  if (Check bad = check_float_dtype(out)) return bad;
  if (a.out.rank != 3) {
    if (Check bad =
            check_rank(out, 4, "[batch, seqlen_q, num_heads_q, head_dim_v] or [total_q, num_heads_q, head_dim_v]")) {
      return bad;
    }
  }
  if (a.out.shape[a.out.rank - 1] < 1) {
    return Error{.status = FOVEA_HEAD_DIM,
                 .asked = cat("out of shape ", shape_text(a.out)),
                 .allowed = "a head dim of at least 1",
                 .why = "the last dimension of out is head_dim_v",
                 .hint = "check the order of dimensions"};
  }
  if (present(a.lse)) {
    if (Check bad = check_lse_shape({"lse", &a.lse}, a.out)) return bad;
  }
  if (!present(a.sink)) return {};
  const Arg sink{"sink", &a.sink};
  if (Check bad = check_exact_dtype(sink, FOVEA_F32)) return bad;
  return check_shape(sink, {a.out.shape[a.out.rank - 2]}, "[num_heads_q]", FOVEA_SINK_SHAPE);
}

Check check_parts(const fovea_merge_args& a) {
  for (std::int32_t i = 0; i < a.count; ++i) {
    if (Check bad = check_out_shape({"outs[i]", &a.outs[i]}, a.out)) return at_part(std::move(bad), i);
    if (Check bad = check_lse_shape({"lses[i]", &a.lses[i]}, a.out)) return at_part(std::move(bad), i);
  }
  return {};
}

bool same_view(const fovea_tensor& x, const fovea_tensor& y) {
  return x.data == y.data && x.dtype == y.dtype && x.rank == y.rank && std::equal(x.shape, x.shape + x.rank, y.shape) &&
         std::equal(x.strides, x.strides + x.rank, y.strides);
}

Check check_overlaps(const fovea_merge_args& a, const std::vector<Arg>& args) {
  for (const Arg& output : {Arg{"out", &a.out}, Arg{"lse", &a.lse}}) {
    if (!present(*output.tensor) || has_no_element(*output.tensor)) continue;
    if (Check bad = check_self_overlap(output)) return bad;
    const ByteRange range = byte_range(*output.tensor).value_or(ByteRange{});
    for (const Arg& other : args) {
      if (other.tensor == output.tensor || !present(*other.tensor)) continue;
      const bool part = other.tensor != &a.out && other.tensor != &a.lse && other.tensor != &a.sink;
      if (part && same_view(*output.tensor, *other.tensor)) continue;
      if (range.intersects(byte_range(*other.tensor).value_or(ByteRange{}))) return overlap_error(output, other);
    }
  }
  return {};
}

PartView part_view(const fovea_tensor& out, const fovea_tensor& lse) {
  PartView view;
  const std::int32_t last = out.rank - 1;
  view.out = {
      out.data,         dtype_of(out), out.rank == 4 ? out.strides[0] : 0, out.strides[last - 2], out.strides[last - 1],
      out.strides[last]};
  if (!present(lse)) return view;
  view.lse = static_cast<float*>(lse.data);
  view.lse_b = lse.rank == 3 ? lse.strides[0] : 0;
  view.lse_h = lse.strides[lse.rank - 2];
  view.lse_s = lse.strides[lse.rank - 1];
  return view;
}

MergeCall make_call(const fovea_merge_args& a) {
  MergeCall call;
  for (std::int32_t i = 0; i < a.count; ++i) call.parts.push_back(part_view(a.outs[i], a.lses[i]));
  call.operands.result = part_view(a.out, a.lse);
  if (present(a.sink)) {
    call.operands.sink = static_cast<const float*>(a.sink.data);
    call.operands.sink_stride = a.sink.strides[0];
  }
  const std::int32_t last = a.out.rank - 1;
  call.operands.batch = a.out.rank == 4 ? a.out.shape[0] : 1;
  call.operands.rows = a.out.shape[last - 2];
  call.operands.heads = a.out.shape[last - 1];
  call.operands.head_dim = a.out.shape[last];
  call.backend = backend_of(a);
  call.device_id = a.out.device_id;
  call.stream = a.stream;
  return call;
}

}  // namespace

Result<MergeCall> validate_merge(const fovea_merge_args* args) {
  if (args == nullptr) return null_pointer("fovea_merge_args");
  const auto read = read_versioned("fovea_merge_args", args, kMergeArgsSizes);
  if (!read.ok()) return read.error();
  const fovea_merge_args& a = read.value();
  if (Check bad = check_count(a)) return *std::move(bad);
  const std::vector<Arg> tensors = tensors_of(a);
  if (Check bad = check_views(a, tensors)) return *std::move(bad);
  if (Check bad = check_backend(a)) return *std::move(bad);
  if (Check bad = check_result(a)) return *std::move(bad);
  if (Check bad = check_parts(a)) return *std::move(bad);
  if (Check bad = check_overlaps(a, tensors)) return *std::move(bad);
  return make_call(a);
}

}  // namespace fovea

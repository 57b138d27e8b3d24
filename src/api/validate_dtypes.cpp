// Which dtype each operand may have.
#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {
namespace {

[[gnu::cold]] Error dtypes_differ(Arg q, Arg other) {
  return {.status = FOVEA_DTYPE_MISMATCH,
          .asked = cat("q in ", fovea_dtype_name(dtype_of(*q.tensor)), ", ", other.name, " in ",
                       fovea_dtype_name(dtype_of(*other.tensor))),
          .allowed = "q, k and v in one dtype",
          .why = "no kernel multiplies mixed dtypes",
          .hint = cat("convert ", other.name, " to ", fovea_dtype_name(dtype_of(*q.tensor)))};
}

Check check_same_dtype(Arg q, Arg other) {
  if (q.tensor->dtype == other.tensor->dtype) return {};
  return dtypes_differ(q, other);
}

}  // namespace

Error not_a_served_float(Arg arg) {
  return {.status = FOVEA_DTYPE,
          .asked = cat(arg.name, " in ", fovea_dtype_name(dtype_of(*arg.tensor))),
          .allowed = "f32, bf16 or f16",
          .why = "no kernel reads or writes that dtype here",
          .hint = cat("convert ", arg.name, " to f32, bf16 or f16")};
}

Error not_the_dtype(Arg arg, fovea_dtype dtype) {
  return {.status = FOVEA_DTYPE,
          .asked = cat(arg.name, " in ", fovea_dtype_name(dtype_of(*arg.tensor))),
          .allowed = fovea_dtype_name(dtype),
          .why = cat(arg.name, " has one fixed dtype in every call"),
          .hint = cat("convert ", arg.name, " to ", fovea_dtype_name(dtype))};
}

Check check_dtypes(const fovea_forward_args& a, ForwardCall& call) {
  const Arg q{"q", &a.q};
  if (Check bad = check_float_dtype(q)) return bad;
  for (const Arg& arg : {Arg{"k", &a.k}, Arg{"v", &a.v}}) {
    if (Check bad = check_float_dtype(arg)) return bad;
    if (Check bad = check_same_dtype(q, arg)) return bad;
  }
  if (Check bad = check_float_dtype({"out", &a.out})) return bad;
  if (present(a.bias)) {
    if (Check bad = check_float_dtype({"bias", &a.bias})) return bad;
    call.problem.bias_dtype = dtype_of(a.bias);
  }
  if (Check bad = check_exact_dtype({"mask", &a.mask}, FOVEA_BOOL)) return bad;
  for (const Arg& arg : {Arg{"lse", &a.lse}, Arg{"sink", &a.sink}}) {
    if (Check bad = check_exact_dtype(arg, FOVEA_F32)) return bad;
  }
  for (const Arg& arg :
       {Arg{"cu_seqlens_q", &a.cu_seqlens_q}, Arg{"cu_seqlens_kv", &a.cu_seqlens_kv}, Arg{"seqused_q", &a.seqused_q},
        Arg{"seqused_kv", &a.seqused_kv}, Arg{"page_table", &a.page_table}}) {
    if (Check bad = check_exact_dtype(arg, FOVEA_I32)) return bad;
  }
  call.problem.dtype = dtype_of(a.q);
  call.problem.out_dtype = dtype_of(a.out);
  return {};
}

}  // namespace fovea

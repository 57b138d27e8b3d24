// Which dtype each operand may have.
#include "api/validate_steps.h"
#include "core/text.h"

namespace fovea {
namespace {

bool is_served_float(fovea_dtype dtype) { return dtype == FOVEA_F32 || dtype == FOVEA_BF16 || dtype == FOVEA_F16; }

Check check_same_dtype(const Arg& q, const Arg& other) {
  if (q.tensor->dtype == other.tensor->dtype) return {};
  return Error{.status = FOVEA_DTYPE_MISMATCH,
               .asked = cat("q in ", fovea_dtype_name(dtype_of(*q.tensor)), ", ", other.name, " in ",
                            fovea_dtype_name(dtype_of(*other.tensor))),
               .allowed = "q, k and v in one dtype",
               .why = "no kernel multiplies mixed dtypes",
               .hint = cat("convert ", other.name, " to ", fovea_dtype_name(dtype_of(*q.tensor)))};
}

}  // namespace

Check check_float_dtype(const Arg& arg) {
  if (is_served_float(dtype_of(*arg.tensor))) return {};
  return Error{.status = FOVEA_DTYPE,
               .asked = cat(arg.name, " in ", fovea_dtype_name(dtype_of(*arg.tensor))),
               .allowed = "f32, bf16 or f16",
               .why = "no kernel reads or writes that dtype here",
               .hint = cat("convert ", arg.name, " to f32, bf16 or f16")};
}

Check check_exact_dtype(const Arg& arg, fovea_dtype dtype) {
  if (!present(*arg.tensor) || arg.tensor->dtype == static_cast<std::int32_t>(dtype)) return {};
  return Error{.status = FOVEA_DTYPE,
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

// Views are made without copies; only int64 offsets and lengths, which NumPy makes by default, become new int32
// tensors.
#include "tools/fovea/call.h"

#include <cstring>
#include <utility>

#include "tools/fovea/features.h"

namespace fovea::cli {
namespace {

Failure usage(std::string code, std::string found, std::string allowed, std::string why = {}, std::string hint = {}) {
  return make_failure(ExitCode::usage, std::move(code), std::move(found), std::move(allowed), std::move(why),
                      std::move(hint));
}

std::optional<fovea_dtype> dtype(ElementType type, OperandKind kind) {
  switch (type) {
    case ElementType::f64:
      return FOVEA_F64;
    case ElementType::f32:
      return FOVEA_F32;
    case ElementType::f16:
      return FOVEA_F16;
    case ElementType::bf16:
      return FOVEA_BF16;
    case ElementType::i32:
      return FOVEA_I32;
    case ElementType::boolean:
      return FOVEA_BOOL;
    case ElementType::u8:
      return kind == OperandKind::score ? std::optional(FOVEA_BOOL) : std::nullopt;
    case ElementType::i64:
      return std::nullopt;
  }
  return std::nullopt;
}

Result<fovea_tensor> plain_view(const Tensor& tensor, OperandKind kind) {
  const std::optional<fovea_dtype> type = dtype(tensor.type, kind);
  if (!type || tensor.rank() < 1 || tensor.rank() > FOVEA_MAX_RANK) {
    return usage("operand", std::string(name(tensor.type)) + " " + shape_text(tensor.shape),
                 "f32, bf16, f16, f64, i32 or bool of rank 1 to 4");
  }
  fovea_tensor view{};
  view.data = tensor.data;
  view.dtype = *type;
  view.rank = static_cast<std::int32_t>(tensor.rank());
  std::copy(tensor.shape.begin(), tensor.shape.end(), view.shape);
  std::copy(tensor.strides.begin(), tensor.strides.end(), view.strides);
  return view;
}

void insert_axis(fovea_tensor& view) {
  for (int axis = view.rank; axis > 0; --axis) {
    view.shape[axis] = view.shape[axis - 1];
    view.strides[axis] = view.strides[axis - 1];
  }
  view.shape[0] = 1;
  view.strides[0] = 0;
  ++view.rank;
}

// int64 -> int32, element by element; values that do not fit are refused.
Result<Tensor> narrowed(const Tensor& wide, std::string_view operand) {
  Tensor narrow = make_tensor(ElementType::i32, wide.shape);
  if (narrow.data == nullptr) return usage("out_of_memory", shape_text(wide.shape), "what fits this machine's memory");
  narrow.strides = wide.strides;  // dense in either order: the same storage order serves both
  const std::size_t count = wide.storage->bytes().size() / sizeof(std::int64_t);
  for (std::size_t n = 0; n < count; ++n) {
    std::int64_t value = 0;
    std::memcpy(&value, wide.data + n * sizeof(value), sizeof(value));
    if (!std::in_range<std::int32_t>(value)) {
      return usage("integer_range", std::string(operand) + " holds " + std::to_string(value), "32-bit integers");
    }
    const auto small = static_cast<std::int32_t>(value);
    std::memcpy(narrow.data + n * sizeof(small), &small, sizeof(small));
  }
  return narrow;
}

Result<fovea_tensor> operand_view(const OperandInfo& operand, Tensor& tensor, FileLayout layout, bool packed) {
  if (operand.kind == OperandKind::rows) return rows_view(tensor, layout, packed);
  if (operand.kind == OperandKind::index && tensor.type == ElementType::i64) {
    Result<Tensor> narrow = narrowed(tensor, operand.name);
    if (!narrow.ok()) return narrow.failure();
    tensor = std::move(narrow.value());
  }
  Result<fovea_tensor> view = plain_view(tensor, operand.kind);
  if (!view.ok() || operand.kind != OperandKind::score) return view;
  while (view.value().rank < FOVEA_MAX_RANK) insert_axis(view.value());  // NumPy's rule: missing axes lead
  return view;
}

Outcome make_outputs(Call& call, FileLayout layout, const std::string& out_dtype) {
  const Tensor& q = *call.inputs[kQ];
  const fovea_dtype type = out_dtype.empty() ? static_cast<fovea_dtype>(call.args.q.dtype) : *dtype_of(out_dtype);
  std::vector<std::int64_t> shape = q.shape;
  shape.back() = call.args.v.rank > 0 ? call.args.v.shape[call.args.v.rank - 1] : 0;
  call.out = make_tensor(element_type_of(type), std::move(shape));
  const bool packed = call.inputs[kCuSeqlensQ].has_value();
  const fovea_tensor& qv = call.args.q;
  std::vector<std::int64_t> lse_shape = {qv.shape[qv.rank - 2], qv.shape[qv.rank - 3]};
  if (q.rank() == 4) lse_shape.insert(lse_shape.begin(), qv.shape[0]);
  call.lse = make_tensor(ElementType::f32, std::move(lse_shape));
  if (call.out.data == nullptr || call.lse.data == nullptr) {
    return Failure{.exit = ExitCode::internal,
                   .code = "out_of_memory",
                   .found = "outputs " + shape_text(call.out.shape),
                   .allowed = "what fits this machine's memory",
                   .why = {},
                   .hint = {},
                   .file = {},
                   .offset = {}};
  }
  const Result<fovea_tensor> out = rows_view(call.out, layout, packed);
  if (!out.ok()) return out.failure();
  call.args.out = out.value();
  Result<fovea_tensor> lse = plain_view(call.lse, OperandKind::head);
  if (!lse.ok()) return lse.failure();
  if (qv.rank == 4 && lse.value().rank == 2) insert_axis(lse.value());
  call.args.lse = lse.value();
  return std::nullopt;
}

}  // namespace

ElementType element_type_of(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
      return ElementType::f32;
    case FOVEA_BF16:
      return ElementType::bf16;
    case FOVEA_F16:
      return ElementType::f16;
    case FOVEA_F64:
      return ElementType::f64;
    case FOVEA_BOOL:
      return ElementType::boolean;
    case FOVEA_I32:
      return ElementType::i32;
  }
  return ElementType::f32;
}

Result<fovea_tensor> rows_view(const Tensor& tensor, FileLayout layout, bool packed) {
  Result<fovea_tensor> view = plain_view(tensor, OperandKind::rows);
  if (!view.ok()) return view;
  fovea_tensor& t = view.value();
  if (t.rank < 3) {
    return usage("rank", "q, k or v of shape " + shape_text(tensor.shape), "rank 3 or 4", "",
                 "see --layout for the order of the dimensions");
  }
  if (layout == FileLayout::bhsd) {
    std::swap(t.shape[t.rank - 3], t.shape[t.rank - 2]);
    std::swap(t.strides[t.rank - 3], t.strides[t.rank - 2]);
  }
  if (layout == FileLayout::shd && t.rank == 3 && !packed) insert_axis(t);
  return view;
}

Result<Call> make_call(Inputs inputs, const fovea_forward_args& args, FileLayout layout, const std::string& out_dtype) {
  Call call{.args = args, .inputs = std::move(inputs), .out = {}, .lse = {}};
  call.args.struct_size = sizeof(call.args);
  for (std::size_t n = 0; n < kOperands.size(); ++n) {
    if (!call.inputs[n]) continue;
    const bool packed = call.inputs[n == kQ ? kCuSeqlensQ : kCuSeqlensKv].has_value();
    const Result<fovea_tensor> view = operand_view(kOperands[n], *call.inputs[n], layout, packed);
    if (!view.ok()) {
      Failure failure = view.failure();
      failure.found = std::string(kOperands[n].name) + ": " + failure.found;
      return failure;
    }
    call.args.*kOperands[n].member = view.value();
  }
  if (Outcome bad = make_outputs(call, layout, out_dtype)) return *bad;
  return call;
}

}  // namespace fovea::cli

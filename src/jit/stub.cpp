// The FOVEA_ macros come with the kernel's header, from isa/config.h of whichever side compiles; FOVEA_MODEL_MODULE,
// which exports kModelEntryName, from the model's.
#include "jit/stub.h"

#include <charconv>

#include "core/text.h"

namespace fovea {
namespace {

std::string hex_literal(std::uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value, 16);
  return cat("0x", std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)), "ULL");
}

}  // namespace

std::string stub(const KernelSource& s, Target::Kind kind) {
  std::string text = cat("#include \"", s.header, "\"\n");
  text += cat("constexpr ", s.spec_type, " kSpec", s.spec_expr, ";\n");
  text +=
      cat("static_assert(digest(kSpec) == ", hex_literal(s.digest), ", \"host and device disagree on the spec\");\n");
  text += cat("static_assert(plan_smem(kSpec).bytes == ", s.smem_bytes,
              ", \"host and device disagree on shared memory\");\n");
  text += cat("FOVEA_ENTRY(", s.threads, ", ", s.min_ctas, ") ", kEntryName, "(FOVEA_GRID_CONSTANT ", s.params_type,
              " p) { fovea::kernels::", s.kernel, "<kSpec>(p); }\n");
  if (kind == Target::Kind::model) text += cat("FOVEA_MODEL_MODULE(", kEntryName, ", ", s.params_type, ");\n");
  return text;
}

}  // namespace fovea

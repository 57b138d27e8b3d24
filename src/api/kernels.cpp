// fovea_kernels and fovea_kernel_dump: the standard list, and one entry of it in every form.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "api/boundary.h"
#include "api/json.h"
#include "api/standard_kernels.h"
#include "api/text_buffer.h"
#include "jit/stub.h"
#include "select/specs.h"

namespace fovea {
namespace {

std::string to_text(const Target& target, const std::vector<KernelSource>& list) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const KernelSource& s = list[i];
    out += cat(i, "  ", s.kernel, " ", name(target), "  threads=", s.threads, " min_ctas=", s.min_ctas,
               " smem_bytes=", s.smem_bytes, "  ", s.spec_expr, "\n");
  }
  return out;
}

std::string to_json(const Target& target, const std::vector<KernelSource>& list) {
  JsonWriter json;
  json.begin_object();
  json.member("target", name(target));
  json.begin_array("kernels");
  for (const KernelSource& s : list) {
    json.begin_object();
    json.member("kernel", s.kernel);
    json.member("spec", s.spec_expr);
    json.member("digest", s.digest);
    json.member("threads", s.threads);
    json.member("min_ctas", s.min_ctas);
    json.member("smem_bytes", s.smem_bytes);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

Check write_bytes(const Bytes& bytes, char* buffer, std::size_t* size) {
  const std::size_t room = buffer == nullptr ? 0 : *size;
  *size = bytes.size();
  if (room >= bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), buffer);
    return {};
  }
  return Error{.status = FOVEA_BUFFER_TOO_SMALL,
               .asked = cat(bytes.size(), " bytes in a buffer of ", room),
               .allowed = cat("a buffer of at least ", bytes.size(), " bytes"),
               .why = "a binary is never cut",
               .hint = "allocate *size bytes, as reported by this call, and call again"};
}

Error no_resources(Jit& jit) {
  const Result<nvrtc::Nvrtc> nvrtc = jit.nvrtc();
  return {.status = FOVEA_UNSUPPORTED,
          .asked = "the resources of a kernel",
          .allowed = "an NVRTC that passes on what ptxas prints",
          .why = cat("NVRTC ", nvrtc.ok() ? nvrtc.value().version() : "", " printed nothing about registers"),
          .hint = "ask for the binary and read it with cuobjdump --dump-resource-usage"};
}

Check dump(Jit& jit, const StandardKernel& k, std::int32_t form, char* buffer, std::size_t* size) {
  if (form == FOVEA_KERNEL_STUB) return write_text(stub(k.source, k.target.kind), buffer, size);
  if (form == FOVEA_KERNEL_RESOURCES) {
    const Result<std::optional<std::string>> text = jit.resources(k.source, k.target);
    if (!text.ok()) return text.error();
    return text.value() ? write_text(*text.value(), buffer, size) : no_resources(jit);
  }
  if (form == FOVEA_KERNEL_PTX) {
    const Result<std::string> text = jit.ptx(k.source, k.target);
    if (!text.ok()) return text.error();
    return write_text(text.value(), buffer, size);
  }
  if (form == FOVEA_KERNEL_BINARY) {
    const Result<Artifact> binary = jit.get(k.source, k.target);
    if (!binary.ok()) return binary.error();
    return write_bytes(*binary.value().bytes, buffer, size);
  }
  return Error{.status = FOVEA_UNKNOWN_FLAG,
               .asked = cat("form=", form),
               .allowed = "FOVEA_KERNEL_STUB (0) to FOVEA_KERNEL_BINARY (3)",
               .why = "the number names no form of this version",
               .hint = "use a value of fovea_kernel_form"};
}

}  // namespace

Result<Target> target_of(fovea_context& context, const char* text) {
  if (text != nullptr) {
    if (std::string_view(text) == "model") return Target{.kind = Target::Kind::model, .sm = 0};
    return parse_target(text);
  }
  const GpuCaps& gpu = context.gpu.caps(0);
  if (gpu.present) return Target{.kind = Target::Kind::gpu, .sm = gpu.sm};
  return Error{.status = FOVEA_NO_BACKEND,
               .asked = "the target of this machine's GPU",
               .allowed = "a machine with a GPU, or a target by name",
               .why = gpu.reason,
               .hint = "name a target: sm_80, sm_86, sm_89, sm_90a, sm_100a or sm_120a"};
}

std::vector<KernelSource> standard_list(const fovea_context& context, const Target& target) {
  return standard_specs(target.kind == Target::Kind::model ? context.caps.model.sm : target.sm);
}

Result<StandardKernel> standard_kernel(fovea_context& context, const char* target, std::int32_t index) {
  const Result<Target> parsed = target_of(context, target);
  if (!parsed.ok()) return parsed.error();
  std::vector<KernelSource> list = standard_list(context, parsed.value());
  if (index >= 0 && static_cast<std::size_t>(index) < list.size()) {
    return StandardKernel{parsed.value(), std::move(list[static_cast<std::size_t>(index)])};
  }
  return Error{.status = FOVEA_SHAPE,
               .asked = cat("kernel ", index, " for ", name(parsed.value())),
               .allowed = cat("0 to ", list.size(), " - 1"),
               .why = "the number is a place in the standard list of the target",
               .hint = "fovea_kernels() lists them"};
}

}  // namespace fovea

extern "C" {

fovea_status fovea_kernels(fovea_context* context, const char* target, int32_t format, char* buffer, size_t* size,
                           fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    if (Check bad = check_text_request(format, size)) return bad;
    const Result<Target> parsed = target_of(*context, target);
    if (!parsed.ok()) return parsed.error();
    const std::vector<KernelSource> list = standard_list(*context, parsed.value());
    return write_text(format == FOVEA_JSON ? to_json(parsed.value(), list) : to_text(parsed.value(), list), buffer,
                      size);
  });
}

fovea_status fovea_kernel_dump(fovea_context* context, const char* target, int32_t index, int32_t form, char* buffer,
                               size_t* size, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    if (size == nullptr) return null_pointer("size");
    const Result<StandardKernel> kernel = standard_kernel(*context, target, index);
    if (!kernel.ok()) return kernel.error();
    return dump(context->gpu.jit(), kernel.value(), form, buffer, size);
  });
}

}  // extern "C"

// fovea_doctor: what this machine offers, what is in use, and what is not and why.
#include "api/boundary.h"
#include "api/context.h"
#include "api/json.h"
#include "api/text_buffer.h"

namespace fovea {
namespace {

std::string to_text(const ContextState& c, std::uint64_t workspace_bytes) {
  const CpuFeatures& cpu = c.caps.cpu;
  const GpuCaps& gpu = c.gpu.caps(0);
  std::string out = cat("fovea     ", fovea_version(), "\n", "cpu       ", cpu.model, ", ", cpu.cores,
                        " cores of this process, l1d ", cpu.l1d_bytes, " bytes, l2 ", cpu.l2_bytes, " bytes\n");
  out += cat("simd      ", cpu.simd_target, " in use; supported here: ", cpu.simd_targets, "\n");
  out += cat("amx       ", cpu.amx_bf16 ? std::string("bf16 usable") : cat("not used: ", cpu.amx_reason), "\n");
  out += cat("threads   ", c.caps.num_threads, "\n", "workspace ", workspace_bytes, " bytes\n");
  out += cat("cuda      ", gpu.present ? cat(gpu.name, ", sm_", gpu.sm) : cat("not used: ", gpu.reason), "\n");
  out += cat("calls     ", c.forward_calls.load(), " forward, ", c.merge_calls.load(), " merge\n");
  for (const KernelInfo& kernel : kernels()) out += cat("kernel    ", kernel.name, ": ", kernel.summary, "\n");
  return out;
}

void write_cpu(JsonWriter& json, const CpuFeatures& cpu) {
  json.begin_object("cpu");
  json.member("model", cpu.model);
  json.member("cores", cpu.cores);
  json.member("l1d_bytes", cpu.l1d_bytes);
  json.member("l2_bytes", cpu.l2_bytes);
  json.member("simd_target", cpu.simd_target);
  json.member("simd_targets", cpu.simd_targets);
  json.member("amx_bf16", cpu.amx_bf16);
  json.member("amx_reason", cpu.amx_reason);
  json.end_object();
}

std::string to_json(const ContextState& c, std::uint64_t workspace_bytes) {
  const GpuCaps& gpu = c.gpu.caps(0);
  JsonWriter json;
  json.begin_object();
  json.member("version", fovea_version());
  write_cpu(json, c.caps.cpu);
  json.member("num_threads", c.caps.num_threads);
  json.member("workspace_bytes", workspace_bytes);
  json.begin_object("cuda");
  json.member("usable", gpu.present);
  json.member("name", gpu.name);
  json.member("sm", gpu.sm);
  json.member("reason", gpu.reason);
  json.end_object();
  json.begin_object("calls");
  json.member("forward", c.forward_calls.load());
  json.member("merge", c.merge_calls.load());
  json.end_object();
  json.begin_array("kernels");
  for (const KernelInfo& kernel : kernels()) {
    json.begin_object();
    json.member("name", kernel.name);
    json.member("summary", kernel.summary);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_doctor(fovea_context* context, int32_t format, char* buffer, size_t* size,
                                     fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    if (Check bad = check_text_request(format, size)) return bad;
    const std::uint64_t bytes = fovea_context_workspace_bytes(context);
    return write_text(format == FOVEA_JSON ? to_json(*context, bytes) : to_text(*context, bytes), buffer, size);
  });
}

// fovea_model_report: what the model counted in the context's last forward call on it.
#include "api/boundary.h"
#include "api/context.h"
#include "api/json.h"
#include "api/text_buffer.h"

namespace fovea {
namespace {

// Calls visit(name, value) for every counter.
template <class Visit>
void visit_counters(const model::Counters& c, Visit&& visit) {
  const auto& [mma, wgmma, ldmatrix, stmatrix, wavefronts, conflicts, unattributed, cp_async, tma, bulk, read, written,
               barriers, mbarrier_waits, switches] = c;
  visit("mma", mma);
  visit("wgmma", wgmma);
  visit("ldmatrix", ldmatrix);
  visit("stmatrix", stmatrix);
  visit("smem_wavefronts", wavefronts);
  visit("smem_bank_conflict_ways", conflicts);
  visit("smem_unattributed", unattributed);
  visit("cp_async_bytes", cp_async);
  visit("tma_bytes", tma);
  visit("bulk_bytes", bulk);
  visit("global_bytes_read", read);
  visit("global_bytes_written", written);
  visit("barriers", barriers);
  visit("mbarrier_waits", mbarrier_waits);
  visit("fibre_switches", switches);
}

std::string to_text(const model::Report& report) {
  std::string out;
  visit_counters(report.counters, [&out](std::string_view name, u64 value) { out += cat(name, " ", value, "\n"); });
  return out +
         cat("fault ", report.fault ? cat(to_string(report.fault->code), ": ", report.fault->text) : "none", "\n");
}

std::string to_json(const model::Report& report) {
  JsonWriter json;
  json.begin_object();
  visit_counters(report.counters, [&json](std::string_view name, u64 value) { json.member(name, value); });
  if (report.fault) {
    json.member("fault", cat(to_string(report.fault->code), ": ", report.fault->text));
  } else {
    json.null("fault");
  }
  json.end_object();
  return json.text();
}

}  // namespace
}  // namespace fovea

extern "C" fovea_status fovea_model_report(fovea_context* context, int32_t format, char* buffer, size_t* size,
                                           fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    if (Check bad = check_text_request(format, size)) return bad;
    const std::lock_guard lock(context->mutex);
    if (!context->last_model_report) {
      return Error{.status = FOVEA_UNSUPPORTED,
                   .asked = "the report of the model",
                   .allowed = "a context that has run a forward call with FOVEA_BACKEND_MODEL",
                   .why = "nothing has run on the model yet",
                   .hint = "make a forward call with backend = FOVEA_BACKEND_MODEL first"};
    }
    const model::Report& report = *context->last_model_report;
    return write_text(format == FOVEA_JSON ? to_json(report) : to_text(report), buffer, size);
  });
}

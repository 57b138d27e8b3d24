// Translates fovea_error into Failure. Faults of the machine or of fovea itself end with exit code 5, refusals with 4.
#include "tools/fovea/library.h"

namespace fovea::cli {
namespace {

Failure to_failure(fovea_status status, const fovea_error& error) {
  const bool fault = status == FOVEA_INTERNAL || status == FOVEA_OUT_OF_MEMORY;
  return {.exit = fault ? ExitCode::internal : ExitCode::refused,
          .code = fovea_status_name(status),
          .found = error.asked,
          .allowed = error.allowed,
          .why = error.why,
          .hint = error.hint,
          .file = {},
          .offset = {}};
}

fovea_error empty_error() {
  fovea_error error{};
  error.struct_size = sizeof(error);
  return error;
}

}  // namespace

Outcome checked(const std::function<fovea_status(fovea_error*)>& call) {
  fovea_error error = empty_error();
  const fovea_status status = call(&error);
  if (status == FOVEA_OK) return std::nullopt;
  return to_failure(status, error);
}

Result<Context> make_context(std::int32_t num_threads, const ModelOptions& model) {
  fovea_context_args args{};
  args.struct_size = sizeof(args);
  args.num_threads = num_threads;
  apply(model, args);
  fovea_context* context = nullptr;
  if (Outcome bad = checked([&](fovea_error* error) { return fovea_context_create(&args, &context, error); }))
    return *bad;
  return Context(context);
}

Result<std::string> library_text(const std::function<fovea_status(char*, std::size_t*, fovea_error*)>& call) {
  fovea_error error = empty_error();
  std::size_t size = 0;
  const fovea_status asked = call(nullptr, &size, &error);
  if (asked != FOVEA_BUFFER_TOO_SMALL && asked != FOVEA_OK) return to_failure(asked, error);
  std::string text(size, '\0');
  if (Outcome bad = checked([&](fovea_error* e) { return call(text.data(), &size, e); })) return *bad;
  text.resize(size == 0 ? 0 : size - 1);
  return text;
}

}  // namespace fovea::cli

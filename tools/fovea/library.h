// The library as the commands use it: a context that frees itself, and refusals as Failures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fovea/fovea.h"
#include "tools/fovea/failure.h"
#include "tools/fovea/model_options.h"

namespace fovea::cli {

struct ContextDeleter {
  void operator()(fovea_context* context) const { fovea_context_destroy(context); }
};
using Context = std::unique_ptr<fovea_context, ContextDeleter>;

// 0 threads = the library's default.
Result<Context> make_context(std::int32_t num_threads, const ModelOptions& model = {});

// Calls `call` with a fovea_error to fill; a status other than FOVEA_OK becomes a Failure.
Outcome checked(const std::function<fovea_status(fovea_error*)>& call);

// The text of fovea_explain() or fovea_doctor(): asks for the size, then for the text.
Result<std::string> library_text(const std::function<fovea_status(char*, std::size_t*, fovea_error*)>& call);

}  // namespace fovea::cli

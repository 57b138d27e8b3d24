// Reads the choice from the JSON of fovea_explain(), the one place that tells it.
#include "tools/fovea/kernel_name.h"

#include <nlohmann/json.hpp>

#include "tools/fovea/library.h"

namespace fovea::cli {

std::string kernel_name(fovea_context* context, const fovea_forward_args& args) {
  const Result<std::string> text = library_text([&](char* buffer, std::size_t* size, fovea_error* error) {
    return fovea_explain(context, &args, FOVEA_JSON, buffer, size, error);
  });
  if (!text.ok()) return "unknown";
  const nlohmann::json json = nlohmann::json::parse(text.value(), nullptr, false);
  if (!json.is_object() || !json.contains("choice") || !json["choice"].is_string()) return "unknown";
  return json["choice"].get<std::string>();
}

}  // namespace fovea::cli

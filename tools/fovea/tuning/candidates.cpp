// One table of fields and values per kernel.
#include "tools/fovea/tuning/candidates.h"

namespace fovea::cli {
namespace {

struct Field {
  std::string name;
  std::vector<int> values;
};

std::vector<Field> fields_of(const std::string& kernel) {
  if (kernel == "fwd_wgmma") {
    return {{"tile_m", {64, 128, 192}}, {"tile_n", {32, 64, 96, 128}}, {"stages", {2, 3, 4}}};
  }
  if (kernel == "fwd_mma") {
    return {{"tile_m", {64, 128}},
            {"tile_n", {32, 64, 96, 128}},
            {"stages", {2, 3}},
            {"rows_per_warp", {16, 32}},
            {"min_ctas", {1, 2}}};
  }
  return {};
}

}  // namespace

std::vector<std::string> tile_fields(const std::string& kernel) {
  std::vector<std::string> names;
  for (const Field& field : fields_of(kernel)) names.push_back(field.name);
  return names;
}

std::vector<std::string> tile_candidates(const std::string& kernel) {
  std::vector<std::string> texts;
  for (const Field& field : fields_of(kernel)) {
    std::vector<std::string> longer;
    for (const std::string& text : texts.empty() ? std::vector<std::string>{""} : texts) {
      for (const int value : field.values) {
        longer.push_back(text + (text.empty() ? "" : ",") + field.name + "=" + std::to_string(value));
      }
    }
    texts = std::move(longer);
  }
  return texts;
}

}  // namespace fovea::cli

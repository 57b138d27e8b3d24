// The options that say what attention is computed (mask kinds, scale, splits, ...), shared by run and explain.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "fovea/fovea.h"
#include "tools/fovea/failure.h"

namespace fovea::cli {

struct FeatureOptions {
  bool causal = false;
  std::string window;  // "L,R", each a number or "inf"; empty = no window
  float softcap = 0.0F;
  std::optional<float> scale;
  std::optional<std::int64_t> q_offset, kv_offset;
  std::int32_t num_splits = 0;
  bool batch_invariant = false;
  bool forbid_slow = false;
  std::string out_dtype;  // empty = dtype of q
  std::string backend = "auto";
};

void add_feature_options(CLI::App& app, FeatureOptions& options);

// Fills flags and scalars. The library judges their values; here only the text forms can be wrong.
Outcome apply_features(const FeatureOptions& options, fovea_forward_args& args);

// nullopt for "reference" and unknown names.
std::optional<fovea_backend> backend_of(const std::string& name);
std::optional<fovea_dtype> dtype_of(const std::string& name);  // "f32", "bf16", "f16", "f64"

}  // namespace fovea::cli

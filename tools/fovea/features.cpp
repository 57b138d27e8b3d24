// Option definitions and their translation into fovea_forward_args.
#include "tools/fovea/features.h"

#include <charconv>

namespace fovea::cli {
namespace {

Failure bad_window(const std::string& text) {
  return {.exit = ExitCode::usage,
          .code = "window",
          .found = "--window " + text,
          .allowed = "LEFT,RIGHT, each a whole number or inf",
          .why = {},
          .hint = "--window 128,0",
          .file = {},
          .offset = {}};
}

// "inf" leaves `value` alone and reports no bound.
bool parse_bound(std::string_view text, std::int64_t& value, bool& bounded) {
  bounded = text != "inf";
  if (!bounded) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Outcome apply_window(const std::string& text, fovea_forward_args& args) {
  if (text.empty()) return std::nullopt;
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return bad_window(text);
  const std::string_view all(text);
  bool left = false, right = false;
  if (!parse_bound(all.substr(0, comma), args.window_left, left)) return bad_window(text);
  if (!parse_bound(all.substr(comma + 1), args.window_right, right)) return bad_window(text);
  if (left) args.flags |= FOVEA_FLAG_WINDOW_LEFT;
  if (right) args.flags |= FOVEA_FLAG_WINDOW_RIGHT;
  return std::nullopt;
}

}  // namespace

std::optional<fovea_backend> backend_of(const std::string& name) {
  if (name == "auto") return FOVEA_BACKEND_AUTO;
  if (name == "cpu") return FOVEA_BACKEND_CPU;
  if (name == "cuda") return FOVEA_BACKEND_CUDA;
  if (name == "model") return FOVEA_BACKEND_MODEL;
  return std::nullopt;
}

std::optional<fovea_dtype> dtype_of(const std::string& name) {
  for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_BF16, FOVEA_F16, FOVEA_F64}) {
    if (name == fovea_dtype_name(dtype)) return dtype;
  }
  return std::nullopt;
}

void add_feature_options(CLI::App& app, FeatureOptions& options) {
  const std::string group = "What is computed";
  app.add_flag("--causal", options.causal, "causal mask, bottom-right aligned")->group(group);
  app.add_option("--window", options.window, "LEFT,RIGHT keys around the diagonal, inclusive; inf = no bound")
      ->group(group);
  app.add_option("--softcap", options.softcap, "cap scores at c * tanh(s / c); 0 = off")->group(group);
  app.add_option("--scale", options.scale, "softmax scale (default 1/sqrt(head_dim_qk))")->group(group);
  app.add_option("--q-offset", options.q_offset, "position of query row 0")->group(group);
  app.add_option("--kv-offset", options.kv_offset, "position of key row 0")->group(group);
  app.add_option("--out-dtype", options.out_dtype, "dtype of the output (default: of q)")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "f64"}))
      ->group(group);
  const std::string how = "How it runs";
  app.add_option("--num-splits", options.num_splits, "parts of each key range; 0 = choose")->group(how);
  app.add_flag("--batch-invariant", options.batch_invariant, "bits independent of the rest of the batch")->group(how);
  app.add_flag("--forbid-slow", options.forbid_slow, "refuse rather than take a slow path")->group(how);
}

Outcome apply_features(const FeatureOptions& options, fovea_forward_args& args) {
  if (options.causal) args.flags |= FOVEA_FLAG_CAUSAL;
  if (options.batch_invariant) args.flags |= FOVEA_FLAG_BATCH_INVARIANT;
  if (options.forbid_slow) args.flags |= FOVEA_FLAG_FORBID_SLOW;
  if (options.scale) {
    args.flags |= FOVEA_FLAG_SOFTMAX_SCALE;
    args.softmax_scale = *options.scale;
  }
  if (options.q_offset) {
    args.flags |= FOVEA_FLAG_Q_OFFSET;
    args.q_offset = *options.q_offset;
  }
  if (options.kv_offset) {
    args.flags |= FOVEA_FLAG_KV_OFFSET;
    args.kv_offset = *options.kv_offset;
  }
  args.softcap = options.softcap;
  args.num_splits = options.num_splits;
  args.backend = backend_of(options.backend).value_or(FOVEA_BACKEND_AUTO);
  return apply_window(options.window, args);
}

}  // namespace fovea::cli

// --arch, --model-seed and --landing: what the model stands for and how it schedules.
#include "tools/fovea/model_options.h"

namespace fovea::cli {

void add_model_options(CLI::App& app, ModelOptions& options) {
  const std::string group = "Backend model";
  app.add_option("--arch", options.arch, "architecture that the model stands for")
      ->check(CLI::IsMember({"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--landing", options.landing, "when asynchronous copies land: random, eager, lazy")
      ->check(CLI::IsMember({"random", "eager", "lazy"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--model-seed", options.seed, "seed of the model's schedule")->capture_default_str()->group(group);
}

void apply(const ModelOptions& options, fovea_context_args& args) {
  args.model_sm = std::stoi(options.arch.substr(3));
  args.model_landing = options.landing == "eager"  ? FOVEA_LANDING_EAGER
                       : options.landing == "lazy" ? FOVEA_LANDING_LAZY
                                                   : FOVEA_LANDING_RANDOM;
  args.model_seed = options.seed;
}

}  // namespace fovea::cli

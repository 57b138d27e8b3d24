// Creation and destruction of a Context: the environment is read and the machine looked at here, once.
#include "api/context.h"

#include <algorithm>
#include <cstddef>

#include "api/boundary.h"
#include "core/text.h"

namespace fovea {
namespace {

constexpr std::array<std::uint64_t, 2> kContextArgsSizes{offsetof(fovea_context_args, model_sm),
                                                         sizeof(fovea_context_args)};
constexpr std::array kModelArchitectures{80, 86, 89, 90, 100, 120};

Check check_model(const fovea_context_args& a) {
  if (a.model_sm != 0 && std::ranges::find(kModelArchitectures, a.model_sm) == kModelArchitectures.end()) {
    return Error{.status = FOVEA_CONFIG,
                 .asked = cat("model_sm=", a.model_sm),
                 .allowed = "0 (80), 80, 86, 89, 90, 100 or 120",
                 .why = "the model knows the instructions and limits of these architectures",
                 .hint = "use the architecture that the kernel is compiled for"};
  }
  if (a.model_landing < FOVEA_LANDING_RANDOM || a.model_landing > FOVEA_LANDING_LAZY) {
    return Error{.status = FOVEA_UNKNOWN_FLAG,
                 .asked = cat("model_landing=", a.model_landing),
                 .allowed = "FOVEA_LANDING_RANDOM (0), FOVEA_LANDING_EAGER (1) or FOVEA_LANDING_LAZY (2)",
                 .why = "the number names no landing of this version",
                 .hint = "zero-initialise fovea_context_args for seeded landings"};
  }
  return {};
}

Result<fovea_context_args> checked_args(const fovea_context_args* args) {
  if (args == nullptr) return fovea_context_args{};
  const auto read = read_versioned("fovea_context_args", args, kContextArgsSizes);
  if (!read.ok()) return read.error();
  const fovea_context_args& a = read.value();
  if (a.reserved != 0) {
    return Error{.status = FOVEA_UNKNOWN_FLAG,
                 .asked = cat("reserved=", a.reserved),
                 .allowed = "reserved=0",
                 .why = "a later version may give the field a meaning",
                 .hint = "zero-initialise fovea_context_args"};
  }
  if (Check bad = check_model(a)) return *std::move(bad);
  if (a.num_threads >= 0 && a.num_threads <= kMaxThreads) return a;
  return Error{.status = FOVEA_CONFIG,
               .asked = cat("num_threads=", a.num_threads),
               .allowed = cat("0 (choose) or 1 to ", kMaxThreads),
               .why = "the context starts that many threads, the caller included",
               .hint = "use 0 for every core of the process"};
}

}  // namespace

PlannedCall* PlanCache::find(const ForwardCall& call) {
  for (Entry& entry : entries_) {
    if (entry.filled && entry.backend == call.backend && entry.device_id == call.device_id &&
        entry.call.plan.problem == call.problem) {
      return &entry.call;
    }
  }
  return nullptr;
}

PlannedCall* PlanCache::make(const ForwardCall& call, const Choice& choice, const Caps& caps) {
  Entry& entry = entries_[next_];
  next_ = (next_ + 1) % entries_.size();
  entry.filled = false;
  entry.call = {.plan = make_plan(call.problem, choice, caps), .kernels = {}};
  entry.backend = call.backend;
  entry.device_id = call.device_id;
  entry.filled = true;
  return &entry.call;
}

Result<PlannedCall*> ContextState::plan_for(const ForwardCall& call) {
  if (PlannedCall* kept = plans.find(call)) return kept;
  const Caps seen = caps_for(call);
  const Result<Choice> choice = choose(call.problem, seen, call.backend);
  if (!choice.ok()) return choice.error();
  return plans.make(call, choice.value(), seen);
}

Caps ContextState::caps_for(const ForwardCall& call) const {
  Caps result = caps;
  if (call.problem.device == FOVEA_DEVICE_CUDA || call.backend == FOVEA_BACKEND_CUDA) {
    result.gpu = gpu.caps(call.device_id);
  }
  return result;
}

model::Settings ContextState::model_settings() const {
  model::Settings settings{.sm = caps.model.sm,
                           .seed = args.model_seed,
                           .landing = model::AsyncLanding::random,
                           .schedule = model::Schedule::random};
  if (args.model_landing == FOVEA_LANDING_EAGER) settings.landing = model::AsyncLanding::eager;
  if (args.model_landing == FOVEA_LANDING_LAZY) settings.landing = model::AsyncLanding::lazy;
  return settings;
}

Caps detect_caps(const Config& config, const fovea_context_args& args) {
  Caps caps;
  caps.cpu = detect_cpu_features();
  if (config.disable_amx) {
    caps.cpu.amx_bf16 = false;
    caps.cpu.amx_reason = "FOVEA_DISABLE_AMX=1";
  }
  caps.num_threads = args.num_threads != 0     ? args.num_threads
                     : config.num_threads != 0 ? config.num_threads
                                               : caps.cpu.cores;
  caps.tile = config.tile;
  caps.model = architecture_caps(args.model_sm != 0 ? args.model_sm : 80);
  caps.model.model = true;
  return caps;
}

}  // namespace fovea

extern "C" {

fovea_status fovea_context_create(const fovea_context_args* args, fovea_context** context, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    *context = nullptr;
    const Result<fovea_context_args> checked = checked_args(args);
    if (!checked.ok()) return checked.error();
    const Result<Config> config = read_config();
    if (!config.ok()) return config.error();
    *context = new fovea_context(config.value(), detect_caps(config.value(), checked.value()), checked.value());
    return {};
  });
}

void fovea_context_destroy(fovea_context* context) { delete context; }

int32_t fovea_context_num_threads(const fovea_context* context) {
  return context == nullptr ? 0 : context->pool.num_threads();
}

uint64_t fovea_context_workspace_bytes(const fovea_context* context) {
  if (context == nullptr) return 0;
  const std::lock_guard lock(context->mutex);
  return context->workspace.bytes();
}

}  // extern "C"

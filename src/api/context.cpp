// Creation and destruction of a Context: the environment is read and the machine looked at here, once.
#include "api/context.h"

#include "api/boundary.h"
#include "core/text.h"

namespace fovea {
namespace {

constexpr std::array<std::uint64_t, 1> kContextArgsSizes{sizeof(fovea_context_args)};

Result<int> requested_threads(const fovea_context_args* args) {
  if (args == nullptr) return 0;
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
  if (a.num_threads >= 0 && a.num_threads <= kMaxThreads) return a.num_threads;
  return Error{.status = FOVEA_CONFIG,
               .asked = cat("num_threads=", a.num_threads),
               .allowed = cat("0 (choose) or 1 to ", kMaxThreads),
               .why = "the context starts that many threads, the caller included",
               .hint = "use 0 for every core of the process"};
}

}  // namespace

Result<const Plan*> PlanCache::find_or_make(const Problem& problem, const Caps& caps, fovea_backend backend) {
  for (const Entry& entry : entries_) {
    if (entry.filled && entry.backend == backend && entry.plan.problem == problem) return &entry.plan;
  }
  const Result<Choice> choice = choose(problem, caps, backend);
  if (!choice.ok()) return choice.error();
  Entry& entry = entries_[next_];
  next_ = (next_ + 1) % entries_.size();
  entry.filled = false;
  entry.plan = make_plan(problem, choice.value(), caps);
  entry.backend = backend;
  entry.filled = true;
  return &entry.plan;
}

Caps detect_caps(const Config& config, int requested_threads) {
  Caps caps;
  caps.cpu = detect_cpu_features();
  if (config.disable_amx) {
    caps.cpu.amx_bf16 = false;
    caps.cpu.amx_reason = "FOVEA_DISABLE_AMX=1";
  }
  caps.num_threads = requested_threads != 0    ? requested_threads
                     : config.num_threads != 0 ? config.num_threads
                                               : caps.cpu.cores;
  caps.cuda_reason = "this build has no cuda backend yet";
  return caps;
}

}  // namespace fovea

extern "C" {

fovea_status fovea_context_create(const fovea_context_args* args, fovea_context** context, fovea_error* error) {
  using namespace fovea;
  return guarded(error, [&]() -> Check {
    if (context == nullptr) return null_pointer("context");
    *context = nullptr;
    const Result<int> threads = requested_threads(args);
    if (!threads.ok()) return threads.error();
    const Result<Config> config = read_config();
    if (!config.ok()) return config.error();
    *context = new fovea_context(config.value(), detect_caps(config.value(), threads.value()));
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

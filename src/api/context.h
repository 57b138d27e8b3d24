// ContextState, what stands behind fovea_context: settings, capabilities, threads, scratch memory, recent plans.
// One mutex guards pool, workspace and plans, so calls from several threads are served one after the other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>

#include "api/gpu.h"
#include "api/validate.h"
#include "backend/cuda/forward.h"
#include "backend/model/settings.h"
#include "core/config.h"
#include "core/threads.h"
#include "core/workspace.h"
#include "model/launch.h"
#include "plan/plan.h"
#include "select/select.h"

namespace fovea {

// A plan, and the loaded kernels that it needs on a CUDA device.
struct PlannedCall {
  Plan plan;
  cuda::ForwardKernels kernels;  // attention is null until they were found
};

// Recent plans, found by value, so that a repeated call neither chooses nor plans again.
class PlanCache {
 public:
  // Null when there is none. `device_id` tells CUDA devices apart.
  PlannedCall* find(const ForwardCall& call);
  PlannedCall* make(const ForwardCall& call, const Choice& choice, const Caps& caps);

 private:
  struct Entry {
    bool filled = false;
    fovea_backend backend = FOVEA_BACKEND_AUTO;
    std::int32_t device_id = 0;
    PlannedCall call;
  };
  std::array<Entry, 16> entries_;
  std::size_t next_ = 0;
};

struct ContextState {
  ContextState(const Config& config_in, const Caps& caps_in, const fovea_context_args& args_in)
      : config(config_in), caps(caps_in), args(args_in), gpu(config_in), pool(caps_in.num_threads) {}

  // The plan of a call: the one that is kept, or a new one.
  Result<PlannedCall*> plan_for(const ForwardCall& call);
  // Capabilities as a call on these tensors sees them: with its GPU, where it concerns one.
  Caps caps_for(const ForwardCall& call) const;
  // How kernels run on the model.
  model::Settings model_settings() const;

  const Config config;
  const Caps caps;
  const fovea_context_args args;  // checked
  mutable GpuState gpu;
  mutable std::mutex mutex;
  ThreadPool pool;
  Workspace workspace;
  PlanCache plans;
  std::optional<model::Report> last_model_report;  // of the last forward call on the model
  std::atomic<std::uint64_t> forward_calls{0};
  std::atomic<std::uint64_t> merge_calls{0};
};

Caps detect_caps(const Config& config, const fovea_context_args& args);

}  // namespace fovea

struct fovea_context : fovea::ContextState {
  using fovea::ContextState::ContextState;
};

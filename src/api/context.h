// ContextState, what stands behind fovea_context: settings, capabilities, threads, scratch memory, recent plans.
// One mutex guards pool, workspace and plans, so calls from several threads are served one after the other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "api/validate.h"
#include "core/config.h"
#include "core/threads.h"
#include "core/workspace.h"
#include "plan/plan.h"
#include "select/select.h"

namespace fovea {

// Recent plans, found by value, so that a repeated call neither chooses nor plans again.
class PlanCache {
 public:
  Result<const Plan*> find_or_make(const Problem& problem, const Caps& caps, fovea_backend backend);

 private:
  struct Entry {
    bool filled = false;
    fovea_backend backend = FOVEA_BACKEND_AUTO;
    Plan plan;
  };
  std::array<Entry, 16> entries_;
  std::size_t next_ = 0;
};

struct ContextState {
  ContextState(const Config& config_in, const Caps& caps_in, const fovea_context_args& args_in)
      : config(config_in), caps(caps_in), args(args_in), pool(caps_in.num_threads) {}

  const Config config;
  const Caps caps;
  const fovea_context_args args;  // checked
  mutable std::mutex mutex;
  ThreadPool pool;
  Workspace workspace;
  PlanCache plans;
  std::atomic<std::uint64_t> forward_calls{0};
  std::atomic<std::uint64_t> merge_calls{0};
};

Caps detect_caps(const Config& config, const fovea_context_args& args);

}  // namespace fovea

struct fovea_context : fovea::ContextState {
  using fovea::ContextState::ContextState;
};

// select: the kernel registry. supports() is the dispatch, the capability query, the refusal, explain and the test
// skip.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cpu_features.h"
#include "core/error.h"
#include "select/problem.h"

namespace fovea {

enum class KernelId : std::uint8_t { cpu_fwd_f32, cpu_fwd_amx_bf16 };

// What a backend may count on. A value: tests make their own.
struct Caps {
  CpuFeatures cpu;
  int num_threads = 1;
  bool cuda = false;        // no cuda backend in this build yet
  std::string cuda_reason;  // why not
};

struct Verdict {
  KernelId kernel;
  bool served = false;
  bool slow = false;  // served, but more than 1.5x slower than a sibling path would be; `note` says why
  std::string note;   // one line for explain
  Error refusal;      // meaningful when !served
};

struct KernelInfo {
  KernelId id;
  std::string_view name;  // "cpu_fwd_f32"
  fovea_backend backend;
  std::string_view summary;
  Verdict (*supports)(const Problem&, const Caps&);
};

// All kernels, in order of preference.
std::span<const KernelInfo> kernels();
std::string_view name(KernelId id);

// One verdict per kernel of the allowed backend(s), in order of preference.
std::vector<Verdict> supports(const Problem& problem, const Caps& caps, fovea_backend backend);

struct Choice {
  KernelId kernel = KernelId::cpu_fwd_f32;
  bool operator==(const Choice&) const = default;
};

// The first kernel that serves; otherwise the most useful refusal.
Result<Choice> choose(const Problem& problem, const Caps& caps, fovea_backend backend);

}  // namespace fovea

// Detects cores, caches, SIMD targets and AMX. Asks the kernel for the AMX tile state, which is off until asked for.
#include "core/cpu_features.h"

#include "core/simd_targets.h"
// Defines HWY_TARGETS, the targets that this build compiles.
#include <hwy/detect_targets.h>
#include <hwy/targets.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

namespace fovea {
namespace {

int process_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::int64_t cache_bytes(int sysconf_name) { return std::max(0L, sysconf(sysconf_name)); }

// Highway numbers its targets so that a lower bit is a better one.
void describe_simd(CpuFeatures& features) {
  std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  while (targets != 0) {
    const std::int64_t best = targets & -targets;
    if (features.simd_target.empty()) features.simd_target = hwy::TargetName(best);
    if (!features.simd_targets.empty()) features.simd_targets += ' ';
    features.simd_targets += hwy::TargetName(best);
    targets &= targets - 1;
  }
}

#if defined(__x86_64__) && defined(FOVEA_HAVE_AMX)
// XCR0: which register state the operating system saves.
std::uint64_t enabled_state() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32U) | low;
}

// Empty when AMX-BF16 is usable, else the reason.
std::string amx_obstacle() {
  constexpr unsigned kOsxsave = 1U << 27U;         // leaf 1, ecx
  constexpr unsigned kAmxBf16 = 1U << 22U;         // leaf 7, edx
  constexpr unsigned kAmxTile = 1U << 24U;         // leaf 7, edx
  constexpr std::uint64_t kTileState = 3U << 17U;  // XTILECFG and XTILEDATA
  constexpr long kRequestPermission = 0x1023;      // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;                   // XFEATURE_XTILEDATA
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsxsave) == 0) return "the CPU reports no XSAVE";
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kAmxTile) == 0 || (edx & kAmxBf16) == 0) {
    return "the CPU has no AMX-BF16";
  }
  if ((enabled_state() & kTileState) != kTileState) return "the operating system does not enable the AMX tile state";
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) {
    return "the kernel refused this process the AMX tile state";
  }
  return {};
}
#else
std::string amx_obstacle() { return "this build has no AMX kernel"; }
#endif

}  // namespace

CpuFeatures detect_cpu_features() {
  CpuFeatures features;
  features.model = model_name();
  features.cores = process_cores();
  features.l1d_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  features.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  describe_simd(features);
  features.amx_reason = amx_obstacle();
  features.amx_bf16 = features.amx_reason.empty();
  return features;
}

}  // namespace fovea

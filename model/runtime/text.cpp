// Formatting and the names of enums that fault texts use.
#include "model/runtime/text.h"

#include <cstdarg>
#include <cstdio>

#include "model/runtime/machine.h"

namespace fovea::model {

std::string format(const char* pattern, ...) {
  std::va_list args;
  va_start(args, pattern);
  char buffer[512];
  const int length = std::vsnprintf(buffer, sizeof buffer, pattern, args);
  va_end(args);
  if (length < 0) return pattern;
  return {buffer, std::min(static_cast<std::size_t>(length), sizeof buffer - 1)};
}

const char* to_string(Code code) {
  switch (code) {
    case Code::launch_config:
      return "launch_config";
    case Code::architecture:
      return "architecture";
    case Code::illegal_argument:
      return "illegal_argument";
    case Code::out_of_bounds:
      return "out_of_bounds";
    case Code::misaligned:
      return "misaligned";
    case Code::read_only:
      return "read_only";
    case Code::uninitialised_memory:
      return "uninitialised_memory";
    case Code::uninitialised_register:
      return "uninitialised_register";
    case Code::copy_in_flight:
      return "copy_in_flight";
    case Code::race:
      return "race";
    case Code::missing_proxy_fence:
      return "missing_proxy_fence";
    case Code::divergent_collective:
      return "divergent_collective";
    case Code::barrier_misuse:
      return "barrier_misuse";
    case Code::mbarrier_misuse:
      return "mbarrier_misuse";
    case Code::accumulator_in_flight:
      return "accumulator_in_flight";
    case Code::exit_with_pending:
      return "exit_with_pending";
    case Code::deadlock:
      return "deadlock";
    case Code::runaway:
      return "runaway";
    case Code::trap:
      return "trap";
  }
  return "?";
}

const char* to_string(Collective op) {
  switch (op) {
    case Collective::none:
      return "nothing";
    case Collective::ldmatrix:
      return "ldmatrix";
    case Collective::stmatrix:
      return "stmatrix";
    case Collective::movmatrix:
      return "movmatrix";
    case Collective::mma:
      return "mma.sync";
    case Collective::bar:
      return "bar";
    case Collective::warp_sync:
      return "bar.warp.sync";
    case Collective::shfl:
      return "shfl.sync";
    case Collective::vote:
      return "vote.sync";
    case Collective::redux:
      return "redux.sync";
    case Collective::elect:
      return "elect.sync";
    case Collective::wgmma:
      return "wgmma.mma_async";
    case Collective::wgmma_fence:
      return "wgmma.fence";
    case Collective::wgmma_commit:
      return "wgmma.commit_group";
    case Collective::wgmma_wait:
      return "wgmma.wait_group";
    case Collective::setmaxnreg:
      return "setmaxnreg";
    case Collective::cluster_barrier:
      return "barrier.cluster";
  }
  return "?";
}

std::string GlobalMemory::describe(const void* address, u64 bytes) const {
  const u64 a = reinterpret_cast<u64>(address);
  const Region* nearest = nullptr;
  u64 best = ~0ULL;
  for (const Region& region : regions_) {
    const u64 first = begin(region), end = first + region.bytes;
    if (a >= first && a < end) {
      const char* note = bytes > end - a ? ", beyond its end" : "";
      return format("byte %llu of %s (%llu bytes)%s", a - first, region.name, region.bytes, note);
    }
    const u64 distance = a < first ? first - a : a - end;
    if (distance < best) {
      best = distance;
      nearest = &region;
    }
  }
  if (nearest == nullptr) return format("address 0x%llx; the launch has no global memory", a);
  const char* side = a < begin(*nearest) ? "before" : "after the end of";
  return format("%llu bytes %s %s (%llu bytes)", best, side, nearest->name, nearest->bytes);
}

}  // namespace fovea::model

// Highway compiles fma_chains() once per instruction set and picks at run time. So many independent chains hide the
// latency of the multiply-add units of current CPUs (two units, four to five cycles) and leave room for their operands
// in 16 registers; 16 chains in 32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/fovea/fma_peak.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace fovea::cli::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kChains = HWY_TARGET == HWY_AVX3 ? 16 : 12;

// Returns a value that depends on all chains; *flops is what was done.
float fma_chains(std::int64_t rounds, double* flops) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, 0.999F), b = hn::Set(d, 0.001F);
  hn::Vec<decltype(d)> x[kChains];
  for (int i = 0; i < kChains; ++i) x[i] = hn::Iota(d, i);  // different starts: equal chains would be computed once
  for (std::int64_t n = 0; n < rounds; ++n) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) x[i] = hn::MulAdd(x[i], a, b);
  }
  *flops = 2.0 * kChains * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
  auto sum = x[0];
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, x[i]);
  return hn::GetLane(sum);
}

}  // namespace fovea::cli::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "tools/fovea/clock.h"
#include "tools/fovea/fma_peak.h"

namespace fovea::cli {
namespace {

HWY_EXPORT(fma_chains);

struct Work {
  double flops, seconds;
};

// All threads do the same work; the time is that of the slowest.
Work one_run(int num_threads, std::int64_t rounds) {
  std::vector<double> flops(static_cast<std::size_t>(num_threads), 0.0);
  std::atomic<float> sink{0.0F};
  std::vector<std::thread> threads;
  const Stopwatch watch;
  for (double& done : flops) {
    threads.emplace_back([&done, &sink, rounds] { sink.store(HWY_DYNAMIC_DISPATCH(fma_chains)(rounds, &done)); });
  }
  for (std::thread& thread : threads) thread.join();
  return {std::accumulate(flops.begin(), flops.end(), 0.0), watch.seconds()};
}

}  // namespace

double measure_fma_peak_gflops(int num_threads) {
  constexpr double kSeconds = 0.02;  // of a run: starting threads no longer counts
  const int threads = std::max(num_threads, 1);
  std::int64_t rounds = 1000;
  while (one_run(threads, rounds).seconds < kSeconds) rounds *= 2;
  double best = 0;
  for (int run = 0; run < 7; ++run) {
    const Work work = one_run(threads, rounds);
    best = std::max(best, work.flops / work.seconds * 1e-9);
  }
  return best;
}

}  // namespace fovea::cli
#endif  // HWY_ONCE

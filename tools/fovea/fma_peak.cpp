// Highway compiles fma_chains() once per instruction set and picks at run time. Sixteen independent chains hide the
// latency of the multiply-add units of current CPUs and still fit their registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/fovea/fma_peak.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace fovea::cli::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Returns a value that depends on all chains; *flops is what was done.
float fma_chains(std::int64_t rounds, double* flops) {
  const hn::ScalableTag<float> d;
  const auto a = hn::Set(d, 0.999F), b = hn::Set(d, 0.001F);
  // Different starts: equal chains would be computed once.
  auto x0 = hn::Iota(d, 0), x1 = hn::Iota(d, 1), x2 = hn::Iota(d, 2), x3 = hn::Iota(d, 3);
  auto x4 = hn::Iota(d, 4), x5 = hn::Iota(d, 5), x6 = hn::Iota(d, 6), x7 = hn::Iota(d, 7);
  auto y0 = hn::Iota(d, 8), y1 = hn::Iota(d, 9), y2 = hn::Iota(d, 10), y3 = hn::Iota(d, 11);
  auto y4 = hn::Iota(d, 12), y5 = hn::Iota(d, 13), y6 = hn::Iota(d, 14), y7 = hn::Iota(d, 15);
  for (std::int64_t n = 0; n < rounds; ++n) {
    x0 = hn::MulAdd(x0, a, b), x1 = hn::MulAdd(x1, a, b), x2 = hn::MulAdd(x2, a, b), x3 = hn::MulAdd(x3, a, b);
    x4 = hn::MulAdd(x4, a, b), x5 = hn::MulAdd(x5, a, b), x6 = hn::MulAdd(x6, a, b), x7 = hn::MulAdd(x7, a, b);
    y0 = hn::MulAdd(y0, a, b), y1 = hn::MulAdd(y1, a, b), y2 = hn::MulAdd(y2, a, b), y3 = hn::MulAdd(y3, a, b);
    y4 = hn::MulAdd(y4, a, b), y5 = hn::MulAdd(y5, a, b), y6 = hn::MulAdd(y6, a, b), y7 = hn::MulAdd(y7, a, b);
  }
  *flops = 2.0 * 16 * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
  const auto x = hn::Add(hn::Add(hn::Add(x0, x1), hn::Add(x2, x3)), hn::Add(hn::Add(x4, x5), hn::Add(x6, x7)));
  const auto y = hn::Add(hn::Add(hn::Add(y0, y1), hn::Add(y2, y3)), hn::Add(hn::Add(y4, y5), hn::Add(y6, y7)));
  return hn::GetLane(hn::Add(x, y));
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

// Independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace fovea::cli {

// Calls work(i) for i in [0, count), lowest first, on `threads` threads (0 = one per core) at a time. Once a call has
// returned false none begins any more. `work` must not throw.
template <class Work>
void side_by_side(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !stopped; i = next++) {
      if (!work(i)) stopped = true;
    }
  };
  const std::size_t wanted = threads > 0 ? static_cast<std::size_t>(threads) : std::thread::hardware_concurrency();
  std::vector<std::thread> others(std::min(std::max<std::size_t>(wanted, 1), std::max<std::size_t>(count, 1)) - 1);
  for (std::thread& thread : others) thread = std::thread(run);
  run();
  for (std::thread& thread : others) thread.join();
}

}  // namespace fovea::cli

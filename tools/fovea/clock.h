// Wall-clock timing of repeated calls.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace fovea::cli {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The lower middle of the sorted times; `times` is not empty.
inline double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[(times.size() - 1) / 2];
}

}  // namespace fovea::cli

// The decision of `fovea tune`, apart from any clock: every candidate once, the three fastest and the present tiles
// again in turns, and the winner only if its times can be believed and are worth a change.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fovea::cli {

inline constexpr int kFinalists = 3;
inline constexpr int kFinalRounds = 5;
inline constexpr double kLargestSpread = 0.10;  // of a contender's times of one length, (longest - shortest) / shortest
inline constexpr double kLeastGain = 1.02;      // geometric mean over the lengths
inline constexpr double kLargestLoss = 0.98;    // at any length

// One process's times, one per length in seconds; empty: `why` there are none.
struct Sample {
  std::vector<double> seconds;
  std::string why;
};
using Measure = std::function<Sample(const std::string& tile)>;

struct Contender {
  std::string tile;  // empty: the present tiles
  Sample first;
  std::vector<double> gains;  // per length: time of the present tiles over its own; from the last round it took part in
  double gain = 0;            // their geometric mean
  std::vector<std::vector<double>> again;  // times of each final round; empty unless a finalist
  double spread = 0;                       // the largest of a length, of a finalist
  std::string verdict;
};

struct Decision {
  std::vector<Contender> contenders;  // the present tiles first, then the candidates in their order
  int accepted = -1;                  // index of the winner; -1: the present tiles stay
  std::string why;
};

// `candidates` are texts for FOVEA_TILE without the present tiles' own. When the present tiles cannot be measured,
// nothing else is.
Decision sweep(const std::vector<std::string>& candidates, const Measure& measure);

}  // namespace fovea::cli

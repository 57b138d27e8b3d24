// Contender 0 has the present tiles: it takes part in every final round, so that all are compared within a few seconds.
#include "tools/fovea/tuning/sweep.h"

#include <algorithm>
#include <cmath>

#include "tools/fovea/clock.h"

namespace fovea::cli {
namespace {

void compare(Contender& contender, const std::vector<double>& present, const std::vector<double>& own) {
  contender.gains.clear();
  double logs = 0;
  for (std::size_t i = 0; i < present.size(); ++i) {
    contender.gains.push_back(present[i] / own[i]);
    logs += std::log(contender.gains.back());
  }
  contender.gain = std::exp(logs / static_cast<double>(present.size()));
}

std::vector<double> times_of_length(const Contender& contender, std::size_t length) {
  std::vector<double> times;
  for (const std::vector<double>& round : contender.again) times.push_back(round[length]);
  return times;
}

std::vector<double> medians(const Contender& contender) {
  std::vector<double> result;
  for (std::size_t i = 0; i < contender.first.seconds.size(); ++i)
    result.push_back(median(times_of_length(contender, i)));
  return result;
}

double largest_spread(const Contender& contender) {
  double largest = 0;
  for (std::size_t i = 0; i < contender.first.seconds.size(); ++i) {
    const std::vector<double> times = times_of_length(contender, i);
    const auto [shortest, longest] = std::minmax_element(times.begin(), times.end());
    largest = std::max(largest, (*longest - *shortest) / *shortest);
  }
  return largest;
}

// Indices of the present tiles and of the fastest candidates.
std::vector<std::size_t> finalists(const std::vector<Contender>& contenders) {
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    if (contenders[i].gain > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return contenders[a].gain > contenders[b].gain; });
  order.resize(std::min(order.size(), std::size_t{kFinalists}));
  order.insert(order.begin(), 0);
  return order;
}

// Whether every one of them could be measured again; each round begins with another.
bool run_finals(Decision& decision, const std::vector<std::size_t>& chosen, const Measure& measure) {
  for (std::size_t round = 0; round < kFinalRounds; ++round) {
    for (std::size_t turn = 0; turn < chosen.size(); ++turn) {
      Contender& contender = decision.contenders[chosen[(round + turn) % chosen.size()]];
      const Sample sample = measure(contender.tile);
      if (sample.seconds.size() != contender.first.seconds.size()) {
        contender.verdict = "failed when measured again: " + sample.why;
        decision.why = "'" + contender.tile + "' " + contender.verdict;
        return false;
      }
      contender.again.push_back(sample.seconds);
    }
  }
  return true;
}

std::string verdict_of(const Contender& c) {
  if (c.spread > kLargestSpread) return "its times spread by more than 10%";
  if (c.gain < kLeastGain) return "gains less than 2%";
  if (*std::min_element(c.gains.begin(), c.gains.end()) < kLargestLoss) return "loses more than 2% at a length";
  return "";
}

}  // namespace

Decision sweep(const std::vector<std::string>& candidates, const Measure& measure) {
  Decision decision;
  decision.contenders.emplace_back().first = measure({});
  const std::vector<double> present = decision.contenders[0].first.seconds;
  if (present.empty()) {
    decision.why = "the present tiles cannot be measured: " + decision.contenders[0].first.why;
    return decision;
  }
  for (const std::string& tile : candidates) {
    Contender contender;
    contender.tile = tile;
    contender.first = measure(tile);
    if (contender.first.seconds.size() == present.size()) {
      compare(contender, present, contender.first.seconds);
      contender.verdict = "slower than the finalists";
    } else {
      contender.verdict = contender.first.why;
    }
    decision.contenders.push_back(std::move(contender));
  }

  const std::vector<std::size_t> chosen = finalists(decision.contenders);
  if (!run_finals(decision, chosen, measure)) return decision;
  for (const std::size_t i : chosen) {
    Contender& contender = decision.contenders[i];
    compare(contender, medians(decision.contenders[0]), medians(contender));
    contender.spread = largest_spread(contender);
    contender.verdict = i == 0 ? "present" : verdict_of(contender);
  }
  if (decision.contenders[0].spread > kLargestSpread) {
    decision.why = "the times of the present tiles spread by more than 10%: the machine is not quiet enough to decide";
    return decision;
  }
  for (const std::size_t i : chosen) {
    const Contender& contender = decision.contenders[i];
    if (i == 0 || !contender.verdict.empty()) continue;
    const bool better =
        decision.accepted < 0 || contender.gain > decision.contenders[static_cast<std::size_t>(decision.accepted)].gain;
    if (better) decision.accepted = static_cast<int>(i);
  }
  for (const std::size_t i : chosen) {
    Contender& contender = decision.contenders[i];
    if (contender.verdict.empty()) contender.verdict = static_cast<int>(i) == decision.accepted ? "accepted" : "second";
  }
  decision.why = decision.accepted < 0 ? "no candidate is at least 2% faster, measured again" : "";
  return decision;
}

}  // namespace fovea::cli

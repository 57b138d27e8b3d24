// Runs a kernel written as a lambda on the model, and says what a report holds.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isa/isa.h"
#include "model/launch.h"

namespace fovea::model_test {

using model::AsyncLanding;
using model::Code;
using model::LaunchConfig;
using model::Region;
using model::Report;

template <class Params>
Report run(const LaunchConfig& config, const std::vector<Region>& memory, void (*kernel)(const Params&),
           const Params& params) {
  struct Bound {
    void (*kernel)(const Params&);
    const Params* params;
  } const bound{kernel, &params};
  return model::launch(
      config, memory,
      [](const void* p) {
        const auto& call = *static_cast<const Bound*>(p);
        call.kernel(*call.params);
      },
      &bound);
}

template <class T>
Region region(std::vector<T>& values, const char* name, bool writable = true) {
  return {values.data(), values.size() * sizeof(T), writable, name};
}

inline std::string text(const Report& report) {
  return report.fault ? std::string(to_string(report.fault->code)) + ": " + report.fault->text : "no fault";
}

// The fault has this code, and its text names each of these.
inline testing::AssertionResult faults(const Report& report, Code code, const std::vector<std::string>& names) {
  if (!report.fault || report.fault->code != code) {
    return testing::AssertionFailure() << "expected " << to_string(code) << ", got " << text(report);
  }
  for (const std::string& name : names) {
    if (report.fault->text.find(name) == std::string::npos) {
      return testing::AssertionFailure() << "no \"" << name << "\" in: " << report.fault->text;
    }
  }
  return testing::AssertionSuccess();
}

// Every landing and schedule, with a few seeds.
inline std::vector<LaunchConfig> adversaries(LaunchConfig config) {
  std::vector<LaunchConfig> all;
  for (const AsyncLanding landing : {AsyncLanding::eager, AsyncLanding::lazy, AsyncLanding::random}) {
    for (const model::Schedule schedule : {model::Schedule::random, model::Schedule::run_ahead}) {
      for (u64 seed = 0; seed < 4; ++seed) {
        config.landing = landing;
        config.schedule = schedule;
        config.seed = seed;
        all.push_back(config);
      }
    }
  }
  return all;
}

}  // namespace fovea::model_test

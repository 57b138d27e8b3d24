// Device memory is DeviceCall's business; every range of every tensor is copied there and back.
#include "cpu/test_backend.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "cases/device_call.h"

namespace fovea::test_backend {
namespace {

constexpr double kModelScores = 5e5;             // of one call: seconds on the model
constexpr double kModelHeads = 4096;             // batch entries times heads: a CTA each at least
constexpr std::size_t kCopiedBytes = 1U << 31U;  // of one call

struct Tally : ::testing::Environment {
  std::string backend = std::getenv("FOVEA_TEST_BACKEND") == nullptr ? "cpu" : std::getenv("FOVEA_TEST_BACKEND");
  std::map<std::string, int> calls;  // by where they ran and why

  void TearDown() override {
    if (backend == "cpu") return;
    for (const auto& [where, count] : calls) std::printf("calls %s: %d\n", where.c_str(), count);
    EXPECT_GT(calls["that ran on " + backend], 0) << "no call ran on the backend that was asked for";
  }
};

Tally& tally() {
  static auto* instance = static_cast<Tally*>(::testing::AddGlobalTestEnvironment(new Tally));
  return *instance;
}
const Tally& at_start = tally();

double scores(const fovea_forward_args& a) {
  const bool packed = a.q.rank == 3;
  const double rows = packed ? static_cast<double>(a.q.shape[0]) : static_cast<double>(a.q.shape[0] * a.q.shape[1]);
  const double keys = static_cast<double>(a.k.rank == 3 ? a.k.shape[0] : a.k.shape[1]) *
                      static_cast<double>(a.page_table.rank == 2 ? a.page_table.shape[1] : 1);
  return rows * static_cast<double>(a.q.shape[a.q.rank - 2]) * keys;
}

std::size_t bytes(const std::vector<cases::HostRange>& ranges) {
  std::size_t sum = 0;
  for (const cases::HostRange& range : ranges) sum += range.size;
  return sum;
}

fovea_status on_device(fovea_context* context, const fovea_forward_args& args,
                       const std::vector<cases::HostRange>& ranges, fovea_error* error) {
  cases::DeviceCall device(args, ranges);
  EXPECT_EQ(device.error(), "");
  const fovea_status status = fovea_forward(context, &device.args(), error);
  device.download();
  EXPECT_EQ(device.error(), "");
  return status;
}

}  // namespace

fovea_status forward(fovea_context* context, const fovea_forward_args& args, fovea_error* error, bool* cpu_took_it) {
  const bool model = at_start.backend == "model";
  if (cpu_took_it != nullptr) *cpu_took_it = at_start.backend == "cpu";
  if (at_start.backend == "cpu") return fovea_forward(context, &args, error);
  fovea_forward_args elsewhere = args;
  elsewhere.backend = model ? FOVEA_BACKEND_MODEL : FOVEA_BACKEND_CUDA;
  const auto on_cpu = [&](const char* why) {
    ++tally().calls[std::string("that ran on the cpu: ") + why];
    if (cpu_took_it != nullptr) *cpu_took_it = true;
    return fovea_forward(context, &args, error);
  };
  if (fovea_supports(context, &args, nullptr) != FOVEA_OK) return on_cpu("refused anywhere");
  if (args.q.dtype == FOVEA_F32) return on_cpu("fp32");
  const double heads = static_cast<double>(args.q.shape[args.q.rank - 2] * (args.q.rank == 4 ? args.q.shape[0] : 1));
  if (model && (scores(args) > kModelScores || heads > kModelHeads)) return on_cpu("too large for the model");
  const auto ranges = cases::ranges_of(args);
  if (!model && bytes(ranges) > kCopiedBytes) return on_cpu("too large to copy");
  if (model && fovea_supports(context, &elsewhere, nullptr) != FOVEA_OK)
    return on_cpu("no kernel of the model serves it");
  const fovea_status status =
      model ? fovea_forward(context, &elsewhere, error) : on_device(context, elsewhere, ranges, error);
  if (status == FOVEA_HEAD_DIM || status == FOVEA_ALIGNMENT || status == FOVEA_DTYPE || status == FOVEA_UNSUPPORTED) {
    return on_cpu("no GPU kernel serves it");
  }
  ++tally().calls["that ran on " + at_start.backend];
  return status;
}

std::int32_t model_sm() {
  const char* const sm = std::getenv("FOVEA_TEST_MODEL_SM");
  return sm == nullptr ? 0 : std::atoi(sm);
}

}  // namespace fovea::test_backend

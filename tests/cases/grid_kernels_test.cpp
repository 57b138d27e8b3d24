// How many kernels the check suite compiles: few calls want one of their own, so a cold start waits for few.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cases/generate.h"
#include "cases/materialize.h"
#include "fovea/fovea.h"

namespace fovea::cases {
namespace {

using ContextPtr = std::unique_ptr<fovea_context, decltype(&fovea_context_destroy)>;

ContextPtr model_context(std::int32_t sm) {
  fovea_context_args args{};
  args.struct_size = sizeof(args);
  args.model_sm = sm;
  fovea_context* context = nullptr;
  EXPECT_EQ(fovea_context_create(&args, &context, nullptr), FOVEA_OK);
  return {context, &fovea_context_destroy};
}

// The spec that explain names for the call; empty where no GPU kernel serves it.
std::string spec_of(fovea_context* context, const Case& c) {
  Instance instance(c);
  instance.args().backend = FOVEA_BACKEND_MODEL;
  std::size_t size = 0;
  if (fovea_explain(context, &instance.args(), FOVEA_TEXT, nullptr, &size, nullptr) != FOVEA_BUFFER_TOO_SMALL)
    return {};
  std::string text(size, '\0');
  EXPECT_EQ(fovea_explain(context, &instance.args(), FOVEA_TEXT, text.data(), &size, nullptr), FOVEA_OK);
  const std::size_t begin = text.find(" spec=");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find(" digest=") - begin);
}

// The longest sequences of the 240 shapes take the kernels of shorter ones and are left out: their memory takes its
// time.
TEST(KernelsOfGrids, AreFew) {
  for (const std::int32_t sm : {80, 90}) {
    const ContextPtr context = model_context(sm);
    std::set<std::string> mma, wgmma;
    for (const std::vector<Case>& grid : {standard_grid(), feature_cases(), kernel_cases()}) {
      for (const Case& c : grid) {
        if (c.dtype == FOVEA_F32 || c.seqlen_kv > 512) continue;
        const std::string spec = spec_of(context.get(), c);
        if (!spec.empty()) (spec.find("Family::wgmma") == std::string::npos ? mma : wgmma).insert(spec);
      }
    }
    const std::size_t combines = 3;  // one for each dtype of out
    EXPECT_LE(mma.size() + combines, 64U) << sm;
    EXPECT_GE(mma.size(), 20U) << "the grids reach fewer kernels than they should";
    EXPECT_LE(wgmma.size(), sm == 90 ? 52U : 0U);
    std::printf("sm_%d: fwd_mma %zu, combine %zu, fwd_wgmma %zu\n", sm, mma.size(), combines, wgmma.size());
  }
}

}  // namespace
}  // namespace fovea::cases

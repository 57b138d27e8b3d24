// The toy's sources. Names and shapes follow the real tree: device/, device/isa_ptx/isa/, model/isa/.
#include "jit/toy.h"

#include <cstdlib>
#include <deque>

#include "core/text.h"

namespace fovea::testing {
namespace {

constexpr const char* kSpec = R"(
#pragma once
namespace fovea {
struct ToySpec { int factor = 1; int threads = 32; };
struct ToyParams { float* out; int count; };
struct ToyPlan { unsigned bytes; };
constexpr unsigned long long digest(const ToySpec& s) { return 1000ULL * static_cast<unsigned>(s.factor) + 7; }
constexpr ToyPlan plan_smem(const ToySpec& s) { return {static_cast<unsigned>(4 * s.threads)}; }
}
)";
constexpr const char* kKernel = R"(
#pragma once
#include "isa/isa.h"
#include <toy/spec.h>
namespace fovea::kernels {
template <ToySpec spec>
FOVEA_INLINE void toy(const ToyParams& p) {
  const int i = static_cast<int>(isa::tid_x());
  if (i < p.count) p.out[i] = static_cast<float>(spec.factor * i);
}
}
)";
constexpr const char* kPtxIsa = R"(
#pragma once
#define FOVEA_INLINE inline
#define FOVEA_ENTRY(threads, min_ctas) extern "C" __global__ void __launch_bounds__(threads, min_ctas)
#define FOVEA_GRID_CONSTANT const __grid_constant__
namespace fovea::isa {
inline unsigned tid_x() { unsigned x; asm("mov.u32 %0, %%tid.x;" : "=r"(x)); return x; }
}
)";
constexpr const char* kModelIsa = R"(
#pragma once
#define FOVEA_INLINE inline
#define FOVEA_ENTRY(threads, min_ctas) extern "C" void
#define FOVEA_GRID_CONSTANT const
#define FOVEA_MODEL_MODULE(entry, Params) \
  extern "C" void fovea_model_main(const void* p) { entry(*static_cast<const Params*>(p)); } static_assert(true)
namespace fovea::isa {
inline unsigned tid_x() { return 0; }
}
)";

// Bundles keep views: texts that are made here must stay.
std::string_view keep(std::string text) {
  static std::deque<std::string> texts;
  texts.push_back(std::move(text));
  return texts.back();
}

}  // namespace

Bundle toy_bundle(const std::string& salt) {
  return Bundle({{"device/isa_ptx/isa/isa.h", kPtxIsa},
                 {"device/toy/spec.h", kSpec},
                 {"device/toy/toy.h", keep(cat(kKernel, "// ", salt, "\n"))},
                 {"model/isa/isa.h", kModelIsa}});
}

KernelSource toy_source(int factor) {
  return {.header = "toy/toy.h",
          .spec_expr = cat("{.factor = ", factor, ", .threads = 64}"),
          .spec_type = "fovea::ToySpec",
          .params_type = "fovea::ToyParams",
          .kernel = "toy",
          .digest = 1000ULL * static_cast<unsigned>(factor) + 7,
          .smem_bytes = 256,
          .threads = 64,
          .min_ctas = 1};
}

Config toy_config(const std::string& cache_dir) {
  Config config = read_config().value();
  config.cache_dir = cache_dir;
  config.quiet = true;
  config.python_prefixes.push_back(FOVEA_SOURCE_DIR "/.venv");
  return config;
}

}  // namespace fovea::testing

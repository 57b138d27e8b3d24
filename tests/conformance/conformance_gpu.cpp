// Runs the conformance kernels on the GPU of this machine and records what they say; then the exhaustive sweeps.
// conformance_gpu FOLDER [CASE]...: writes golden.bin and wide.bin there and prints one line per case. The cubins are
// linked in (build_gpu.py), the driver is found at run time.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "conformance/cuda_driver.h"
#include "conformance/inputs.h"
#include "conformance/vectors.h"

extern "C" const unsigned char fovea_conformance_cubin[];
extern "C" const unsigned char fovea_sweep_cubin[];

namespace fovea::conformance {
namespace {

std::uint64_t upload_maps(Gpu& gpu, const Case& test, u32 ctas, std::uint64_t in, std::uint64_t out) {
  std::vector<TensorMap> maps;
  for (u32 cta = 0; cta < ctas; ++cta) {
    for (const MapSpec& spec : kMaps) {
      const std::uint64_t words = std::uint64_t{cta} * (spec.on_output ? test.out_words : test.in_words);
      // A case without stores has no room for those maps: they lie over its input and are not used.
      const bool room = !spec.on_output || test.out_words == kTmaOutWords;
      maps.push_back(gpu.encode(spec, room ? (spec.on_output ? out : in) + 4 * (words + spec.word_offset) : in));
    }
  }
  const std::uint64_t address = gpu.allocate(maps.size() * sizeof(TensorMap));
  gpu.upload(address, maps.data(), maps.size() * sizeof(TensorMap));
  return address;
}

Record record(const Case& test, u32 ctas) {
  const std::vector<u32> in = make_inputs(test, ctas);
  Record result{std::string(test.name), ctas, digest(in), std::vector<u32>(std::size_t{ctas} * test.out_words)};
  Gpu gpu(fovea_conformance_cubin);
  const std::uint64_t gpu_in = gpu.allocate(in.size() * 4 + 4);
  const std::uint64_t gpu_out = gpu.allocate(result.out.size() * 4);
  gpu.upload(gpu_in, in.data(), in.size() * 4);
  std::vector<std::uint64_t> arguments = {gpu_in, gpu_out};
  if (test.tensor_maps) arguments.push_back(upload_maps(gpu, test, ctas, gpu_in, gpu_out));
  gpu.run(std::string(test.kernel), {ctas, test.threads, test.cluster, test.smem_bytes}, arguments);
  gpu.download(result.out.data(), gpu_out, result.out.size() * 4);
  return result;
}

// Outputs that a second run gives differently would make bad goldens.
bool run_case(const Case& test, const std::filesystem::path& folder) {
  try {
    const Record wide = record(test, test.ctas * kWideFactor);
    if (record(test, test.ctas * kWideFactor).out != wide.out) {
      std::printf("%-28s UNSTABLE: two runs differ\n", wide.name.c_str());
      return false;
    }
    append_record(folder / "wide.bin", wide);
    if (test.tier == Tier::golden) append_record(folder / "golden.bin", record(test, test.ctas));
    std::printf("%-28s ok, %zu words\n", wide.name.c_str(), wide.out.size());
  } catch (const std::exception& error) {
    std::printf("%-28s FAILED: %s\n", std::string(test.name).c_str(), error.what());
    return false;
  }
  std::fflush(stdout);
  return true;
}

void sweep(const char* kernel) {
  constexpr u32 kWorst = 4;
  Gpu gpu(fovea_sweep_cubin);
  const std::uint64_t gpu_worst = gpu.allocate(kWorst * 8);
  const std::uint64_t gpu_counts = gpu.allocate(3 * 4);
  gpu.run(kernel, {2048, 256, 1, 0}, {gpu_worst, gpu_counts});
  u64 worst[kWorst];
  u32 counts[3];
  gpu.download(worst, gpu_worst, sizeof worst);
  gpu.download(counts, gpu_counts, sizeof counts);
  std::printf("%s: strange or differing %u %u %u;", kernel, counts[0], counts[1], counts[2]);
  constexpr const char* kNames[] = {"subnormal input", "tiny result", "|x| in [0.5, 2]", "other"};
  for (u32 b = 0; b < kWorst; ++b) {
    const f32 ulps = f32_from_bits(static_cast<u32>(worst[b] >> 32U));
    std::printf(" %s: %.4f ulp at 0x%08x;", kNames[b], static_cast<double>(ulps), static_cast<u32>(worst[b]));
  }
  std::printf("\n");
  std::fflush(stdout);
}

int run(const std::filesystem::path& folder, const std::vector<std::string>& only) {
  std::printf("device: %s\n", Gpu(fovea_conformance_cubin).device_name().c_str());
  int failures = 0;
  for (const Case& test : kCases) {
    bool wanted = only.empty();
    for (const std::string& name : only) wanted = wanted || name == test.name;
    if (wanted && !run_case(test, folder)) ++failures;
  }
  if (only.empty()) {
    for (const char* kernel :
         {"sweep_ex2_ftz", "sweep_ex2", "sweep_lg2_ftz", "sweep_rcp_ftz", "sweep_tanh", "sweep_convert"}) {
      sweep(kernel);
    }
  }
  std::printf("%d of %zu cases failed\n", failures, std::size(kCases));
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fovea::conformance

int main(int count, char** arguments) {
  if (count < 2) {
    std::printf("usage: conformance_gpu FOLDER [CASE]...\n");
    return 2;
  }
  try {
    return fovea::conformance::run(arguments[1], std::vector<std::string>(arguments + 2, arguments + count));
  } catch (const std::exception& error) {
    std::printf("conformance_gpu: %s\n", error.what());
    return 1;
  }
}

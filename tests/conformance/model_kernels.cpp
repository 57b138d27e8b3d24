// Compiled with the model on the include path: the kernels become host functions that a thread of the model runs.
#include "conformance/model_kernels.h"

#include "conformance/kernels.h"

namespace fovea::conformance {
namespace {

template <auto kKernel>
void entry(const void* arguments) {
  const auto& a = *static_cast<const KernelArguments*>(arguments);
  if constexpr (requires { kKernel(a.in, a.out, a.maps); }) {
    kKernel(a.in, a.out, a.maps);
  } else {
    kKernel(a.in, a.out);
  }
}

struct Named {
  std::string_view name;
  ModelEntry entry;
};

constexpr Named kEntries[] = {
    {"arithmetic", entry<arithmetic>},
    {"approximate", entry<approximate>},
    {"convert", entry<convert>},
    {"integer", entry<integer>},
    {"pair_bf16", entry<pair_bf16>},
    {"pair_f16", entry<pair_f16>},
    {"pair_approximate_bf16", entry<pair_approximate_bf16>},
    {"pair_approximate_f16", entry<pair_approximate_f16>},
    {"warp", entry<warp>},
    {"special", entry<special>},
    {"ldmatrix", entry<ldmatrix>},
    {"stmatrix", entry<stmatrix>},
    {"mma_k16_bf16", entry<mma_k16_bf16>},
    {"mma_k16_f16", entry<mma_k16_f16>},
    {"mma_k8_bf16", entry<mma_k8_bf16>},
    {"mma_k8_f16", entry<mma_k8_f16>},
    {"mma_k8_tf32", entry<mma_k8_tf32>},
    {"mma_k32_e4m3", entry<mma_k32_e4m3>},
    {"mma_k16_f16_acc16", entry<mma_k16_f16_acc16>},
    {"load_store", entry<load_store>},
    {"atomics", entry<atomics>},
    {"barriers", entry<barriers>},
    {"mbarrier_steps", entry<mbarrier_steps>},
    {"copies", entry<copies>},
    {"copies_mbarrier", entry<copies_mbarrier>},
    {"bulk", entry<bulk>},
    {"cluster_pair", entry<cluster_pair>},
    {"tma_load", entry<tma_load>},
    {"tma_load_hint", entry<tma_load_hint>},
    {"tma_prefetch", entry<tma_prefetch>},
    {"tma_store", entry<tma_store>},
    {"tma_reduce", entry<tma_reduce>},
    {"tma_multicast", entry<tma_multicast>},
    {"reallocation", entry<reallocation>},
    {"wgmma_bf16_n64", entry<wgmma_bf16_n64>},
    {"wgmma_bf16_n128_trans_b", entry<wgmma_bf16_n128_trans_b>},
    {"wgmma_bf16_n256_trans_a", entry<wgmma_bf16_n256_trans_a>},
    {"wgmma_bf16_n8", entry<wgmma_bf16_n8>},
    {"wgmma_f16_n32_trans", entry<wgmma_f16_n32_trans>},
    {"wgmma_f16_n16", entry<wgmma_f16_n16>},
    {"wgmma_bf16_rs_n192_trans_b", entry<wgmma_bf16_rs_n192_trans_b>},
    {"wgmma_f16_rs_n96", entry<wgmma_f16_rs_n96>},
    {"wgmma_e4m3_n128", entry<wgmma_e4m3_n128>},
    {"wgmma_e4m3_rs_n64", entry<wgmma_e4m3_rs_n64>},
};

}  // namespace

ModelEntry model_entry(std::string_view kernel) {
  for (const Named& named : kEntries) {
    if (named.name == kernel) return named.entry;
  }
  return nullptr;
}

}  // namespace fovea::conformance

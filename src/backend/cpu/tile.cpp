// Run-time dispatch of the tile kernels: this file is compiled once per SIMD target by Highway.
#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/tile.cpp"
#include "hwy/foreach_target.h"
// foreach_target.h must come first: it re-includes this file per target.
#include "backend/cpu/engine_amx-inl.h"
#include "backend/cpu/engine_f32-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu {
namespace HWY_NAMESPACE {

void run_tile_f32(std::span<const TileTask> members) { run_tile<EngineF32>(members); }

#if FOVEA_CPU_AMX_TARGET
void run_tile_amx_bf16(std::span<const TileTask> members) { run_tile<EngineAmx>(members); }
#else
// Never chosen: CpuFeatures::amx_bf16 needs an AVX-512 CPU, and there the branch above is what dispatch finds.
void run_tile_amx_bf16(std::span<const TileTask> members) { run_tile<EngineF32>(members); }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace fovea::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

HWY_EXPORT(run_tile_f32);
void tile_f32(std::span<const TileTask> members) { HWY_DYNAMIC_DISPATCH(run_tile_f32)(members); }

HWY_EXPORT(run_tile_amx_bf16);
void tile_amx_bf16(std::span<const TileTask> members) { HWY_DYNAMIC_DISPATCH(run_tile_amx_bf16)(members); }

}  // namespace fovea::cpu
#endif

# Which SIMD targets the cpu backend is compiled for. Highway compiles the tile kernels once per target, and that is
# most of a build's time. Builds that test the code and not the dispatch take "native": sanitizers, fuzzing, mutants.
# There the kernels are instrumented like all other code, save what is inline assembly: no sanitizer sees AMX's loads.
set(FOVEA_SIMD_TARGETS "all" CACHE STRING
    "SIMD targets of the cpu backend: all (chosen at run time), or native (only the best of the building machine)")
set_property(CACHE FOVEA_SIMD_TARGETS PROPERTY STRINGS all native)

function(fovea_simd_targets target)
  if(FOVEA_SIMD_TARGETS STREQUAL "native")
    target_compile_options(${target} PRIVATE -march=native)
    target_compile_definitions(${target} PRIVATE HWY_COMPILE_ONLY_STATIC)
  elseif(NOT FOVEA_SIMD_TARGETS STREQUAL "all")
    message(FATAL_ERROR "FOVEA_SIMD_TARGETS is ${FOVEA_SIMD_TARGETS}; it can be all or native")
  endif()
endfunction()

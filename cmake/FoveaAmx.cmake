# AMX in the cpu backend is inline assembly; this asks whether compiler and assembler know the instructions.
# FOVEA_HAVE_AMX is defined when they do; without it cpu_features says "not in this build". Whether the machine has AMX
# is decided at run time.
include(CheckCXXSourceCompiles)

function(fovea_enable_amx target)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    check_cxx_source_compiles(
      "int main() {
         asm volatile(\"tdpbf16ps %%tmm2, %%tmm1, %%tmm0\" ::);
         asm volatile(\"vcvtne2ps2bf16 %%zmm0, %%zmm1, %%zmm2\" ::);
         return 0;
       }"
      FOVEA_HAVE_AMX)
  endif()
  if(FOVEA_HAVE_AMX)
    target_compile_definitions(${target} PUBLIC FOVEA_HAVE_AMX=1)
  endif()
endfunction()

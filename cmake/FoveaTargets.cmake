# What every target of the project shares: language level, warnings, sanitizers; and the globbing helper.
# Which sources form which target is the business of each directory's CMakeLists.txt.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(fovea_options INTERFACE)
target_compile_options(fovea_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports overlapping copies inside std::string's own operator+ (GCC bug 105651); GCC 13 does not.
  target_compile_options(fovea_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(FOVEA_WERROR)
  target_compile_options(fovea_options INTERFACE -Werror)
endif()
if(FOVEA_SANITIZE)
  # -g1, functions and lines, is what a sanitizer's report shows; types and variables cost a third of the build.
  target_compile_options(fovea_options INTERFACE -fsanitize=${FOVEA_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(fovea_options INTERFACE -fsanitize=${FOVEA_SANITIZE})
  if(FOVEA_SANITIZE MATCHES "undefined")
    target_compile_options(fovea_options INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
if(FOVEA_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "FOVEA_FUZZ needs clang (libFuzzer); configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(fovea_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# fovea_drives_tests(<target>): code that is run once per test, not per element: compiled for fast builds, which
# templates of readers, options and matchers make slow. Not optimised at all where sanitizers instrument it: they check
# as much.
function(fovea_drives_tests target)
  if(FOVEA_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# fovea_glob(<variable> <pattern>...): sources matching the patterns, looked at again on every build.
function(fovea_glob variable)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${ARGN})
  list(SORT found)
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

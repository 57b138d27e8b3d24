#!/usr/bin/env bash
# Installs the Debian packages that a job lacks: install_deps.sh build|lint|test|bench|all.
# When nothing is missing, it makes no network call and prints nothing. Without root it prints the line to run and
# stops.
set -euo pipefail

job="${1:-all}"
missing=()

need_command() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need_header() {
  printf '#include <%s>\n' "$1" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1 || missing+=("$2")
}
need_python_module() { python3 -c "import $1" >/dev/null 2>&1 || missing+=("$2"); }
need_fuzzer() {
  local probe
  probe="$(mktemp -d)"
  # A file of its own keeps the compiler from guessing the language.
  printf 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }\n' >"$probe/probe.cpp"
  clang++ -fsanitize=fuzzer,address "$probe/probe.cpp" -o "$probe/probe" >/dev/null 2>&1 || missing+=("clang")
  rm -rf "$probe"
}

needs_build() {
  need_command g++ g++
  need_command make make
  need_command cmake cmake
  need_command pkg-config pkg-config
  need_command python3 python3
  need_header hwy/highway.h libhwy-dev
  need_header boost/context/fiber.hpp libboost-context-dev
  need_header CLI/CLI.hpp libcli11-dev
  need_header nlohmann/json.hpp nlohmann-json3-dev
  need_header gtest/gtest.h libgtest-dev
  need_header rapidcheck.h librapidcheck-dev
}
needs_lint() {
  need_command g++ g++
  need_command python3 python3
  need_command clang-format clang-format
  need_header hwy/highway.h libhwy-dev
  need_header boost/context/fiber.hpp libboost-context-dev
  need_header CLI/CLI.hpp libcli11-dev
  need_header nlohmann/json.hpp nlohmann-json3-dev
  need_header gtest/gtest.h libgtest-dev
}
needs_venv() { need_python_module ensurepip python3-venv; }

case "$job" in
  build) needs_build ;;
  lint) needs_lint ;;
  bench) needs_build; needs_venv ;;
  test | all)
    needs_build
    needs_venv
    need_command clang-format clang-format
    need_command readelf binutils
    need_fuzzer
    ;;
  *)
    echo "usage: $0 build|lint|test|bench|all" >&2
    exit 2
    ;;
esac

if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)

if ! command -v apt-get >/dev/null 2>&1; then
  echo "missing (Debian package names): ${missing[*]}" >&2
  echo "this is no Debian system: install them with its own package manager, then run the same command again" >&2
  exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
else
  echo "missing packages; run this line, then the same command again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
  exit 1
fi

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
started=$SECONDS
echo "installing with apt-get: ${missing[*]}"
for step in update "install -y ${missing[*]}"; do
  # shellcheck disable=SC2086
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q $step >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt-get ${step%% *} failed; the packages needed are: ${missing[*]}" >&2
    exit 1
  fi
  echo "  apt-get ${step%% *}: done after $((SECONDS - started)) s"
done

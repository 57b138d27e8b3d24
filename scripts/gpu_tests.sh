#!/usr/bin/env bash
# What a machine with an NVIDIA GPU can show: the instructions against the model's golden vectors, the kernels against
# the fp64 reference, the same under compute-sanitizer, real tensors, and a table of speeds where PyTorch is.
# `make gpu-test` builds first; FOVEA names another binary, CONFORMANCE another folder of the recorder, CALL_TESTS
# another binary of the call tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly fovea="${FOVEA:-build/fovea}"
readonly conformance="${CONFORMANCE:-build/conformance}"
readonly call_tests="${CALL_TESTS:-build/tests/fovea_cpu_tests}"
readonly out="${GPU_TEST_OUT:-build/gpu-test}"
mkdir -p "$out"
export FOVEA_LOG="${FOVEA_LOG:-quiet}"
failed=0

step() {
  local name="$1"
  shift
  local begin=$SECONDS status=0
  "$@" >"$out/$name.log" 2>&1 || status=$?
  printf '%-28s %-6s %4d s\n' "$name" "$([[ $status == 0 ]] && echo ok || echo FAIL)" $((SECONDS - begin))
  if ((status != 0)); then
    failed=1
    tail -5 "$out/$name.log"
  fi
}

skip() { printf '%-28s %-6s %s\n' "$1" skip "$2"; }

if ! "$fovea" doctor | grep -q '^cuda .*sm_'; then
  "$fovea" doctor | grep '^cuda' >&2 || true
  echo "gpu_tests: no usable GPU; everything that needs none is in make test" >&2
  exit 2
fi
"$fovea" doctor | grep '^cuda'

if [[ -x "$conformance/conformance_gpu" ]]; then
  step conformance "$conformance/conformance_gpu" "$out"
else
  skip conformance "$conformance/conformance_gpu is not built (tests/conformance/build_gpu.py)"
fi
step warmup "$fovea" warmup
step kernel_cases "$fovea" check --grid kernels --backend cuda
step feature_cases "$fovea" check --grid features --backend cuda
step standard_grid "$fovea" check --grid standard --backend cuda
if [[ -x "$call_tests" ]]; then
  step bug_reports env FOVEA_TEST_BACKEND=cuda "$call_tests" --gtest_filter='BugReports*'
  step scores env FOVEA_TEST_BACKEND=cuda "$call_tests" --gtest_filter='FarScores*:GrowingScores*'
  step properties env FOVEA_TEST_BACKEND=cuda "$call_tests" --gtest_filter='Property*:EmptyCalls*'
  step views env FOVEA_TEST_BACKEND=cuda "$call_tests" --gtest_filter='*UnalignedViews*:MaskBytes*'
else
  skip bug_reports "$call_tests is not built"
fi
for layer in 2 5; do
  step "demo_layer$layer" "$fovea" run --in data/demo.safetensors --prefix "layer$layer." --ignore mask --device cuda \
    --expect "data/demo.safetensors:layer$layer.out" --check
done
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck initcheck synccheck; do  # one case at a time: racecheck stands still with 16
    step "sanitizer_$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$fovea" check --grid kernels --quick \
      --backend cuda --jobs 1
  done
else
  skip sanitizer "compute-sanitizer is not on the path"
fi
if python3 -c 'import fovea, pytest, torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  step python python3 -m pytest -q -p no:cacheprovider tests/python/package/test_cuda.py \
    tests/python/package/test_cupy_jax.py
  step ring_attention python3 -m torch.distributed.run \
    --nproc-per-node "$(python3 -c 'import torch; print(torch.cuda.device_count())')" examples/ring_attention.py \
    --causal --dtype bfloat16 --seqlen 6720
  step python_grid python3 tests/python/package/grid.py --device cuda
  tail -1 "$out/python_grid.log"
  step python_peers python3 tests/python/package/grid.py --device cuda --set peers --every 7
  tail -1 "$out/python_peers.log"
  step python_host_time python3 bench/bench_python.py
  cat "$out/python_host_time.log"
else
  skip python "python3 lacks fovea (make wheel), pytest, or torch with CUDA"
fi
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  step bench python3 bench/bench_gpu.py --quick --markdown "$out/bench.md"
  tail -4 "$out/bench.log"
  step bench_flat_loop python3 bench/flat_loop.py --max-loop 1.07
  cat "$out/bench_flat_loop.log"
  step bench_features python3 bench/bench_gpu_features.py --markdown "$out/bench_features.md"
  cat "$out/bench_features.md"
else
  skip bench "python3 has no torch with CUDA"
fi
exit $failed

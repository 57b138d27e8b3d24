#!/usr/bin/env bash
# The demo: attention on real Q, K, V of a transformer (data/README.md), compared with the model's own float64 output.
# One row per layer and per way of saying which keys are padding: as a mask, and as lengths. Exits 1 when an error
# exceeds its limit. `make demo` builds the tool first; FOVEA names another one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly fovea="${FOVEA:-build/fovea}"
readonly data=data/demo.safetensors
readonly layers=(0 2 5)
readonly repeats=200

if [[ ! -x "$fovea" ]]; then
  echo "demo: $fovea is not there; run 'make demo', which builds it first" >&2
  exit 2
fi

# cells: the row's texts, tab-separated, from the JSON report on standard input. The limit is that of docs/contract.md
# section 5, which --check works out for this very call; here it bounds the distance to the model's output.
cells() {
  python3 -c '
import json, sys
report = json.load(sys.stdin)
values = [report["q"].split()[-1]]
values += ["%.3g" % report[name] for name in ("expect_max_error", "check_limit", "time_ms", "gflops")]
good = report["expect"] == report["check"] == "ok" and report["expect_max_error"] <= report["check_limit"]
print("\t".join([*values, "ok" if good else "FAIL"]))'
}

readonly row='%-7s %-8s %-5s %10s %10s %9s %9s  %s\n'
failed=0

# show LAYER PADDING IGNORED: runs one layer without the operand IGNORED and prints its row.
show() {
  local report line status=0
  local -a texts
  report="$("$fovea" run --in "$data" --prefix "layer$1." --ignore "$3" --expect "$data:layer$1.out" \
    --check --repeat "$repeats" --format json)" || status=$?
  if ((status > 1)); then
    echo "demo: fovea run ended with exit code $status" >&2
    exit "$status"
  fi
  line="$(cells <<<"$report")"
  IFS=$'\t' read -ra texts <<<"$line"
  if ((status != 0)) || [[ "${texts[-1]}" != ok ]]; then failed=1; fi
  # shellcheck disable=SC2059
  printf "$row" "layer$1" "$2" "${texts[@]}"
}

echo "Attention of all-MiniLM-L6-v2 on two texts: batch 2, 54 and 36 tokens, 12 heads, head dim 32 ($data)."
echo "max error: largest |fovea - model's own float64 output| over every element; time: median of $repeats calls."
echo
# shellcheck disable=SC2059
printf "$row" layer padding dtype 'max error' limit 'time ms' GFLOP/s verdict
for layer in "${layers[@]}"; do
  show "$layer" mask seqused_kv
  show "$layer" lengths mask
done
echo
if ((failed)); then
  echo "A result is out of its limit."
  exit 1
fi
echo "Every element of every layer is within its limit."

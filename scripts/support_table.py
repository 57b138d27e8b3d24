#!/usr/bin/env python3
"""Writes the support table of README.md from supports(): what `fovea explain` says about one call per feature.

support_table.py [--check] [--fovea PATH]. GPU kernels are asked through the model, so that no GPU is needed.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- support table: begin -->\n", "<!-- support table: end -->\n"

BF16 = ["--dtype", "bf16"]
FEATURES = {
    "f32": ["--dtype", "f32"],
    "bf16": BF16,
    "f16": ["--dtype", "f16"],
    "bf16 in, f32 out": [*BF16, "--out-dtype", "f32"],
    "head dim 8 to 256, multiples of 8": [*BF16, "--head-dim", "40", "--head-dim-v", "256"],
    "any head dim to 256": [*BF16, "--head-dim", "37"],
    "head dim above 256": [*BF16, "--head-dim", "320"],
    "GQA, MQA": [*BF16, "--heads-q", "8", "--heads-kv", "1"],
    "causal, window, offsets": [*BF16, "--causal", "--window", "64,0", "--q-offset", "5"],
    "bool mask": [*BF16, "--mask-shape", "1,1,128,128"],
    "additive bias": [*BF16, "--bias-shape", "1,8,128,128"],
    "softcap": [*BF16, "--softcap", "30"],
    "sink": [*BF16, "--with-sink"],
    "used lengths (seqused)": [*BF16, "--batch", "2", "--used-kv", "100,128"],
    "packed sequences (cu_seqlens)": [*BF16, "--lengths-q", "40,128", "--lengths-kv", "40,128"],
    "pages of 32 keys, and multiples": [*BF16, "--page-size", "32", "--used-kv", "128"],
    "pages of any size": [*BF16, "--page-size", "7", "--used-kv", "128"],
    "split keys": [*BF16, "--num-splits", "4"],
}
CPU, GPU = ["--backend", "cpu"], ["--backend", "model"]
HOPPER = [*GPU, "--arch", "sm_90"]
KERNELS = {"cpu_fwd_f32": CPU, "cpu_fwd_amx_bf16": CPU, "fwd_mma": GPU, "fwd_wgmma": HOPPER}


def verdicts(fovea, arguments):
    command = [fovea, "explain", "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"support_table.py: fovea explain {' '.join(arguments)}: {done.stderr.strip()}")
    return {verdict["kernel"]: verdict for verdict in json.loads(done.stdout)["verdicts"]}


def cell(verdict):
    # A machine without AMX refuses for that reason alone: the table speaks of kernels, not of this machine.
    served = verdict["served"] or verdict.get("refusal", {}).get("asked") == "AMX-BF16 tiles"
    return "yes" if served else "-"


def table(fovea):
    lines = ["| feature | " + " | ".join(f"`{name}`" for name in KERNELS) + " |", "|---|" + "---|" * len(KERNELS)]
    for feature, arguments in FEATURES.items():
        cells = [cell(verdicts(fovea, [*arguments, *backend])[name]) for name, backend in KERNELS.items()]
        lines.append(f"| {feature} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 when README.md is stale")
    parser.add_argument("--fovea", default=str(ROOT / "build" / "fovea"))
    options = parser.parse_args()
    text = README.read_text()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    fresh = head + BEGIN + table(options.fovea) + END + tail
    if options.check:
        if fresh != text:
            print("README.md: the support table is stale; run scripts/support_table.py", file=sys.stderr)
            return 1
        return 0
    README.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())

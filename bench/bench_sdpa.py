#!/usr/bin/env python3
"""fovea against PyTorch's scaled_dot_product_attention on this CPU, in one run and with the same number of threads.

Both sides read the same tensors in place. Before a point is timed, the two results are compared. Times are minima of
single calls taken in alternating turns, ratios are medians over pairs of turns (clock.py). Masks, biases and empty
tiles are fovea against fovea.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools" / "ctypes"))

import clock  # noqa: E402
import fovea_abi  # noqa: E402
import goals  # noqa: E402
import machine  # noqa: E402
import points  # noqa: E402
import tables  # noqa: E402

# Largest |fovea - torch| that counts as agreement, as a share of the largest |torch|. Both sides round.
AGREEMENT = {"fp32": 2.0**-15, "bf16": 2.0**-5}


def torch_call(tensors, point):
    mask = tensors.features.get("mask", tensors.features.get("bias"))
    if mask is not None and mask.dtype != torch.bool:
        mask = mask.to(tensors.q.dtype)
    options = {"attn_mask": mask, "is_causal": point.causal, "enable_gqa": point.heads_q != point.heads_kv}
    attention = torch.nn.functional.scaled_dot_product_attention
    q, k, v = tensors.q, tensors.k, tensors.v
    return lambda: attention(q, k, v, **options)


def check_agreement(out, wanted, point):
    limit = AGREEMENT[point.dtype] * wanted.abs().max().item()
    error = (out.float() - wanted.float()).abs().max().item()
    if not error <= limit:
        raise SystemExit(f"{point.name}: the results differ by {error:.3g}, more than {limit:.3g}: nothing is timed")


def measure(point, context, effort, peak):
    """One row: the point's fields, times in ms (minimum, median), ratios, memory."""
    tensors = points.Tensors(point)
    operands = tensors.fovea()
    fovea = context.prepared(causal=point.causal, backend="cpu", **operands, **tensors.features)
    statuses = []
    added_bytes = machine.added_peak_bytes(lambda: statuses.append(fovea()))
    if statuses != [fovea_abi.OK]:
        raise SystemExit(f"{point.name}: fovea_forward returned status {statuses}")
    against_torch = point.suite in ("prefill", "decode")
    reference = torch_call(tensors, point)
    check_agreement(tensors.out, reference(), point)
    other = reference if against_torch else context.prepared(causal=point.causal, backend="cpu", **operands)
    theirs, ours = clock.side_by_side(other, fovea, effort)
    gflops = point.flops / ours.best * 1e-9
    row = {name: getattr(point, name) for name in point.__dataclass_fields__}
    row |= {"point": point.name, "fovea_ms": ours.best * 1e3, "fovea_median_ms": ours.median * 1e3}
    row |= {"gflops": gflops, "added_bytes": added_bytes, "samples": len(ours.seconds)}
    row["peak_share"] = gflops / peak if peak and point.dtype == "fp32" else None
    if against_torch:
        row |= {"torch_ms": theirs.best * 1e3, "torch_median_ms": theirs.median * 1e3}
        row |= {"ratio": clock.paired_ratio(theirs, ours), "ratio_of_minima": theirs.best / ours.best}
    else:
        row |= {"without_ms": theirs.best * 1e3, "without_median_ms": theirs.median * 1e3}
        row |= {"factor": clock.paired_ratio(ours, theirs), "factor_of_minima": ours.best / theirs.best}
    return row


def run(chosen, context, effort, peak):
    rows = []
    width = max(len(point.name) for point in chosen)
    for point in chosen:
        if not rows or rows[-1]["suite"] != point.suite:
            print(f"\n{tables.header(point.suite, width)}")
        rows.append(measure(point, context, effort, peak))
        print(tables.line(rows[-1], width), flush=True)
    return rows


def settle_peak(library, threads, peak, rows):
    """The peak again, after the run: the higher of the two counts, so that a disturbed measurement flatters nobody."""
    if not peak:
        return None
    later = max(peak, machine.fma_peak_gflops(library.path, threads))
    for row in rows:
        if row["peak_share"] is not None:
            row["peak_share"] *= peak / later
    return later


def facts_of(library, context, peak, rows):
    added = [row["added_bytes"] for row in rows if row["added_bytes"] is not None]
    return {
        "date": datetime.date.today().isoformat(),
        "processor": machine.processor(),
        "threads on both sides": context.num_threads,
        "fovea": library.version(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "fp32 FMA peak": f"{peak:.0f} GFLOP/s" if peak else "not measured",
        "fovea workspace at the end": f"{context.workspace_bytes / 2**20:.1f} MiB",
        "largest rise of resident memory in a first fovea call": f"{max(added) / 2**20:.1f} MiB" if added else "-",
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter points, fewer samples")
    parser.add_argument("--only", default="", metavar="TEXT", help="only points whose name contains this text")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores")
    parser.add_argument("--json", metavar="FILE", help="also write every row and fact")
    parser.add_argument("--markdown", metavar="FILE", help="also write the tables, for docs/performance.md")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a goal is missed")
    return parser.parse_args()


def main():
    options = parse_arguments()
    chosen = [point for suite in points.SUITES.values() for point in suite(options.quick) if options.only in point.name]
    if not chosen:
        raise SystemExit(f"no point's name contains {options.only!r}")
    torch.set_num_threads(options.threads)
    library = fovea_abi.Library()
    peak = machine.fma_peak_gflops(library.path, options.threads)
    with library.context(options.threads) as context, torch.inference_mode():
        rows = run(chosen, context, clock.QUICK if options.quick else clock.Effort(), peak)
        peak = settle_peak(library, options.threads, peak, rows)
        facts = facts_of(library, context, peak, rows)
    verdicts = goals.verdicts(rows)
    print()
    for name, value in facts.items():
        print(f"{name}: {value}")
    print()
    for verdict in verdicts:
        print(verdict)
    if options.json:
        text = json.dumps({"facts": facts, "rows": rows, "verdicts": list(map(str, verdicts))}, indent=1)
        pathlib.Path(options.json).write_text(text + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(tables.markdown(rows, facts, verdicts))
    return 1 if options.strict and any(verdict.met is False for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())

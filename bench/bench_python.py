#!/usr/bin/env python3
"""Host time of a call from Python, on a call that has no work: an empty batch.

Such a call goes all the way - arguments, tensors by DLPack, checks, plan - and ends where a kernel would be launched.
Times are the least of several rounds. Run it on a quiet machine.
"""

import argparse
import datetime
import sys
import time

import torch

import fovea
import fovea.torch_ops  # noqa: F401  makes torch.ops.fovea
import machine

ROUNDS = 25
CALLS = 4000


def microseconds(call):
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, time.perf_counter() - begin)
    return best / CALLS * 1e6


def rows():
    """(what, goal in us or None, call)."""
    q = torch.empty(0, 512, 16, 128, dtype=torch.bfloat16)
    k = torch.empty(0, 512, 2, 128, dtype=torch.bfloat16)
    out, lse = torch.empty_like(q), torch.empty(0, 16, 512)
    operators = torch.ops.fovea
    yield "fovea.attention, out= given", 3.0, lambda: fovea.attention(q, k, k, out=out)
    yield "fovea.attention, causal, out= and lse= given", 3.0, lambda: fovea.attention(
        q, k, k, causal=True, out=out, lse=lse, return_lse=True
    )
    yield "fovea.attention, out made", None, lambda: fovea.attention(q, k, k)
    yield "torch.ops.fovea.attention_out", 10.0, lambda: operators.attention_out(q, k, k, out=out)
    yield "torch.ops.fovea.attention, out made", None, lambda: operators.attention(q, k, k)
    arrays = [x.float().numpy() for x in (q, k, out)]
    yield "fovea.attention, NumPy, out= given", None, lambda: fovea.attention(
        arrays[0], arrays[1], arrays[1], out=arrays[2]
    )
    yield "the result made by torch", None, lambda: q.new_empty((*q.shape[:-1], k.shape[-1]))
    yield "an empty function", None, lambda: None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strict", action="store_true", help="exit 1 when a goal is missed")
    options = parser.parse_args()
    missed = False
    print(f"{'call':<48}{'us':>8}{'goal':>8}")
    with torch.inference_mode():
        for name, goal, call in rows():
            call()
            taken = microseconds(call)
            missed |= goal is not None and taken > goal
            print(f"{name:<48}{taken:>8.2f}{goal or '-':>8}", flush=True)
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"{datetime.date.today()}, {machine.processor()}, Python {python}, torch {torch.__version__}")
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())

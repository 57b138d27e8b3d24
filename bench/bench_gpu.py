#!/usr/bin/env python3
"""fovea against PyTorch's attention backends on this GPU: one run, shape by shape, in turns of random order.

Grid: batch * seqlen = 16384 tokens, heads * head dim = 2048, lengths 1k to 16k, causal and not.
Before a point is timed, fovea and FlashAttention-2 are compared. A time is the second smallest of several medians of
CUDA-event times; TFLOP/s count 4 * pairs * D operations, half of the pairs when causal. Needs torch with CUDA.

bench_gpu.py [--rounds N] [--markdown FILE] [--quick] [--head-dims 64 128 256]
FOVEA_LIB_DIR names the directory of libfovea.so.
"""

import argparse
import datetime
import math
import pathlib
import random
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools" / "ctypes"))

import fovea_abi  # noqa: E402

TOKENS = 16384
HIDDEN = 2048
LENGTHS = (1024, 2048, 4096, 8192, 16384)
PEERS = {"FA2": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}
AGREEMENT = 2.0**-5  # of the largest element; both sides round to bf16


def peer_call(backend, q, k, v, causal):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))

    def call():
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return call


def median_ms(call, repeats):
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * repeats)]
    for i in range(repeats):
        events[2 * i].record()
        call()
        events[2 * i + 1].record()
    torch.cuda.synchronize()
    return sorted(events[2 * i].elapsed_time(events[2 * i + 1]) for i in range(repeats))[repeats // 2]


def best_ms(calls, rounds):
    """Milliseconds by contestant, who take turns in a random order: the second smallest of `rounds` medians.

    A card at its power limit slows down under load: whoever always comes first gains up to 5%.
    """
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    names = list(calls)
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            times[name].append(median_ms(calls[name], 5))
    return {name: sorted(values)[min(1, rounds - 1)] for name, values in times.items()}


def teraflops(milliseconds, seqlen, causal):
    """TFLOP/s by contestant for a point of the grid."""
    flops = 4 * TOKENS * seqlen * HIDDEN / (2 if causal else 1)
    return {name: flops / ms / 1e9 for name, ms in milliseconds.items()}


def require_close(out, wanted, what):
    error = (out.float() - wanted.float()).abs().max().item()
    if not error <= AGREEMENT * wanted.float().abs().max().item():
        raise SystemExit(f"{what}: results differ by {error:.3g}")


def measure(context, head_dim, seqlen, causal, rounds):
    """TFLOP/s by contestant for one point."""
    batch, heads = TOKENS // seqlen, HIDDEN // head_dim
    q, k, v = (torch.randn(batch, seqlen, heads, head_dim, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    out = torch.full_like(q, math.nan)
    lse = torch.full((batch, heads, seqlen), math.nan, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    fovea = context.prepared(q=q, k=k, v=v, out=out, lse=lse, causal=causal, backend="cuda", stream=stream)
    calls = {"fovea": fovea} | {name: peer_call(backend, q, k, v, causal) for name, backend in PEERS.items()}
    if fovea() != fovea_abi.OK:
        raise SystemExit(f"fovea refused head_dim={head_dim} seqlen={seqlen}")
    wanted = calls["FA2"]().transpose(1, 2)
    require_close(out, wanted, f"head_dim={head_dim} seqlen={seqlen} causal={causal}")
    return teraflops(best_ms(calls, rounds), seqlen, causal)


def geometric_mean(values):
    return math.exp(sum(math.log(x) for x in values) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--head-dims", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--quick", action="store_true", help="lengths 2k and 8k only")
    options = parser.parse_args()
    lines = [f"{torch.cuda.get_device_name()}, {datetime.date.today()}, torch {torch.__version__}, bf16, TFLOP/s", ""]
    lines += ["| head dim | seqlen | causal | fovea | FA2 | cuDNN | fovea/FA2 | fovea/cuDNN |", "|" + "---:|" * 8]
    ratios = {}
    print("\n".join(lines), flush=True)
    with fovea_abi.Library().context() as context:
        for head_dim in options.head_dims:
            for causal in (False, True):
                for seqlen in (2048, 8192) if options.quick else LENGTHS:
                    rate = measure(context, head_dim, seqlen, causal, options.rounds)
                    against = [rate["fovea"] / rate[name] for name in PEERS]
                    for name, ratio in zip(PEERS, against):
                        ratios.setdefault((head_dim, name), []).append(ratio)
                    cells = [head_dim, seqlen, "yes" if causal else "no", *(f"{rate[n]:.0f}" for n in rate)]
                    lines.append("| " + " | ".join(map(str, [*cells, *(f"{r:.2f}" for r in against)])) + " |")
                    print(lines[-1], flush=True)
    for (head_dim, name), values in ratios.items():
        mean = geometric_mean(values)
        lines.append(f"head dim {head_dim}, fovea/{name}: geometric mean {mean:.3f}, lowest {min(values):.2f}")
        print(lines[-1])
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What masks, biases and decoding cost on this GPU: one run, contestants in turns of random order.

scores: fovea with a bool mask or a bias against fovea without, head dims 64 and 128, S 4096.
decode: few query tokens over many cached keys, GQA 8:1, head dim 128, against PyTorch's cuDNN and FlashAttention-2
backends. Buffers together are larger than the level-2 cache, or a point says so. Times are those of bench_gpu.py.

bench_gpu_features.py [--set scores|decode|all] [--rounds N] [--markdown FILE]
"""

import argparse
import math
import pathlib
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools" / "ctypes"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import fovea_abi  # noqa: E402
from bench_gpu import best_ms, require_close  # noqa: E402

DEVICE = "cuda"


def prepared(context, q, k, v, **features):
    out = torch.full((*q.shape[:3], v.shape[3]), math.nan, device=DEVICE, dtype=q.dtype)
    stream = torch.cuda.current_stream().cuda_stream
    call = context.prepared(q=q, k=k, v=v, out=out, backend="cuda", stream=stream, **features)
    if call() != fovea_abi.OK:
        raise SystemExit("fovea refused a point")
    return call, out


def sdpa(backend, q, k, v, mask=None, gqa=False):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))

    def call():
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=gqa)

    return call


def score_features(seqlen, heads, block):
    full = torch.ones(1, 1, seqlen, seqlen, dtype=torch.bool, device=DEVICE)
    kept = torch.rand(seqlen // block, seqlen // block, device=DEVICE) < 0.25
    kept.fill_diagonal_(True)
    blocks = kept.repeat_interleave(block, 0).repeat_interleave(block, 1)[None, None].contiguous()
    random = torch.rand(1, 1, seqlen, seqlen, device=DEVICE) < 0.5
    keys = torch.rand(1, 1, 1, seqlen, device=DEVICE) < 0.9
    per_head = full.expand(1, heads, seqlen, seqlen).contiguous()
    bias = torch.randn(1, 1, seqlen, seqlen, device=DEVICE)
    return {
        "mask all true": {"mask": full},
        "mask all true, per head": {"mask": per_head},
        "mask random half": {"mask": random},
        "mask quarter of blocks": {"mask": blocks},
        "mask of keys": {"mask": keys},
        "bias bf16": {"bias": bias.bfloat16()},
        "bias bf16, per head": {"bias": bias.bfloat16().expand(1, heads, seqlen, seqlen).contiguous()},
        "bias fp32": {"bias": bias},
    }


def bench_scores(context, rounds):
    lines = ["| scores, S 4096 | D 64 ms | ratio | D 128 ms | ratio |", "|---|---|---|---|---|"]
    columns = {}
    for head_dim in (64, 128):
        seqlen, batch, heads = 4096, 4, 2048 // head_dim
        q, k, v = (torch.randn(batch, seqlen, heads, head_dim, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
        calls = {"none": prepared(context, q, k, v)[0]}
        for name, features in score_features(seqlen, heads, 256).items():
            calls[name], out = prepared(context, q, k, v, **features)
            mask = features.get("mask", features.get("bias"))
            mask = mask if mask.dtype == torch.bool else mask.to(q.dtype)
            mask = mask.expand(1, heads, seqlen, seqlen)
            wanted = sdpa(SDPBackend.EFFICIENT_ATTENTION, q[:1], k[:1], v[:1], mask)()
            require_close(out[:1], wanted.transpose(1, 2), f"{name} D {head_dim}")
        columns[head_dim] = best_ms(calls, rounds)
    for name in columns[64]:
        cells = [f"{columns[d][name]:.3f} | {columns[d][name] / columns[d]['none']:.2f}" for d in (64, 128)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def bench_decode(context, rounds):
    points = ((1, 8192, 1), (1, 131072, 1), (32, 8192, 1), (128, 8192, 1), (32, 8192, 8), (1, 8192, 8))
    lines = ["| decode, GQA 64/8, D 128 | fovea us | GB/s | cuDNN us | FA2 us | fovea/cuDNN time |"]
    lines.append("|---|---|---|---|---|---|")
    for batch, seqlen, queries in points:
        q = torch.randn(batch, queries, 64, 128, device=DEVICE, dtype=torch.bfloat16)
        k, v = (torch.randn(batch, seqlen, 8, 128, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
        fovea, out = prepared(context, q, k, v)
        calls = {"fovea": fovea}
        for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("FA2", SDPBackend.FLASH_ATTENTION)):
            calls[name] = sdpa(backend, q, k, v, gqa=True)
            require_close(out, calls[name]().transpose(1, 2), f"decode {batch} {seqlen} {queries} {name}")
        ms = best_ms(calls, rounds)
        rate = 2 * k.numel() * 2 / ms["fovea"] / 1e6
        lines.append(
            f"| B {batch}, Sk {seqlen}, Sq {queries} | {1e3 * ms['fovea']:.1f} | {rate:.0f} | "
            f"{1e3 * ms['cuDNN']:.1f} | {1e3 * ms['FA2']:.1f} | {ms['fovea'] / ms['cuDNN']:.2f} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=["scores", "decode", "all"], default="all")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    context = fovea_abi.Library().context()
    torch.manual_seed(7)
    lines = [f"{torch.cuda.get_device_name()}, torch {torch.__version__}", ""]
    for what, bench in (("scores", bench_scores), ("decode", bench_decode)):
        if options.set in (what, "all"):
            lines += [*bench(context, options.rounds), ""]
    print("\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What masks, biases, other features and decoding cost on this GPU: one run, contestants in turns of random order.

scores: fovea with a bool mask, a bias or both against fovea without, head dims 64 and 128, S 4096.
prefill: a window of 128 keys against the time that copying its tensors takes; packed sequences of mixed lengths against
FlashAttention-2's; softcap and pages against the dense call without. D 64 and 128, 16384 tokens.
decode: few query tokens over many cached keys, GQA 8:1, head dim 128, against PyTorch's cuDNN and FlashAttention-2
backends; groups: more of them, 32 heads on 4, head dims 64 and 128. Buffers together are larger than the level-2 cache,
or a point says so. Times are those of bench_gpu.py.

bench_gpu_features.py [--set scores|prefill|decode|groups|all] [--rounds N] [--markdown FILE]
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
from bench_gpu import HIDDEN, TOKENS, best_ms, require_close  # noqa: E402

DEVICE = "cuda"


def prepared(context, q, k, v, **features):
    out = torch.full((*q.shape[:-1], v.shape[-1]), math.nan, device=DEVICE, dtype=q.dtype)
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
        "mask all true, bias bf16": {"mask": full, "bias": bias.bfloat16()},
        "mask quarter of blocks, bias bf16": {"mask": blocks, "bias": bias.bfloat16()},
    }


def as_one_bias(features, dtype):
    """Mask and bias as PyTorch takes them: in one tensor, hidden keys at -inf."""
    mask, bias = features.get("mask"), features.get("bias")
    if bias is None:
        return mask
    return bias.to(dtype) if mask is None else torch.where(mask, bias.to(dtype), -math.inf)


def bench_scores(context, rounds):
    lines = ["| scores, S 4096 | D 64 ms | ratio | D 128 ms | ratio |", "|---|---|---|---|---|"]
    columns = {}
    for head_dim in (64, 128):
        seqlen, batch, heads = 4096, 4, 2048 // head_dim
        q, k, v = (torch.randn(batch, seqlen, heads, head_dim, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
        calls = {"none": prepared(context, q, k, v)[0]}
        for name, features in score_features(seqlen, heads, 256).items():
            calls[name], out = prepared(context, q, k, v, **features)
            mask = as_one_bias(features, q.dtype).expand(1, heads, seqlen, seqlen)
            wanted = sdpa(SDPBackend.EFFICIENT_ATTENTION, q[:1], k[:1], v[:1], mask)()
            require_close(out[:1], wanted.transpose(1, 2), f"{name} D {head_dim}")
        columns[head_dim] = best_ms(calls, rounds)
    for name in columns[64]:
        cells = [f"{columns[d][name]:.3f} | {columns[d][name] / columns[d]['none']:.2f}" for d in (64, 128)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def copy_bytes_per_ms(rounds):
    """What a copy moves, read and written, with tensors of a prefill's size."""
    source = torch.randn(TOKENS * HIDDEN * 4, device=DEVICE, dtype=torch.bfloat16)
    target = torch.empty_like(source)
    return 2 * source.numel() * source.element_size() / best_ms({"copy": lambda: target.copy_(source)}, rounds)["copy"]


def window_rows(context, rounds, q, k, v, head_dim):
    seqlen, width = q.shape[1], 128
    call, out = prepared(context, q, k, v, window=(width - 1, 0))
    distance = torch.arange(seqlen, device=DEVICE)[:, None] - torch.arange(seqlen, device=DEVICE)
    mask = ((distance >= 0) & (distance < width)).expand(1, q.shape[2], seqlen, seqlen)
    wanted = sdpa(SDPBackend.EFFICIENT_ATTENTION, q[:1], k[:1], v[:1], mask)()
    require_close(out[:1], wanted.transpose(1, 2), f"window D {head_dim}")
    floor = 4 * q.numel() * q.element_size() / copy_bytes_per_ms(rounds)
    return [f"window 128 | {best_ms({'fovea': call}, rounds)['fovea']:.3f} | {floor:.3f} (copy)"]


def packed_rows(context, rounds, q, k, v, head_dim):
    lengths = torch.tensor([4096, 100, 3000, 1024, 17, 2048, 640, 1500, 333, 2600, 1026], dtype=torch.int32)
    cu = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0)).to(DEVICE)
    q, k, v = (x.reshape(-1, x.shape[2], x.shape[3])[: int(lengths.sum())] for x in (q, k, v))
    rows = []
    for causal in (False, True):
        call, out = prepared(context, q, k, v, cu_seqlens_q=cu, cu_seqlens_kv=cu, causal=causal)
        longest = int(lengths.max())
        peer = lambda: torch.ops.aten._flash_attention_forward(  # noqa: E731
            q, k, v, cu, cu, longest, longest, 0.0, causal, False
        )[0]
        require_close(out, peer(), f"packed D {head_dim}")
        ms = best_ms({"fovea": call, "FA2": peer}, rounds)
        rows.append(f"packed{', causal' if causal else ''} | {ms['fovea']:.3f} | {ms['FA2']:.3f} (FlashAttention-2)")
    return rows


def other_rows(context, rounds, q, k, v, head_dim):
    batch, seqlen = q.shape[:2]
    plain, expected = prepared(context, q, k, v)
    calls = {"none": plain, "softcap": prepared(context, q, k, v, softcap=30.0)[0]}
    for size in (16, 128):
        pages = batch * seqlen // size
        order = torch.randperm(pages, device=DEVICE)
        table = order.to(torch.int32).reshape(batch, seqlen // size)
        paged_k, paged_v = (torch.empty_like(x).reshape(pages, size, *x.shape[2:]) for x in (k, v))
        paged_k[order], paged_v[order] = k.reshape(paged_k.shape), v.reshape(paged_v.shape)
        used = torch.full((batch,), seqlen, device=DEVICE, dtype=torch.int32)
        calls[f"pages of {size}"], out = prepared(context, q, paged_k, paged_v, page_table=table, seqused_kv=used)
        require_close(out, expected, f"pages of {size} D {head_dim}")
    ms = best_ms(calls, rounds)
    return [f"{name} | {ms[name]:.3f} | {ms['none']:.3f} (without)" for name in calls if name != "none"]


def bench_prefill(context, rounds):
    lines = ["| prefill | D | ms | against ms |", "|---|---|---|---|"]
    for head_dim in (64, 128):
        shape = (TOKENS // 4096, 4096, HIDDEN // head_dim, head_dim)
        q, k, v = (torch.randn(shape, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
        for rows in (window_rows, packed_rows, other_rows):
            for row in rows(context, rounds, q, k, v, head_dim):
                name, rest = row.split(" | ", 1)
                lines.append(f"| {name} | {head_dim} | {rest} |")
    return lines


def cached_rows(context, rounds, heads_q, heads_kv, head_dim, points):
    """A table row for each (batch, keys, queries)."""
    for batch, seqlen, queries in points:
        q = torch.randn(batch, queries, heads_q, head_dim, device=DEVICE, dtype=torch.bfloat16)
        k, v = (torch.randn(batch, seqlen, heads_kv, head_dim, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
        fovea, out = prepared(context, q, k, v)
        calls = {"fovea": fovea}
        for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("FA2", SDPBackend.FLASH_ATTENTION)):
            calls[name] = sdpa(backend, q, k, v, gqa=True)
            require_close(out, calls[name]().transpose(1, 2), f"{batch} {seqlen} {queries} {name}")
        ms = best_ms(calls, rounds)
        rate = 2 * k.numel() * 2 / ms["fovea"] / 1e6
        yield (
            f"| {heads_q} on {heads_kv}, D {head_dim}, B {batch}, Sk {seqlen}, Sq {queries} | {1e3 * ms['fovea']:.1f} "
            f"| {rate:.0f} | {1e3 * ms['cuDNN']:.1f} | {1e3 * ms['FA2']:.1f} | {ms['fovea'] / ms['cuDNN']:.2f} |"
        )


def cached_table(what):
    return [f"| {what} | fovea us | GB/s | cuDNN us | FA2 us | fovea/cuDNN time |", "|---|---|---|---|---|---|"]


def bench_decode(context, rounds):
    points = ((1, 8192, 1), (1, 131072, 1), (32, 8192, 1), (128, 8192, 1), (32, 8192, 8), (1, 8192, 8))
    return [*cached_table("decode"), *cached_rows(context, rounds, 64, 8, 128, points)]


def bench_groups(context, rounds):
    points = ((1, 4096, 64), (8, 4096, 16), (8, 4096, 64), (32, 4096, 16), (32, 4096, 32), (32, 4096, 192))
    rows = [row for head_dim in (64, 128) for row in cached_rows(context, rounds, 32, 4, head_dim, points)]
    return [*cached_table("groups"), *rows]


def main():
    benches = {"scores": bench_scores, "prefill": bench_prefill, "decode": bench_decode, "groups": bench_groups}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=[*benches, "all"], default="all")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    context = fovea_abi.Library().context()
    torch.manual_seed(7)
    lines = [f"{torch.cuda.get_device_name()}, torch {torch.__version__}", ""]
    for what, bench in benches.items():
        if options.set in (what, "all"):
            lines += [*bench(context, options.rounds), ""]
    print("\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Shapes through the Python package, on CPUs and GPUs: grid.py [--device cuda] [--set standard|peers] [--every N].

standard: fp16 and bf16, causal and not, B 1 and 2, S 128 to 4096, MHA, GQA and MQA, D 64 and 128: 240 shapes, each
through fovea.compat.fa2 and fovea.compat.sdpa. peers: the shapes and tolerances of FlashAttention 2's published tests
(flash_attn_func: ten pairs of lengths, head dims 32 to 256, causal, local, softcap), expressed anew.

Expected values are float64 on a CPU and float32 on a GPU. The limit is theirs: twice the largest error of the same
formula in the input dtype, here head by head, plus a floor of one rounding of the head's largest element.
"""

import argparse
import dataclasses
import itertools
import sys
import time

import torch

from fovea.compat import fa2, sdpa

ROUNDING = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


@dataclasses.dataclass(frozen=True)
class Shape:
    dtype: str
    batch: int
    heads: int
    heads_kv: int
    seqlen_q: int
    seqlen_k: int
    head_dim: int
    causal: bool
    window: tuple = (-1, -1)
    softcap: float = 0.0

    def __str__(self):
        return "-".join(str(value) for value in dataclasses.astuple(self)).replace(" ", "")


def standard():
    lengths = (128, 512, 1024, 2048, 4096)
    for dtype, causal, batch, length, heads_kv, dim in itertools.product(
        DTYPES, (False, True), (1, 2), lengths, (8, 2, 1), (64, 128)
    ):
        yield Shape(dtype, batch, 8, heads_kv, length, length, dim, causal)


def peers():
    lengths = [(113, 203), (128, 217), (113, 211), (108, 256), (256, 512), (512, 256), (1024, 1024), (1023, 1024)]
    lengths += [(1024, 1023), (2048, 2048)]
    dims = (32, 40, 59, 64, 96, 111, 128, 160, 192, 224, 256)
    for (seqlen_q, seqlen_k), dim, dtype, heads_kv, causal, local, softcap in itertools.product(
        lengths, dims, DTYPES, (6, 2, 1), (False, True), (False, True), (0.0, 50.0)
    ):
        # The windows there are random; here they are spread over the lengths.
        window = (seqlen_k * (dim % 7) // 8, seqlen_k * (dim % 5) // 8) if local else (-1, -1)
        yield Shape(dtype, 4, 6, heads_kv, seqlen_q, seqlen_k, dim, causal, window, softcap)


SETS = {"standard": standard, "peers": peers}


def evaluate(q, k, v, shape, causal_from, dtype):
    """softmax(q k^T) v of one batch entry and head, in `dtype`; q, k, v are [S, D]. Rows without keys give 0."""
    scores = (q.to(dtype) @ k.to(dtype).T) * shape.head_dim**-0.5
    if shape.softcap:
        scores = shape.softcap * torch.tanh(scores / shape.softcap)
    distance = torch.arange(k.shape[0], device=q.device) - torch.arange(q.shape[0], device=q.device)[:, None]
    distance = distance - causal_from
    left, right = shape.window
    hidden = torch.zeros_like(distance, dtype=torch.bool)
    if shape.causal:
        hidden |= distance > 0
    if left >= 0:
        hidden |= distance < -left
    if right >= 0:
        hidden |= distance > right
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf).to(torch.promote_types(dtype, torch.float32)), dim=1)
    weights = weights.masked_fill(hidden.all(dim=1, keepdim=True), 0.0)
    return weights.to(dtype) @ v.to(dtype)


def worst(out, q, k, v, shape, causal_from):
    """The largest share of its limit that an element's error takes."""
    exact_dtype = torch.float64 if q.device.type == "cpu" else torch.float32
    group, share = shape.heads // shape.heads_kv, 0.0
    for b, h in itertools.product(range(shape.batch), range(shape.heads)):
        operands = (q[b, :, h], k[b, :, h // group], v[b, :, h // group], shape, causal_from)
        exact = evaluate(*operands, exact_dtype)
        plain = evaluate(*operands, q.dtype)
        limit = 2 * (plain.to(exact_dtype) - exact).abs().max() + ROUNDING[q.dtype] * exact.abs().max()
        error = (out[b, :, h].to(exact_dtype) - exact).abs()
        if not bool(torch.isfinite(error).all()):
            return float("inf")
        share = max(share, (error.max() / limit).item())
    return share


def run(shape, device):
    """{function: worst share of the limit} of one shape with fresh random inputs."""
    dtype = DTYPES[shape.dtype]

    def random(length, heads):
        return torch.randn(shape.batch, length, heads, shape.head_dim, device=device).to(dtype)

    q, k, v = random(shape.seqlen_q, shape.heads), *(random(shape.seqlen_k, shape.heads_kv) for _ in range(2))
    named = {"causal": shape.causal, "window_size": shape.window, "softcap": shape.softcap}
    diagonal = shape.seqlen_k - shape.seqlen_q
    shares = {"fa2": worst(fa2.flash_attn_func(q, k, v, **named), q, k, v, shape, diagonal)}
    if shape.window == (-1, -1) and not shape.softcap:
        query, key, value = (x.transpose(1, 2) for x in (q, k, v))
        out = sdpa.scaled_dot_product_attention(query, key, value, is_causal=shape.causal, enable_gqa=True)
        shares["sdpa"] = worst(out.transpose(1, 2), q, k, v, shape, 0)
    return shares


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--set", choices=SETS, default="standard")
    parser.add_argument("--every", type=int, default=1, help="only every N-th shape")
    options = parser.parse_args()
    shapes = list(SETS[options.set]())[:: options.every]
    failed, highest, begin = 0, 0.0, time.monotonic()
    for number, shape in enumerate(shapes, start=1):
        for name, share in run(shape, options.device).items():
            highest = max(highest, share)
            if not share <= 1.0:
                failed += 1
                print(f"FAILED {name} {shape}: {share:.2f} of the limit")
        if number % 20 == 0 or number == len(shapes):
            seconds = time.monotonic() - begin
            print(f"{number} of {len(shapes)} shapes, worst {highest:.2f} of the limit, {seconds:.0f} s", flush=True)
    print(f"{len(shapes)} shapes on {options.device}: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

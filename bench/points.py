"""What is measured: the points of every suite, as data, and the tensors of one point.

Each point's tensors are made once and read in place by both sides: storage [B, H, S, D], which PyTorch takes as it is
and fovea as a [B, S, H, D] view.
"""

import dataclasses

import torch

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclasses.dataclass(frozen=True)
class Point:
    suite: str  # prefill, decode: against PyTorch; overhead, tiles: fovea with a feature against fovea without
    dtype: str
    batch: int
    heads_q: int
    heads_kv: int
    seqlen_q: int
    seqlen_kv: int
    head_dim: int
    causal: bool = False
    feature: str = ""  # a name of FEATURES; overhead and tiles only

    @property
    def name(self):
        heads = f"H{self.heads_q}" if self.heads_q == self.heads_kv else f"H{self.heads_q}:{self.heads_kv}"
        shape = f"B{self.batch} {heads} Sq{self.seqlen_q} Sk{self.seqlen_kv} D{self.head_dim}"
        words = [self.suite, self.dtype, shape, "causal" if self.causal else "", self.feature]
        return " ".join(word for word in words if word)

    @property
    def flops(self):
        """2 for each multiply-add of Q K^T and P V over visible keys; the softmax is not counted."""
        pairs = self.seqlen_q * self.seqlen_kv
        if self.causal:
            pairs -= self.seqlen_q * (self.seqlen_q - 1) // 2
        return 4 * self.batch * self.heads_q * pairs * self.head_dim


def prefill(quick):
    lengths = (128, 512, 1024) if quick else (128, 512, 1024, 4096)
    return [
        Point("prefill", dtype, batch, 8, 8, length, length, head_dim, causal)
        for dtype in DTYPES
        for head_dim in (64, 128)
        for batch in (1, 4)
        for length in lengths
        for causal in (False, True)
        if not (quick and batch == 4 and length > 512)
    ]


def decode(quick):
    lengths = (1024, 16384) if quick else (1024, 4096, 16384, 65536)
    return [Point("decode", dtype, 1, 32, 4, 1, length, 128) for dtype in DTYPES for length in lengths]


def overhead(quick):
    lengths = (512,) if quick else (512, 2048)
    return [
        Point("overhead", dtype, 2, 8, 8, length, length, head_dim, feature=feature)
        for dtype in DTYPES
        for head_dim in (64, 128)
        for length in lengths
        for feature in ("mask dense", "mask padding", "bias fp32", "bias bf16", "bias fp32 per head")
    ]


def tiles(quick):
    lengths = (1024,) if quick else (2048, 4096)
    return [
        Point("tiles", dtype, 1, 8, 8, length, length, 128, feature="mask 8 blocks")
        for dtype in DTYPES
        for length in lengths
    ]


SUITES = {"prefill": prefill, "decode": decode, "overhead": overhead, "tiles": tiles}


def _true(*shape):
    return torch.ones(*shape, dtype=torch.bool)


def _block_diagonal(p, blocks):
    block_q = torch.arange(p.seqlen_q) * blocks // p.seqlen_q
    block_kv = torch.arange(p.seqlen_kv) * blocks // p.seqlen_kv
    return (block_q[:, None] == block_kv[None, :])[None, None]


# The masks of the overhead suite hide nothing: the work stays the same and only the reading of the mask is added.
FEATURES = {
    "mask dense": lambda p: {"mask": _true(1, 1, p.seqlen_q, p.seqlen_kv)},
    "mask padding": lambda p: {"mask": _true(p.batch, 1, 1, p.seqlen_kv)},
    "mask 8 blocks": lambda p: {"mask": _block_diagonal(p, 8)},
    "bias fp32": lambda p: {"bias": torch.randn(1, 1, p.seqlen_q, p.seqlen_kv)},
    "bias bf16": lambda p: {"bias": torch.randn(1, 1, p.seqlen_q, p.seqlen_kv).bfloat16()},
    "bias fp32 per head": lambda p: {"bias": torch.randn(1, p.heads_q, p.seqlen_q, p.seqlen_kv)},
}


@dataclasses.dataclass
class Tensors:
    """q, k, v, out as [B, H, S, D]; features: mask or bias as fovea takes them."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    out: torch.Tensor
    features: dict

    def __init__(self, point):
        torch.manual_seed(0)
        dtype = DTYPES[point.dtype]
        kv_shape = (point.batch, point.heads_kv, point.seqlen_kv, point.head_dim)
        self.q = torch.randn(point.batch, point.heads_q, point.seqlen_q, point.head_dim).to(dtype)
        self.k, self.v = (torch.randn(*kv_shape).to(dtype) for _ in range(2))
        self.out = torch.full_like(self.q, torch.nan)
        self.features = FEATURES[point.feature](point) if point.feature else {}

    def fovea(self):
        """The operands of the C ABI: the same memory, seen as [B, S, H, D]."""
        return {name: getattr(self, name).transpose(1, 2) for name in ("q", "k", "v", "out")}

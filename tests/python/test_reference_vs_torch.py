"""The fp64 reference (libfovea_reference.so) against PyTorch in float64 on the CPU, over a seeded grid.

Two opinions: the contract's formula in torch operations, and F.scaled_dot_product_attention where it can express the
call. Outputs are float64 whatever the input dtype, so every case is held to 1e-12. Skipped where torch is missing.
"""

import ctypes
import itertools
import math
import pathlib
import sys
import zlib

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed, so there is no second opinion to compare with")
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "ctypes"))
import fovea_abi as abi  # noqa: E402

F64, F32, BF16, F16 = torch.float64, torch.float32, torch.bfloat16, torch.float16
INF = math.inf
TOLERANCE = 1e-12


@pytest.fixture(scope="session")
def reference():
    return ctypes.CDLL(str(abi.find_library("fovea_reference")))


def call(function, q, k, v, out_dtype=F64, **features):
    """out and lse, NaN-filled before the call. q is [B, Sq, Hq, D], or [T, Hq, D] with cu_seqlens_q."""
    out = torch.full((*q.shape[:-1], v.shape[-1]), math.nan, dtype=out_dtype)
    lse_shape = (q.shape[1], q.shape[0]) if q.dim() == 3 else (q.shape[0], q.shape[2], q.shape[1])
    lse = torch.full(lse_shape, math.nan, dtype=F64)
    args = abi.forward_args(q=q, k=k, v=v, out=out, lse=lse, **features)
    assert function(ctypes.byref(args), None) == abi.OK
    return out, lse


def visible_keys(seqlen_q, seqlen_kv, causal=False, window=(None, None), diagonal=None):
    i = torch.arange(seqlen_q)[:, None] + (seqlen_kv - seqlen_q if diagonal is None else diagonal)
    j = torch.arange(seqlen_kv)[None, :]
    left, right = window
    keep = torch.ones(seqlen_q, seqlen_kv, dtype=torch.bool)
    keep &= (j <= i) if causal else keep
    keep &= (j >= i - left) if left is not None else keep
    keep &= (j <= i + right) if right is not None else keep
    return keep


def per_query_head(t, heads):
    return t if t.shape[1] in (1, heads) else t.repeat_interleave(heads // t.shape[1], dim=1)


def formula(q, k, v, keep, softmax_scale=None, softcap=None, mask=None, bias=None, sink=None):
    """Sections 2 and 3 of the contract, in the dtype of q. Returns out [B, S, H, D] and lse [B, H, S]."""
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    heads = q.shape[1]
    k, v = (t.repeat_interleave(heads // t.shape[1], dim=1) for t in (k, v))
    s = (q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale) * (q @ k.mT)
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    if bias is not None:
        s = s + per_query_head(bias, heads).to(s.dtype)
    keep = keep.expand(s.shape) if mask is None else keep & per_query_head(mask, heads)
    s = s.masked_fill(~keep, -INF)
    lse = torch.logsumexp(s, dim=-1)
    out = torch.softmax(s, dim=-1) @ v
    if sink is not None:
        out = out / (1 + torch.exp(sink[:, None] - lse))[..., None]
    out = out.masked_fill((lse == -INF)[..., None], 0)
    return out.transpose(1, 2), lse


def torch_sdpa(q, k, v, keep, softmax_scale=None, mask=None, bias=None):
    heads = q.shape[2]
    keep = keep if mask is None else keep & per_query_head(mask, heads)
    added = torch.zeros(keep.shape, dtype=F64).masked_fill(~keep, -INF)
    if bias is not None:
        added = added + per_query_head(bias, heads).double()
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    gqa = q.shape[1] != k.shape[1]
    return scaled_dot_product_attention(q, k, v, added, scale=softmax_scale, enable_gqa=gqa).transpose(1, 2)


def assert_close(got, expected, what):
    """Element by element; NaN and infinities must stand in the same places."""
    assert got.shape == expected.shape
    bad = (got.isnan() != expected.isnan()) | (got.isinf() != expected.isinf()) | (got.isinf() & (got != expected))
    finite = got.isfinite() & expected.isfinite()
    bad |= finite & ~((got - expected).abs() <= TOLERANCE * expected.abs().clamp(min=1))
    assert not bad.any(), f"{what}: {int(bad.sum())} bad, first at {bad.nonzero()[0].tolist()}"


def random_inputs(generator, dtype, batch, seqlen_q, seqlen_kv, heads_q, heads_kv, head_dim_qk, head_dim_v):
    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=F64).to(dtype)

    q = normal(batch, seqlen_q, heads_q, head_dim_qk)
    return q, normal(batch, seqlen_kv, heads_kv, head_dim_qk), normal(batch, seqlen_kv, heads_kv, head_dim_v)


# name -> the optional operands and settings of a call, made for its shape
def features_named(name, generator, dtype, batch, seqlen_q, seqlen_kv, heads_q, heads_kv):
    def mask(*shape):
        return torch.rand(shape, generator=generator) < 0.6

    def normal(*shape, to):
        return torch.randn(shape, generator=generator, dtype=F64).to(to)

    return {
        "plain": {},
        "scale": {"softmax_scale": 0.375},
        "mask": {"mask": mask(batch, heads_q, seqlen_q, seqlen_kv)},
        "mask_kv_heads": {"mask": mask(1, heads_kv, 1, seqlen_kv)},
        "bias": {"bias": normal(1, heads_q, seqlen_q, seqlen_kv, to=dtype)},
        "bias_hides": {"bias": normal(batch, 1, seqlen_q, seqlen_kv, to=F16).masked_fill(mask(seqlen_q, 1), -INF)},
        "bias_view": {"bias": normal(1, 1, seqlen_q, seqlen_kv, to=F32).expand(batch, heads_kv, -1, -1)},
        "softcap": {"softcap": 0.75},
        "sink": {"sink": normal(heads_q, to=F32)},
        "window": {"window": (2, 1)},
        "left_window": {"window": (3, None)},
        "offsets": {"q_offset": 5, "kv_offset": 3, "window": (None, 2)},
        "everything": {
            "softmax_scale": -0.5,
            "softcap": 1.5,
            "window": (3, None),
            "mask": mask(1, heads_q, seqlen_q, seqlen_kv),
            "bias": normal(batch, heads_kv, 1, seqlen_kv, to=dtype),
            "sink": normal(heads_q, to=F64),
        },
    }[name]


FEATURES = "plain scale mask mask_kv_heads bias bias_hides bias_view softcap sink window left_window offsets".split()
FEATURES.append("everything")
SHAPES = [  # batch, seqlen_q, seqlen_kv, heads_q, heads_kv, head_dim_qk, head_dim_v
    (2, 6, 6, 4, 4, 8, 8),
    (2, 5, 11, 4, 2, 16, 7),
    (1, 11, 5, 6, 1, 5, 24),
    (1, 1, 37, 8, 2, 64, 64),
]


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dtype", [F64, F32, BF16, F16], ids=["f64", "f32", "bf16", "f16"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("name", FEATURES)
def test_dense(reference, name, shape, dtype, causal):
    generator = torch.Generator().manual_seed(zlib.crc32(repr((name, shape, dtype, causal)).encode()))
    inputs = random_inputs(generator, dtype, *shape)
    features = features_named(name, generator, dtype, *shape[:5])
    out, lse = call(reference.fovea_reference_forward, *inputs, causal=causal, **features)

    wide = [t.double() for t in inputs]
    diagonal = features.pop("q_offset") - features.pop("kv_offset") if "q_offset" in features else None
    window = features.pop("window", (None, None))
    keep = visible_keys(shape[1], shape[2], causal, window, diagonal)
    expected, expected_lse = formula(*wide, keep, **features)
    assert_close(out, expected, "out against the formula")
    assert_close(lse, expected_lse, "lse against the formula")
    if not features.keys() & {"softcap", "sink"}:
        empty = (expected_lse == -INF).transpose(1, 2)[..., None]
        assert_close(out, torch_sdpa(*wide, keep, **features).masked_fill(empty, 0), "out against SDPA")


@pytest.mark.parametrize("heads", [(3, 3), (6, 2)], ids=["mha", "gqa"])
def test_is_causal_on_a_square(reference, heads):
    q, k, v = random_inputs(torch.Generator().manual_seed(1), F64, 2, 9, 9, *heads, 12, 5)
    out, _ = call(reference.fovea_reference_forward, q, k, v, causal=True)
    views = [t.transpose(1, 2) for t in (q, k, v)]
    expected = scaled_dot_product_attention(*views, is_causal=True, enable_gqa=heads[0] != heads[1])
    assert_close(out, expected.transpose(1, 2), "out against SDPA(is_causal)")


def ragged(generator, lengths, *row, dtype):
    """A packed tensor with one row that belongs to nobody at its end, and its offsets."""
    total = sum(lengths) + 1
    return (
        torch.randn(total, *row, generator=generator, dtype=F64).to(dtype),
        torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32),
    )


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dtype", [F64, F32, BF16, F16], ids=["f64", "f32", "bf16", "f16"])
@pytest.mark.parametrize("name", ["plain", "sink", "softcap", "window", "bias_view", "mask_kv_heads"])
@pytest.mark.parametrize("paged", [False, True], ids=["packed", "paged"])
def test_varlen(reference, paged, name, dtype, causal):
    lengths_q, lengths_kv, heads_q, heads_kv = (3, 0, 7, 4), (5, 2, 0, 9), 4, 2
    generator = torch.Generator().manual_seed(zlib.crc32(repr((paged, name, dtype, causal)).encode()))
    q, cu_q = ragged(generator, lengths_q, heads_q, 8, dtype=dtype)
    k, cu_kv = ragged(generator, lengths_kv, heads_kv, 8, dtype=dtype)
    v, _ = ragged(generator, lengths_kv, heads_kv, 6, dtype=dtype)
    features = features_named(name, generator, dtype, 4, 7, 9, heads_q, heads_kv)
    layout = {"cu_seqlens_kv": cu_kv}
    stored_k, stored_v = k, v
    if paged:
        stored_k, stored_v, layout = pages_of(k, v, lengths_kv, page_size=3)
    out, lse = call(
        reference.fovea_reference_forward, q, stored_k, stored_v, cu_seqlens_q=cu_q, causal=causal, **layout, **features
    )

    window = features.pop("window", (None, None))
    for b, (n, m) in enumerate(zip(lengths_q, lengths_kv)):
        rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_kv[b], cu_kv[b + 1])
        local = {x: t if x not in ("mask", "bias") else t[b % t.shape[0]][None, :, :n, :m] for x, t in features.items()}
        wide = [t[None].double() for t in (q[rows], k[keys], v[keys])]
        expected, expected_lse = torch.zeros(1, n, heads_q, 6), torch.full((1, heads_q, n), -INF)
        if m != 0:
            expected, expected_lse = formula(*wide, visible_keys(n, m, causal, window), **local)
        assert_close(out[rows][None], expected, f"out of sequence {b}")
        assert_close(lse[:, rows][None], expected_lse, f"lse of sequence {b}")
    assert out[-1].isnan().all() and lse[:, -1].isnan().all(), "a row that belongs to nobody was written"


def pages_of(k, v, lengths, page_size):
    """Packed keys as a NaN-filled cache with its pages in a shuffled order."""
    needed = [-(-n // page_size) for n in lengths]
    order = torch.randperm(sum(needed) + 2, generator=torch.Generator().manual_seed(9)).tolist()
    table = torch.full((len(lengths), max(needed)), -1, dtype=torch.int32)
    caches = [torch.full((len(order), page_size, *t.shape[1:]), math.nan, dtype=t.dtype) for t in (k, v)]
    row = 0
    for b, n in enumerate(lengths):
        for p in range(needed[b]):
            table[b, p] = order.pop()
        for j in range(n):
            for cache, packed in zip(caches, (k, v)):
                cache[table[b, j // page_size], j % page_size] = packed[row]
            row += 1
    return *caches, {"page_table": table, "seqused_kv": torch.tensor(lengths, dtype=torch.int32)}


@pytest.mark.parametrize("dtype", [F32, BF16, F16], ids=["f32", "bf16", "f16"])
def test_number_formats(reference, dtype):
    """One key: out is V, rounded to the dtype of out as torch rounds it."""
    generator = torch.Generator().manual_seed(3)
    v = torch.randn(1, 1, 1, 4096, generator=generator) * 10 ** (torch.rand(4096, generator=generator) * 20 - 13)
    v[..., :4] = torch.tensor([-0.0, 1e38, -INF, math.nan])
    one = torch.ones(1, 1, 1, 1)
    out, _ = call(reference.fovea_reference_forward, one, one, v, out_dtype=dtype)
    assert torch.equal(out.nan_to_num(nan=7), v.to(dtype).nan_to_num(nan=7))


@pytest.mark.parametrize("dtype", [BF16, F16], ids=["bf16", "f16"])
def test_plain_errs_as_unfused_torch_does(reference, dtype):
    """The yardstick of tolerances: its error is that of the same steps in torch, within a factor of 1.25."""
    q, k, v = random_inputs(torch.Generator().manual_seed(4), dtype, 2, 64, 128, 4, 4, 64, 64)
    got, _ = call(reference.fovea_plain_forward, q, k, v)
    exact, _ = call(reference.fovea_reference_forward, q, k, v)
    keys, values = k.permute(0, 2, 3, 1).float(), v.transpose(1, 2).float()
    scores = q.transpose(1, 2).float() @ keys / 8
    weights = torch.softmax(scores, dim=-1).to(dtype).float()
    unfused = (weights @ values).transpose(1, 2).double()
    ratio = ((got - exact).abs().max() / (unfused - exact).abs().max()).item()
    assert 0.8 <= ratio <= 1.25, ratio

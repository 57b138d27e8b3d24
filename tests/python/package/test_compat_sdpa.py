"""fovea.compat.sdpa against torch's own scaled_dot_product_attention in float64."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r tests/python/requirements.txt")

import naive_attention as naive  # noqa: E402
from naive_attention import assert_out, random, random_mask  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention as torch_sdpa  # noqa: E402

import fovea  # noqa: E402
from fovea.compat.sdpa import scaled_dot_product_attention as sdpa  # noqa: E402


def expected(q, k, v, attn_mask=None, **features):
    """By torch in float64; rows that see no key, for which it has two answers, are 0."""
    if attn_mask is not None and attn_mask.dtype != torch.bool:
        attn_mask = attn_mask.double()
    return torch_sdpa(q.double(), k.double(), v.double(), attn_mask=attn_mask, **features).nan_to_num(nan=0.0)


def test_signature():
    wanted = "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False"
    assert naive.signature(sdpa) == wanted


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (1, 3), (2, 2, 3), (2, 1, 2, 3)])
@pytest.mark.parametrize("seqlens", [(9, 9), (7, 13), (13, 7)])
@pytest.mark.parametrize("features", [{}, {"is_causal": True}, {"scale": 0.3}, {"scale": -1.0, "is_causal": True}])
def test_every_rank(lead, seqlens, features):
    q, k, v = random(*lead, seqlens[0], 16), random(*lead, seqlens[1], 16), random(*lead, seqlens[1], 24)
    out = sdpa(q, k, v, **features)
    assert torch.is_tensor(out)
    assert_out(out, expected(q, k, v, **features))


def test_causal_is_top_left():
    q, k, v = random(2, 2, 5, 8), random(2, 2, 9, 8), random(2, 2, 9, 8)
    out = sdpa(q, k, v, is_causal=True)
    torch.testing.assert_close(out[:, :, 0], v[:, :, 0])  # the first query sees the first key alone
    bottom_right, _ = naive.attention(*(x.transpose(1, 2) for x in (q, k, v)), causal=True)
    assert (out.double() - bottom_right.transpose(1, 2)).abs().max() > 0.1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_dtypes(dtype):
    q, k, v = (random(2, 3, 11, 32, dtype=dtype) for _ in range(3))
    bias = random(2, 1, 11, 11, dtype=dtype)
    out = sdpa(q, k, v, bias)
    assert out.dtype == dtype
    assert_out(out, expected(q, k, v, bias))


@pytest.mark.parametrize("is_causal", [False, True])
def test_gqa(is_causal):
    q, k, v = random(2, 6, 7, 16), random(2, 2, 9, 16), random(2, 2, 9, 16)
    out = sdpa(q, k, v, is_causal=is_causal, enable_gqa=True)
    assert_out(out, expected(q, k, v, is_causal=is_causal, enable_gqa=True))
    flat = sdpa(q[0], k[0], v[0], is_causal=is_causal, enable_gqa=True)
    assert torch.equal(flat, out[0])


MASKS = [(7, 13), (1, 13), (7, 1), (1, 1), (6, 7, 13), (1, 7, 13), (6, 1, 1), (2, 6, 7, 13), (2, 1, 7, 13)]
MASKS += [(2, 1, 1, 13), (1, 6, 7, 1), (1, 1, 1, 13)]


@pytest.mark.parametrize("shape", MASKS)
@pytest.mark.parametrize("make", [random_mask, random])
def test_masks(shape, make):
    q, k, v, mask = random(2, 6, 7, 16), random(2, 6, 13, 16), random(2, 6, 13, 16), make(*shape)
    assert_out(sdpa(q, k, v, mask), expected(q, k, v, mask))
    grouped_k, grouped_v = k[:, ::3], v[:, ::3]
    out = sdpa(q, grouped_k, grouped_v, mask, enable_gqa=True)
    assert_out(out, expected(q, grouped_k, grouped_v, mask, enable_gqa=True))


@pytest.mark.parametrize("shape", [(7, 13), (6, 7, 13), (2, 3, 6, 7, 13), (2, 3, 1, 1, 13), (1, 1, 6, 7, 13)])
@pytest.mark.parametrize("make", [random_mask, random])
def test_masks_of_five_dims(shape, make):
    q, k, v, mask = random(2, 3, 6, 7, 16), random(2, 3, 6, 13, 16), random(2, 3, 6, 13, 16), make(*shape)
    assert_out(sdpa(q, k, v, mask), expected(q, k, v, mask))


def test_three_dim_masks():
    q, k, v, mask = random(3, 7, 16), random(3, 13, 16), random(3, 13, 16), random_mask(3, 7, 13)
    assert_out(sdpa(q, k, v, mask), expected(q, k, v, mask))


@pytest.mark.parametrize("additive", [False, True])
def test_rows_without_a_key_are_zero(additive):
    q, k, v = random(2, 3, 5, 8), random(2, 3, 6, 8), random(2, 3, 6, 8)
    mask = random_mask(2, 1, 5, 6)
    mask[..., 0] = True
    mask[1, 0, 3] = False
    out = sdpa(q, k, v, torch.zeros(2, 1, 5, 6).masked_fill(~mask, -torch.inf) if additive else mask)
    assert_out(out, expected(q, k, v, mask))
    assert (out[1, :, 3] == 0).all() and (out != 0).sum() == out.numel() - 3 * 8


def test_batch_dims_broadcast():
    q, k, v = random(2, 3, 5, 8), random(1, 3, 6, 8), random(1, 3, 6, 8)
    assert_out(sdpa(q, k, v), expected(q, k, v))
    assert_out(sdpa(q[:1], k.expand(2, 3, 6, 8), v), expected(q[:1].expand(2, 3, 5, 8), k, v))


def test_views_in_and_out():
    storage = random(2, 5, 3, 4, 16)  # [B, S, qkv, H, D]
    q, k, v = storage.permute(2, 0, 3, 1, 4)
    out = sdpa(q, k, v)
    assert out.shape == (2, 4, 5, 16) and out.transpose(1, 2).is_contiguous()
    assert_out(out, expected(q, k, v))


def test_operands_are_views(monkeypatch):
    q, k, v = (random(2, 3, 9, 4, 16).transpose(2, 3) for _ in range(3))
    masks = [random_mask(9, 9), random_mask(4, 1, 1), random(1, 9), random_mask(1, 1, 1, 1, 9), random(2, 3, 1, 9, 9)]
    for mask in masks:
        with monkeypatch.context() as patch:
            call = naive.recorded(patch, lambda: sdpa(q, k, v, mask))
        given = call["mask"] if mask.dtype == torch.bool else call["bias"]
        for view, base in ((call["q"], q), (call["k"], k), (call["v"], v), (given, mask)):
            naive.assert_view(view, base)
        assert call["q"].shape == (6, 9, 4, 16) and call["q"].is_contiguous()
        assert given.shape[3] == 9 and (given.shape[0] == 1) == (mask.dim() < 5 or mask.shape[0] == 1)


def test_one_dim_masks():
    q, k, mask = random(2, 3, 5, 8), random(2, 3, 6, 8), random_mask(6)
    assert torch.equal(sdpa(q, k, k, mask), sdpa(q, k, k, mask[None]))


ONES = torch.ones(1, 2, 4, 8)


@pytest.mark.parametrize(
    "features, error, text",
    [
        ({"dropout_p": 0.1}, NotImplementedError, "^unsupported: asked scaled_dot_.*: dropout_p=0.1; allowed 0.0"),
        ({"is_causal": True, "attn_mask": torch.ones(4, 4, dtype=torch.bool)}, ValueError, "attn_mask and is_causal"),
        ({"key": ONES[:, :1], "value": ONES[:, :1]}, ValueError, "2, 1 and 1 heads.*enable_gqa"),
        ({"value": ONES[:, :1]}, ValueError, "heads"),
        ({"key": ONES[0]}, ValueError, "ranks"),
        ({"query": torch.ones(2, 2, 4, 8), "key": torch.ones(3, 2, 4, 8)}, ValueError, "broadcast"),
        ({"attn_mask": torch.ones(5, 4)}, ValueError, "attn_mask"),
        ({"attn_mask": torch.ones(1, 1, 1, 1, 4)}, ValueError, "attn_mask"),
        ({"attn_mask": torch.ones(3, 4, 4)}, ValueError, "attn_mask"),
        ({"attn_mask": torch.ones(4, 4, dtype=torch.float64)}, fovea.Error, "bias"),
        ({"attn_mask": torch.ones(4, 4, dtype=torch.int32)}, fovea.Error, "bias"),
    ],
)
def test_refusals(features, error, text):
    operands = {"query": ONES, "key": ONES, "value": ONES}
    sdpa(**operands)  # served without them
    with pytest.raises(error, match=text):
        sdpa(**(operands | features))


def test_grouped_mask_heads_are_refused():
    """torch has no mask per key-value head."""
    q, k = random(1, 6, 4, 8), random(1, 2, 4, 8)
    with pytest.raises(ValueError, match="attn_mask"):
        sdpa(q, k, k, random_mask(1, 2, 4, 4), enable_gqa=True)


def test_leading_dims_that_no_view_joins():
    q = random(2, 3, 2, 4, 8)
    with pytest.raises(ValueError, match="not viewable"):
        sdpa(q.transpose(0, 1), q.transpose(0, 1), q.transpose(0, 1))
    with pytest.raises(ValueError, match="not viewable"):
        sdpa(q, q, q, random_mask(3, 1, 4, 4))

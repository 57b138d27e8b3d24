"""fovea.compat.dmattn against float64: masks, biases, conventions, and the mask makers against loops."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r tests/python/requirements.txt")

import naive_attention as naive  # noqa: E402
from naive_attention import assert_lse, assert_out, int32, plus_inf, random, random_mask  # noqa: E402

import fovea  # noqa: E402
from fovea.compat import dmattn  # noqa: E402

OPTIONS = "softmax_scale=None, is_causal=None, softcap=None, deterministic=None, return_attn_probs=None"
SIGNATURES = {
    "flash_sparse_attn_func": f"query, key, value, attn_mask=None, attn_bias=None, {OPTIONS}",
    "flash_dmattn_func": f"query, key, value, attn_mask=None, attn_bias=None, {OPTIONS}",
    "flash_sparse_attn_varlen_func": "query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, "
    f"{OPTIONS}, block_table=None",
    "topk_indices": "attention_bias, window_size",
    "topk_mask": "attention_bias, attention_mask, window_size, min_dtype, block_size=None",
    "relu_mask": "attention_bias, attention_mask, min_dtype, block_size=None",
    "block_smooth": "attention_mask, key_len, block_size",
    "create_mask": "attention_bias, attention_mask, batch_size, query_len, key_len, window_size, min_dtype, "
    "block_size=None, type='topk'",
}
SHAPES = [(2, 6, 9, 13), (2, 2, 9, 13), (2, 1, 1, 13), (1, 1, 9, 13), (1, 6, 1, 1), (2, 2, 9, 1)]
LOWEST = torch.finfo(torch.float32).min


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    assert naive.signature(getattr(dmattn, name)) == SIGNATURES[name]


@pytest.mark.parametrize("function", [dmattn.flash_sparse_attn_func, dmattn.flash_dmattn_func])
@pytest.mark.parametrize("mask_shape, bias_shape", [*zip(SHAPES, SHAPES[::-1]), (None, SHAPES[0]), (SHAPES[1], None)])
@pytest.mark.parametrize("is_causal, softcap", [(None, None), (True, 1.2)])
def test_mask_and_bias(function, mask_shape, bias_shape, is_causal, softcap):
    q, k, v = random(2, 9, 6, 16), random(2, 13, 2, 16), random(2, 13, 2, 24)
    mask = None if mask_shape is None else random_mask(*mask_shape)
    bias = None if bias_shape is None else random(*bias_shape)
    expected, expected_lse = naive.attention(
        q, k, v, mask=mask, bias=bias, causal=bool(is_causal), softcap=softcap or 0.0, scale=0.4
    )
    result = function(
        q, k, v, mask, bias, softmax_scale=0.4, is_causal=is_causal, softcap=softcap, return_attn_probs=True
    )
    assert len(result) == 3 and result[2] is None
    assert_out(result[0], expected)
    assert_lse(result[1], plus_inf(expected_lse))
    alone = function(q, k, v, mask, bias, 0.4, is_causal, softcap)
    assert torch.is_tensor(alone) and torch.equal(alone, result[0])


def test_causal_is_bottom_right_and_empty_rows_have_plus_inf_lse():
    q, k, v = random(2, 6, 2, 8), random(2, 4, 2, 8), random(2, 4, 2, 8)
    mask = torch.ones(2, 1, 6, 4, dtype=torch.bool)
    mask[1, :, 5] = False
    out, lse, _ = dmattn.flash_sparse_attn_func(q, k, v, mask, is_causal=True, return_attn_probs=True)
    empty = torch.zeros(2, 6, dtype=torch.bool)
    empty[:, :2], empty[1, 5] = True, True
    assert torch.equal((out == 0).all(dim=3).all(dim=2), empty)
    assert torch.equal(lse == torch.inf, empty[:, None].expand(2, 2, 6)) and not (lse == -torch.inf).any()


def test_operands_are_views(monkeypatch):
    q, k, v = (random(2, heads, 9, 16).transpose(1, 2) for heads in (6, 2, 2))
    mask, bias = random_mask(2, 1, 1, 1), random(1, 2, 9, 1)
    call = naive.recorded(monkeypatch, lambda: dmattn.flash_sparse_attn_func(q, k, v, mask, bias))
    for name, base in {"q": q, "k": k, "v": v, "mask": mask, "bias": bias}.items():
        naive.assert_view(call[name], base)
    assert call["mask"].shape == (2, 1, 1, 9) and call["mask"].stride(3) == 0
    assert call["bias"].shape == (1, 2, 9, 9) and call["bias"].stride(3) == 0


def test_varlen():
    ends_q, ends_k = [0, 5, 5, 12], [0, 3, 7, 18]
    q, k, v = random(12, 4, 16), random(18, 2, 16), random(18, 2, 16)
    expected, expected_lse = naive.varlen(q, k, v, ends_q, ends_k, causal=True, softcap=2.0)
    arguments = int32(*ends_q), int32(*ends_k), 7, 11
    result = dmattn.flash_sparse_attn_varlen_func(
        q, k, v, *arguments, is_causal=True, softcap=2.0, return_attn_probs=True
    )
    assert len(result) == 3 and result[2] is None
    assert_out(result[0], expected)
    assert_lse(result[1], plus_inf(expected_lse))
    alone = dmattn.flash_sparse_attn_varlen_func(q, k, v, *arguments, None, True, 2.0)
    assert torch.is_tensor(alone) and torch.equal(alone, result[0])


def test_varlen_over_pages():
    table, lengths = int32([6, 1, 3], [0, 5, 2]), [11, 6]
    k, v, q = random(2, 12, 2, 16), random(2, 12, 2, 16), random(9, 4, 16)
    joined = [torch.cat([rows[b, : lengths[b]] for b in range(2)]) for rows in (k, v)]
    expected, _ = naive.varlen(q, *joined, [0, 4, 9], [0, 11, 17])
    pages = [naive.paged(rows, table, 7, 4) for rows in (k, v)]
    out = dmattn.flash_sparse_attn_varlen_func(q, *pages, int32(0, 4, 9), int32(0, 11, 17), 5, 11, block_table=table)
    assert_out(out, expected)


@pytest.mark.parametrize("argument, value", [("attn_mask", random(1, 1, 4, 4)), ("attn_bias", random(1, 3, 4, 4))])
def test_refusals_come_from_attention(argument, value):
    operands = [random(1, 4, 2, 8)] * 3
    with pytest.raises(fovea.Error, match=argument.removeprefix("attn_")):
        dmattn.flash_sparse_attn_func(*operands, **{argument: value})


def test_topk_indices():
    bias = random(2, 3, 17)
    chosen = dmattn.topk_indices(bias, 5)
    assert chosen.shape == (2, 3, 5)
    for row, keys in zip(bias.flatten(0, 1).tolist(), chosen.flatten(0, 1).tolist()):
        assert keys == sorted(sorted(range(17), key=lambda j: -row[j])[:5])


def _by_loops(bias, mask, choose, block_size):
    """bool like bias: choose(row) gives the keys of a row in which hidden keys are None."""
    chosen = torch.zeros(bias.shape, dtype=torch.bool)
    hidden = torch.zeros_like(chosen) if mask is None else ~mask.expand(bias.shape)
    rows = zip(chosen.view(-1, bias.shape[-1]), bias.view(-1, bias.shape[-1]), hidden.reshape(-1, bias.shape[-1]))
    for out, values, gone in rows:
        out[choose([None if dark else value for value, dark in zip(values.tolist(), gone.tolist())])] = True
        for start in range(0, len(out), block_size or 1):
            block = out[start : start + (block_size or 1)]
            block[:] = 2 * int(block.sum()) > len(block)
    return chosen


def _largest(count):
    def choose(row):
        return sorted((j for j, value in enumerate(row) if value is not None), key=lambda j: -row[j])[:count]

    return choose


def _positive(row):
    return [j for j, value in enumerate(row) if value is not None and value > 0]


@pytest.mark.parametrize("block_size", [None, 1, 2, 5, 40])
@pytest.mark.parametrize("mask_shape", [None, (2, 1, 1, 17), (2, 3, 4, 17)])
def test_masks_by_loops(block_size, mask_shape):
    bias = random(2, 3, 4, 17)
    mask = None if mask_shape is None else random_mask(*mask_shape)
    kept = bias.clone(), None if mask is None else mask.clone()
    for kind, choose in (("topk", _largest(8)), ("relu", _positive)):
        wanted = _by_loops(bias, mask, choose, block_size)
        made = dmattn.create_mask(bias, mask, 2, 4, 17, 8, LOWEST, block_size, kind)
        assert made.dtype == torch.bool and torch.equal(made, wanted)
    topk = dmattn.topk_mask(bias, mask, 8, LOWEST, block_size)
    assert torch.equal(topk, _by_loops(bias, mask, _largest(8), block_size))
    assert torch.equal(dmattn.relu_mask(bias, mask, LOWEST, block_size), _by_loops(bias, mask, _positive, block_size))
    assert torch.equal(bias, kept[0]) and (mask is None or torch.equal(mask, kept[1]))


def test_padding_masks():
    bias, padding = random(2, 3, 4, 17), random_mask(2, 17)
    of_keys = dmattn.create_mask(bias, padding, 2, 4, 17, 8, LOWEST)
    assert torch.equal(of_keys, _by_loops(bias, padding[:, None, None, :], _largest(8), None))
    last = padding[:, -4:]
    all_but_last = torch.cat([torch.ones(2, 13, dtype=torch.bool), last], dim=1)[:, None, None, :]
    of_queries = dmattn.create_mask(bias, last, 2, 4, 17, 8, LOWEST)
    assert torch.equal(of_queries, _by_loops(bias, all_but_last, _largest(8), None))


def test_block_smooth_works_in_place():
    mask = torch.tensor([True, False, True, True, False, False, True])
    assert dmattn.block_smooth(mask, 7, 3) is mask
    assert mask.tolist() == [True, True, True, False, False, False, True]
    tie = torch.tensor([True, False, True, True])
    assert dmattn.block_smooth(tie, 4, 2).tolist() == [False, False, True, True]


def test_mask_makers_refuse():
    bias = random(2, 1, 4, 17)
    with pytest.raises(ValueError, match="block_smooth: block_size"):
        dmattn.block_smooth(torch.ones(4, dtype=torch.bool), 4, 0)
    with pytest.raises(ValueError, match="create_mask: type"):
        dmattn.create_mask(bias, None, 2, 4, 17, 8, LOWEST, type="other")
    for shape in ((2, 9), (1, 17)):
        with pytest.raises(ValueError, match="create_mask: attention_mask"):
            dmattn.create_mask(bias, torch.ones(shape, dtype=torch.bool), 2, 4, 17, 8, LOWEST)

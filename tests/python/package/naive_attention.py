"""Attention in float64, one line per line of docs/contract.md, section 3: what the compat tests compare with.

Tensors are [B, S, H, D], or [T, H, D] with lists of sequence ends. lse is [B, H, Sq] or [H, T], -inf for empty rows.
"""

import inspect

import torch

import fovea
from torch_judge import LSE_LIMIT, by_query_head, positions

OUT_LIMIT = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}  # share of the largest expected element
_generator = torch.Generator().manual_seed(20261128)


def random(*shape, dtype=torch.float32):
    """Values that no other call of the same run gets."""
    return torch.randn(shape, generator=_generator).to(dtype)


def random_mask(*shape):
    return torch.rand(shape, generator=_generator) < 0.6


def int32(*values):
    return torch.tensor(values, dtype=torch.int32)


def attention(
    q, k, v, *, causal=False, window=(None, None), diagonal=None, mask=None, bias=None, softcap=0.0, scale=None
):
    """(out, lse) in float64. `diagonal`: the key that query 0 stands at, default Sk - Sq."""
    heads, seqlen_q, seqlen_k = q.shape[2], q.shape[1], k.shape[1]
    query, key, value = (operand.double().transpose(1, 2) for operand in (q, k, v))
    key, value = (by_query_head(operand, heads) for operand in (key, value))
    scores = query @ key.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + by_query_head(bias.double(), heads)
    visible = positions(seqlen_q, seqlen_k, causal, window, diagonal)
    if mask is not None:
        visible = visible & by_query_head(mask, heads)
    scores = scores.masked_fill(~visible, -torch.inf)
    lse = torch.logsumexp(scores, dim=3)
    weights = torch.exp(scores - lse.nan_to_num(neginf=0.0)[..., None])
    return (weights @ value).transpose(1, 2), lse


def varlen(q, k, v, ends_q, ends_k, **features):
    """(out, lse) of packed sequences: ends are [0, .., T]."""
    outs, lses = [], []
    for b in range(len(ends_q) - 1):
        rows, keys = slice(ends_q[b], ends_q[b + 1]), slice(ends_k[b], ends_k[b + 1])
        out, lse = attention(q[None, rows], k[None, keys], v[None, keys], **features)
        outs.append(out[0])
        lses.append(lse[0])
    return torch.cat(outs), torch.cat(lses, dim=1)


def per_sequence(q, caches, lengths, **features):
    """(out, lse) of q [B, Sq, H, D], entry b over the first lengths[b] keys of its own (k, v) pair of [S, Hk, D]."""
    results = [
        attention(q[b : b + 1], k[None, :length], v[None, :length], **features)
        for b, ((k, v), length) in enumerate(zip(caches, lengths))
    ]
    return torch.cat([out for out, _ in results]), torch.cat([lse for _, lse in results])


def paged(rows, table, pages, page_size):
    """[pages, page_size, H, D] holding rows [B, S, H, D] where `table` says, NaN elsewhere."""
    cache = torch.full((pages, page_size, *rows.shape[2:]), torch.nan, dtype=rows.dtype)
    for b in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            cache[table[b, j // page_size], j % page_size] = rows[b, j]
    return cache


def assert_out(out, expected):
    """Every element of every head and batch entry."""
    limit = OUT_LIMIT[out.dtype] * max([1.0, *expected.abs().flatten().tolist()])
    torch.testing.assert_close(out.double(), expected, atol=limit, rtol=0.0)


def assert_lse(lse, expected, dtype=torch.float32):
    """As assert_out; infinities stand in the same places with the same sign."""
    assert lse.dtype == torch.float32
    torch.testing.assert_close(lse.double(), expected, atol=LSE_LIMIT[dtype], rtol=1e-6)


def recorded(monkeypatch, function):
    """The named arguments of the one fovea.attention call that function() makes, with q, k and v among them."""
    calls = []
    attention = fovea.attention

    def record(q, k, v, **named):
        calls.append({"q": q, "k": k, "v": v, **named})
        return attention(q, k, v, **named)

    monkeypatch.setattr(fovea, "attention", record)
    function()
    (call,) = calls
    return call


def assert_view(view, base):
    """`view` reads the memory of `base`, from its start on."""
    assert view.data_ptr() == base.data_ptr()


def plus_inf(lse):
    """The lse of an empty row as FA2 gives it."""
    return lse.masked_fill(lse == -torch.inf, torch.inf)


def signature(function):
    """"name=default, ..." of a function whose parameters are all named ones."""
    parameters = inspect.signature(function).parameters.values()
    assert all(p.kind == p.POSITIONAL_OR_KEYWORD for p in parameters)
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)

"""torch.nn.functional.scaled_dot_product_attention, forward only."""

import math

import torch

import fovea

from . import _common

_NAME = "scaled_dot_product_attention"


def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    """Attention of query [..., H, Sq, D] over key [..., Hk, Sk, D] and value [..., Hk, Sk, Dv].

    Args:
      query, key, value: fp32, bf16 or fp16, of one dtype and any strides. Any number of leading batch dims, also none,
        which broadcast; without a head dim there is one head. Several leading dims must be viewable as one.
      attn_mask: bool (true = visible), or fp32, bf16 or fp16 added to the scores; broadcasts to [..., H, Sq, Sk] as a
        view. Not together with is_causal.
      dropout_p: 0.0; anything else is refused.
      is_causal: top-left aligned, query i sees keys up to i, whatever Sq and Sk are.
      scale: default 1/sqrt(D).
      enable_gqa: H may be a multiple of Hk; without it they must be equal.

    Returns:
      out [..., H, Sq, Dv], a transposed view of [..., Sq, H, Dv]. A row that sees no key is 0; torch gives 0 or NaN
      there, by version and backend.

    Raises:
      fovea.Error.
    """
    _common.refuse_dropout(_NAME, dropout_p)
    both = attn_mask is not None and is_causal
    _common.require(not both, _NAME, "attn_mask and is_causal exclude each other: put the causal part into attn_mask")
    lead, (q, k, v) = _batched(query, key, value)
    agree = enable_gqa or q.shape[1] == k.shape[1] == v.shape[1]
    heads = f"{q.shape[1]}, {k.shape[1]} and {v.shape[1]} heads"
    _common.require(agree, _NAME, f"query, key and value have {heads}; enable_gqa=True allows that")
    mask = None if attn_mask is None else _scores_view(attn_mask, lead, (q.shape[1], q.shape[2], k.shape[2]))
    is_bool = attn_mask is not None and attn_mask.dtype == torch.bool
    out = fovea.attention(
        q.transpose(1, 2),
        k.transpose(1, 2),
        v.transpose(1, 2),
        causal=is_causal,
        mask=mask if is_bool else None,
        bias=None if is_bool else mask,
        scale=scale,
        q_offset=0 if is_causal else None,
        kv_offset=0 if is_causal else None,
    ).transpose(1, 2)
    if query.dim() == 2:
        return out[0, 0]
    return out[0] if query.dim() == 3 else out.unflatten(0, lead)


def _batched(*operands):
    """(leading batch dims, query, key and value as [B, heads, length, head dim] views)."""
    rank = operands[0].dim()
    alike = rank >= 2 and all(operand.dim() == rank for operand in operands)
    _common.require(alike, _NAME, f"ranks {[operand.dim() for operand in operands]} are not one rank of 2 or more")
    operands = [_with_rank(operand, max(rank, 4)) for operand in operands]
    leads = [operand.shape[:-3] for operand in operands]
    lead = tuple(max(sizes, key=lambda size: size != 1) for sizes in zip(*leads))
    fit = all(size in (1, common) for sizes in leads for size, common in zip(sizes, lead))
    _common.require(fit, _NAME, f"the batch dims {[list(sizes) for sizes in leads]} do not broadcast")
    return lead, [_as_batch(operand, lead) for operand in operands]


def _with_rank(operand, rank):
    return operand[(None,) * (rank - operand.dim()) + (...,)]


def _as_batch(operand, lead):
    """The [*lead, ...] of the operand, broadcast, as one dim."""
    operand = operand.expand(*lead, *operand.shape[-3:])
    if len(lead) == 1:
        return operand
    try:
        return operand.view(math.prod(lead), *operand.shape[-3:])
    except RuntimeError:
        dims = f"the leading dims {list(lead)} with strides {list(operand.stride()[: len(lead)])}"
        return _common.require(False, _NAME, f"{dims} are not viewable as one; pass one batch dim")


def _scores_view(attn_mask, lead, scores):
    """attn_mask as a [B|1, H|1, Sq|1, Sk] view; `scores` is (H, Sq, Sk)."""
    target = (*lead, *scores)
    fits = attn_mask.dim() <= len(target)
    fits = fits and all(size in (1, full) for size, full in zip(reversed(attn_mask.shape), reversed(target)))
    _common.require(fits, _NAME, f"attn_mask {list(attn_mask.shape)} does not broadcast to {list(target)}")
    mask = _with_rank(attn_mask, len(target))
    mask = mask.expand(*mask.shape[:-1], scores[-1])
    if math.prod(mask.shape[:-3]) == 1:
        return mask[(0,) * (len(lead) - 1)]
    return mask if len(lead) == 1 else _as_batch(mask, lead)

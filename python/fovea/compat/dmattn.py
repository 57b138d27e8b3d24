"""The functions of flash-dmattn (now flash-sparse-attn), after its signatures of November 2025, forward only.

Shapes: B batch, Sq/Sk query/key length, T packed rows, H query heads, Hk key-value heads (H % Hk == 0), D/Dv head dims.
query, key and value are fp32, bf16 or fp16, of one dtype and any strides. Common to the attention functions:

  softmax_scale: default 1/sqrt(D).
  is_causal: bottom-right aligned, query i sees keys up to i + Sk - Sq; None = False.
  softcap: scores become softcap * tanh(score / softcap); None or 0 = off.
  deterministic: accepted; every forward result is bitwise repeatable anyway.
  max_seqlen_q, max_seqlen_k: accepted; the lengths are read from cu_seqlens, so they cannot change the result.

lse is fp32 and natural, [B, H, Sq] or [H, T] packed. A row that sees no key has out 0 and, here, lse +inf.

topk_indices, topk_mask, relu_mask, block_smooth and create_mask make masks from a bias; they are plain torch code.
"""

import torch

import fovea

from . import _common


def flash_sparse_attn_func(
    query,
    key,
    value,
    attn_mask=None,
    attn_bias=None,
    softmax_scale=None,
    is_causal=None,
    softcap=None,
    deterministic=None,
    return_attn_probs=None,
):
    """Attention of query [B, Sq, H, D] over key [B, Sk, Hk, D] and value [B, Sk, Hk, Dv] under a mask and a bias.

    attn_mask: bool, true = visible. attn_bias: fp32, bf16 or fp16, added to the scaled scores. Both are
    [B|1, H|Hk|1, Sq|1, Sk|1] and are read as broadcast views.
    Returns out [B, Sq, H, Dv], or (out, lse, None) with return_attn_probs: the probabilities are not materialised.
    Raises fovea.Error for what is not served.
    """
    operands = {"mask": _over_keys(attn_mask, key), "bias": _over_keys(attn_bias, key)}
    return _attend(
        query, key, value, softmax_scale, is_causal, softcap, deterministic, return_attn_probs, operands
    )


flash_dmattn_func = flash_sparse_attn_func  # its former name


def flash_sparse_attn_varlen_func(
    query,
    key,
    value,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    softmax_scale=None,
    is_causal=None,
    softcap=None,
    deterministic=None,
    return_attn_probs=None,
    block_table=None,
):
    """Attention of packed sequences: query [Tq, H, D], key [Tk, Hk, D], value [Tk, Hk, Dv], cu_seqlens int32 [B + 1].

    With block_table, int32 [B, max_pages], key and value are [pages, page_size, Hk, D], and cu_seqlens_k gives only
    the lengths. Returns out [Tq, H, Dv], or (out, lse [H, Tq], None) with return_attn_probs.
    Raises fovea.Error for what is not served.
    """
    operands = {"cu_seqlens_q": cu_seqlens_q} | _common.packed_keys(cu_seqlens_k, block_table)
    return _attend(
        query, key, value, softmax_scale, is_causal, softcap, deterministic, return_attn_probs, operands
    )


def _attend(query, key, value, softmax_scale, is_causal, softcap, deterministic, return_attn_probs, operands):
    result = fovea.attention(
        query,
        key,
        value,
        scale=softmax_scale,
        causal=bool(is_causal),
        softcap=softcap or 0.0,
        deterministic=bool(deterministic),
        return_lse=bool(return_attn_probs),
        **operands,
    )
    return _common.as_triple(result, return_attn_probs)


def _over_keys(operand, key):
    """A mask or bias as a view whose last extent is Sk."""
    if operand is None or operand.shape[-1] != 1:
        return operand
    return operand.expand(*operand.shape[:-1], key.shape[1])


def topk_indices(attention_bias, window_size):
    """int64 [..., window_size]: the keys with the largest bias of [..., Sk], in rising order."""
    return attention_bias.detach().topk(window_size, dim=-1, sorted=False).indices.sort(dim=-1).values


def topk_mask(attention_bias, attention_mask, window_size, min_dtype, block_size=None):
    """bool like attention_bias [B|1, H|Hk|1, Sq|1, Sk]: the window_size keys with the largest bias in each row.

    attention_mask (bool that broadcasts to attention_bias, or None): a key that it hides counts as bias min_dtype, and
    no key of that bias is chosen. block_size above 1: block_smooth() afterwards.
    """
    bias = _hide(attention_bias, attention_mask, min_dtype)
    values, indices = bias.topk(window_size, dim=-1, sorted=False)
    chosen = torch.zeros_like(bias, dtype=torch.bool).scatter_(-1, indices, values != min_dtype)
    return _smoothed(chosen, block_size)


def relu_mask(attention_bias, attention_mask, min_dtype, block_size=None):
    """bool like attention_bias [B|1, H|Hk|1, Sq|1, Sk]: the keys with a positive bias. Otherwise as topk_mask()."""
    return _smoothed(_hide(attention_bias, attention_mask, min_dtype) > 0, block_size)


def block_smooth(attention_mask, key_len, block_size):
    """attention_mask [..., key_len], each block of block_size keys replaced in place by what most of its keys are.

    A tie hides the block; the last block may be shorter. Raises fovea.Error when block_size is not positive.
    """
    _common.require(block_size > 0, "block_smooth", f"block_size={block_size} is not positive")
    whole = key_len - key_len % block_size
    for part, width in ((attention_mask[..., :whole], block_size), (attention_mask[..., whole:], key_len - whole)):
        if part.shape[-1]:
            blocks = part.unflatten(-1, (-1, width))
            blocks.copy_(2 * blocks.sum(dim=-1, keepdim=True) > width)
    return attention_mask


def create_mask(
    attention_bias,
    attention_mask,
    batch_size,
    query_len,
    key_len,
    window_size,
    min_dtype,
    block_size=None,
    type="topk",
):
    """topk_mask() or relu_mask(), by type, with a padding mask allowed.

    attention_mask: None, bool [B|1, H|Hk|1, Sq|1, Sk], or bool [B, key_len] or [B, query_len] where the latter speaks
    of the last query_len keys and all keys before them are visible.
    Raises fovea.Error for another shape or type.
    """
    if attention_mask is not None and attention_mask.dim() == 2:
        attention_mask = _padding_mask(attention_mask, batch_size, query_len, key_len)
    if type == "topk":
        return topk_mask(attention_bias, attention_mask, window_size, min_dtype, block_size)
    _common.require(type == "relu", "create_mask", f"type={type!r} is neither 'topk' nor 'relu'")
    return relu_mask(attention_bias, attention_mask, min_dtype, block_size)


def _padding_mask(attention_mask, batch_size, query_len, key_len):
    """bool [B, 1, 1, key_len] from [B, key_len] or [B, query_len]."""
    batch, length = attention_mask.shape
    fits = batch == batch_size and (length == key_len or length == query_len <= key_len)
    _common.require(fits, "create_mask", f"attention_mask is [{batch}, {length}], not [B, key_len] or [B, query_len]")
    if length < key_len:
        attention_mask = torch.nn.functional.pad(attention_mask, (key_len - length, 0), value=True)
    return attention_mask[:, None, None, :]


def _hide(attention_bias, attention_mask, min_dtype):
    bias = attention_bias.detach()
    return bias if attention_mask is None else torch.where(attention_mask, bias, min_dtype)


def _smoothed(mask, block_size):
    return mask if block_size is None or block_size <= 1 else block_smooth(mask, mask.shape[-1], block_size)

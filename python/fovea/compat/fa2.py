"""The functions of FlashAttention 2 (flash_attn), after its signatures of August 2026, forward only.

Shapes: B batch, Sq/Sk query/key length, T packed rows, H query heads, Hk key-value heads (H % Hk == 0), D/Dv head dims.
q, k and v are fp32, bf16 or fp16, of one dtype and any strides. Common to all functions:

  softmax_scale: default 1/sqrt(D).
  causal: bottom-right aligned, query i sees keys up to i + Sk - Sq.
  window_size: (left, right) around that diagonal, both inclusive; -1 = unlimited.
  softcap: scores become softcap * tanh(score / softcap); 0 = off.
  deterministic: accepted; every forward result is bitwise repeatable anyway.
  max_seqlen_q, max_seqlen_k: accepted; the lengths are read from cu_seqlens, so they cannot change the result.
  dropout_p other than 0 and alibi_slopes are refused.

lse is fp32 and natural, [B, H, Sq] or [H, T] packed. A row that sees no key has out 0 and, here, lse +inf.
"""

import fovea

from . import _common

ALIBI_HINT = "add the slopes as a bias: fovea.attention(bias=...)"


def _attend(
    function, q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic,
    return_attn_probs, cu_seqlens_q=None, cu_seqlens_k=None, block_table=None,
):  # fmt: skip
    _common.refuse_dropout(function, dropout_p)
    _common.refuse_given(function, ALIBI_HINT, alibi_slopes=alibi_slopes)
    result = fovea.attention(
        q,
        k,
        v,
        causal=causal,
        window=_common.window(function, window_size),
        softcap=softcap,
        scale=softmax_scale,
        cu_seqlens_q=cu_seqlens_q,
        return_lse=return_attn_probs,
        deterministic=deterministic,
        **_common.packed_keys(cu_seqlens_k, block_table),
    )
    return _common.as_triple(result, return_attn_probs)


def flash_attn_func(
    q,
    k,
    v,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """Attention of q [B, Sq, H, D] over k [B, Sk, Hk, D] and v [B, Sk, Hk, Dv].

    Returns out [B, Sq, H, Dv], or (out, lse, None) with return_attn_probs: the probabilities of dropout do not exist.
    Raises fovea.Error for what is not served.
    """
    return _attend(
        "flash_attn_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_qkvpacked_func(
    qkv,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """flash_attn_func of qkv [B, S, 3, H, D], read in place."""
    q, k, v = qkv.unbind(dim=-3)
    return _attend(
        "flash_attn_qkvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_kvpacked_func(
    q,
    kv,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """flash_attn_func of q [B, Sq, H, D] and kv [B, Sk, 2, Hk, D], read in place."""
    k, v = kv.unbind(dim=-3)
    return _attend(
        "flash_attn_kvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    block_table=None,
):
    """Attention of packed sequences: q [Tq, H, D], k [Tk, Hk, D], v [Tk, Hk, Dv], cu_seqlens_q/k int32 [B + 1].

    With block_table, int32 [B, max_pages], k and v are [pages, page_size, Hk, D] of any page size, and cu_seqlens_k
    gives only the lengths. Returns out [Tq, H, Dv], or (out, lse [H, Tq], None) with return_attn_probs.
    Raises fovea.Error for what is not served.
    """
    return _attend(
        "flash_attn_varlen_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        deterministic, return_attn_probs, cu_seqlens_q, cu_seqlens_k, block_table,
    )  # fmt: skip


def flash_attn_varlen_qkvpacked_func(
    qkv,
    cu_seqlens,
    max_seqlen,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """flash_attn_varlen_func of qkv [T, 3, H, D], read in place; cu_seqlens and max_seqlen are those of q and k."""
    q, k, v = qkv.unbind(dim=-3)
    return _attend(
        "flash_attn_varlen_qkvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
        alibi_slopes, deterministic, return_attn_probs, cu_seqlens, cu_seqlens,
    )  # fmt: skip


def flash_attn_varlen_kvpacked_func(
    q,
    kv,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
):
    """flash_attn_varlen_func of q [Tq, H, D] and kv [Tk, 2, Hk, D], read in place."""
    k, v = kv.unbind(dim=-3)
    return _attend(
        "flash_attn_varlen_kvpacked_func", q, k, v, dropout_p, softmax_scale, causal, window_size, softcap,
        alibi_slopes, deterministic, return_attn_probs, cu_seqlens_q, cu_seqlens_k,
    )  # fmt: skip


def flash_attn_with_kvcache(
    q,
    k_cache,
    v_cache,
    k=None,
    v=None,
    rotary_cos=None,
    rotary_sin=None,
    cache_seqlens=None,
    cache_batch_idx=None,
    cache_leftpad=None,
    block_table=None,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    rotary_interleaved=True,
    alibi_slopes=None,
    num_splits=0,
    return_softmax_lse=False,
):
    """Attention of q [B, Sq, H, D] over a cache of keys and values, after appending new ones to it in place.

    Args:
      k_cache, v_cache: [B, S, Hk, D], or [pages, page_size, Hk, D] of any page size with block_table.
      k, v: [B, S_new, Hk, D], written to the cache behind cache_seqlens keys before the attention; they must fit.
      cache_seqlens: int, or int32 [B]: keys in use before the append; default: the whole cache. The causal diagonal
        and the window are aligned with the last key in use after the append.
      cache_batch_idx: int32 [B], the cache entry of each batch entry; not together with block_table.
      block_table: int32 [B, max_pages].
      num_splits: 0 = choose; 1..256 parts of the keys.
      rotary_cos, rotary_sin, cache_leftpad and alibi_slopes are refused; rotary_interleaved says nothing without them.

    Returns:
      out [B, Sq, H, Dv], or (out, lse [B, H, Sq]) with return_softmax_lse.

    Raises:
      fovea.Error: nothing was written, the cache included.
    """
    function = "flash_attn_with_kvcache"
    _common.refuse_given(function, _common.ROTARY_HINT, rotary_cos=rotary_cos, rotary_sin=rotary_sin)
    _common.refuse_given(function, _common.LEFTPAD_HINT, cache_leftpad=cache_leftpad)
    _common.refuse_given(function, ALIBI_HINT, alibi_slopes=alibi_slopes)
    table = _common.cache_pages(function, cache_batch_idx, "block_table", block_table)
    lengths = _common.used_lengths(q.shape[0], k_cache, cache_seqlens, table)
    features = {
        "causal": causal,
        "window": _common.window(function, window_size),
        "softcap": softcap,
        "scale": softmax_scale,
        "num_splits": num_splits,
    }
    result = _common.attend_cache(
        function, q, k_cache, v_cache, k, v, lengths, table, None, return_softmax_lse, features
    )
    if not return_softmax_lse:
        return result
    out, lse = result
    return out, _common.plus_inf_when_empty(lse)

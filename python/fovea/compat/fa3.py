"""The functions of FlashAttention 3 (flash_attn_interface), after its signatures of August 2026, forward only.

Shapes: B batch, Sq/Sk query/key length, T packed rows, H query heads, Hk key-value heads (H % Hk == 0), D/Dv head dims.
q, k and v are fp32, bf16 or fp16, of one dtype and any strides. Common to all functions:

  softmax_scale: default 1/sqrt(D).
  causal: bottom-right aligned, query i sees keys up to i + Sk - Sq.
  window_size: (left, right) around that diagonal, both inclusive; -1 = unlimited.
  softcap: scores become softcap * tanh(score / softcap); 0 = off.
  num_splits: 0 = choose; 1..256 parts of the keys.
  deterministic: accepted; every forward result is bitwise repeatable anyway.
  qv, q_descale, k_descale, v_descale and attention_chunk other than 0 are refused: they would change the result.
  pack_gqa, sm_margin, scheduler_metadata, max_seqlen_q, max_seqlen_k: hints about the launch, which cannot change the
    result. They are accepted and have no effect; in particular no multiprocessor is left free for sm_margin.

lse is fp32 and natural, [B, H, Sq] or [H, T] packed. A row that sees no key has out 0 and lse -inf.
"""

import torch

import fovea

from . import _common

QV_HINT = "concatenate q with qv and k with v along the head dim"
DESCALE_HINT = "fp8 is not served: pass fp32, bf16 or fp16"


def _features(
    function, softmax_scale, causal, qv, q_descale, k_descale, v_descale, window_size, attention_chunk, softcap,
    num_splits,
):  # fmt: skip
    """The named arguments of fovea.attention, after refusing what would change the result."""
    _common.refuse_given(function, QV_HINT, qv=qv)
    _common.refuse_given(function, DESCALE_HINT, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale)
    if attention_chunk != 0:
        _common.refuse(function, "attention_chunk", attention_chunk, "0", "call it once per chunk")
    return {
        "causal": causal,
        "window": _common.window(function, window_size),
        "softcap": softcap,
        "scale": softmax_scale,
        "num_splits": num_splits,
    }


def flash_attn_func(
    q,
    k,
    v,
    softmax_scale=None,
    causal=False,
    qv=None,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    window_size=(-1, -1),
    attention_chunk=0,
    softcap=0.0,
    num_splits=1,
    pack_gqa=None,
    deterministic=False,
    sm_margin=0,
    return_attn_probs=False,
):
    """Attention of q [B, Sq, H, D] over k [B, Sk, Hk, D] and v [B, Sk, Hk, Dv].

    Returns out [B, Sq, H, Dv], or (out, lse [B, H, Sq]) with return_attn_probs.
    Raises fovea.Error for what is not served.
    """
    features = _features(
        "flash_attn_func", softmax_scale, causal, qv, q_descale, k_descale, v_descale, window_size, attention_chunk,
        softcap, num_splits,
    )  # fmt: skip
    return fovea.attention(q, k, v, return_lse=return_attn_probs, deterministic=deterministic, **features)


def flash_attn_qkvpacked_func(
    qkv,
    softmax_scale=None,
    causal=False,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    window_size=(-1, -1),
    attention_chunk=0,
    softcap=0.0,
    deterministic=False,
    num_heads_q=None,
    sm_margin=0,
    return_attn_probs=False,
):
    """flash_attn_func of qkv [B, S, 3, H, D], or [B, S, H + 2 * Hk, D] with num_heads_q = H; read in place."""
    function = "flash_attn_qkvpacked_func"
    if qkv.dim() == 5:
        agrees = num_heads_q is None or num_heads_q == qkv.shape[3]
        _common.require(agrees, function, f"num_heads_q={num_heads_q}, but qkv has {qkv.shape[3]} heads")
        q, k, v = qkv.unbind(dim=2)
    else:
        _common.require(num_heads_q is not None, function, "qkv of rank 4 needs num_heads_q")
        heads_kv, odd = divmod(qkv.shape[2] - num_heads_q, 2)
        _common.require(heads_kv > 0 and odd == 0, function, f"{qkv.shape[2]} heads are not num_heads_q + 2 * Hk")
        q, k, v = qkv.split([num_heads_q, heads_kv, heads_kv], dim=2)
    features = _features(
        function, softmax_scale, causal, None, q_descale, k_descale, v_descale, window_size, attention_chunk, softcap, 1
    )
    return fovea.attention(q, k, v, return_lse=return_attn_probs, deterministic=deterministic, **features)


def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    seqused_q=None,
    seqused_k=None,
    softmax_scale=None,
    causal=False,
    qv=None,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    window_size=(-1, -1),
    attention_chunk=0,
    softcap=0.0,
    num_splits=1,
    pack_gqa=None,
    deterministic=False,
    sm_margin=0,
    return_attn_probs=False,
):
    """Attention of packed sequences: q [Tq, H, D], k [Tk, Hk, D], v [Tk, Hk, Dv], cu_seqlens_q/k int32 [B + 1].

    seqused_q, seqused_k: int32 [B], the used rows of each sequence; query rows past them get out 0 and lse -inf.
    Returns out [Tq, H, Dv], or (out, lse [H, Tq]) with return_attn_probs.
    Raises fovea.Error for what is not served.
    """
    features = _features(
        "flash_attn_varlen_func", softmax_scale, causal, qv, q_descale, k_descale, v_descale, window_size,
        attention_chunk, softcap, num_splits,
    )  # fmt: skip
    return fovea.attention(
        q,
        k,
        v,
        cu_seqlens_q=cu_seqlens_q,
        cu_seqlens_kv=cu_seqlens_k,
        seqused_q=seqused_q,
        seqused_kv=seqused_k,
        return_lse=return_attn_probs,
        deterministic=deterministic,
        **features,
    )


def flash_attn_with_kvcache(
    q,
    k_cache,
    v_cache,
    k=None,
    v=None,
    qv=None,
    rotary_cos=None,
    rotary_sin=None,
    cache_seqlens=None,
    cache_batch_idx=None,
    cache_leftpad=None,
    page_table=None,
    cu_seqlens_q=None,
    cu_seqlens_k_new=None,
    max_seqlen_q=None,
    rotary_seqlens=None,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    attention_chunk=0,
    softcap=0.0,
    rotary_interleaved=True,
    scheduler_metadata=None,
    num_splits=0,
    pack_gqa=None,
    sm_margin=0,
    return_softmax_lse=False,
):
    """Attention of queries over a cache of keys and values, after appending new ones to it in place.

    Args:
      q: [B, Sq, H, D], or [Tq, H, D] with cu_seqlens_q, int32 [B + 1].
      k_cache, v_cache: [B, S, Hk, D] and Dv, or [pages, page_size, Hk, D] and Dv with page_table.
      k, v: [B, S_new, Hk, D], or [T_new, Hk, D] with cu_seqlens_k_new, int32 [B + 1] from 0 to T_new; written to the
        cache behind cache_seqlens keys before the attention. They must fit.
      cache_seqlens: int, or int32 [B]: keys in use before the append; default: the whole cache. The causal diagonal
        and the window are aligned with the last key in use after the append.
      cache_batch_idx: int32 [B], the cache entry of each batch entry; not together with page_table.
      page_table: int32 [B, max_pages].
      rotary_cos, rotary_sin, rotary_seqlens and cache_leftpad are refused; rotary_interleaved says nothing without
        them.

    Returns:
      out like q with Dv, or (out, lse [B, H, Sq] or [H, Tq]) with return_softmax_lse.

    Raises:
      fovea.Error: nothing was written, the cache included.
    """
    function = "flash_attn_with_kvcache"
    _common.refuse_given(
        function, _common.ROTARY_HINT, rotary_cos=rotary_cos, rotary_sin=rotary_sin, rotary_seqlens=rotary_seqlens
    )
    _common.refuse_given(function, _common.LEFTPAD_HINT, cache_leftpad=cache_leftpad)
    features = _features(
        function, softmax_scale, causal, qv, q_descale, k_descale, v_descale, window_size, attention_chunk, softcap,
        num_splits,
    )  # fmt: skip
    features["cu_seqlens_q"] = cu_seqlens_q
    batch = q.shape[0] if cu_seqlens_q is None else cu_seqlens_q.shape[0] - 1
    table = _common.cache_pages(function, cache_batch_idx, "page_table", page_table)
    lengths = _common.used_lengths(batch, k_cache, cache_seqlens, table)
    return _common.attend_cache(
        function, q, k_cache, v_cache, k, v, lengths, table, cu_seqlens_k_new, return_softmax_lse, features
    )


def flash_attn_combine(out_partial, lse_partial, out=None, out_dtype=None):
    """Merges partial results over disjoint sets of keys into the result over their union.

    Args:
      out_partial: [parts, B, S, H, Dv], fp32, bf16 or fp16; lse_partial: fp32 [parts, B, S, H], natural.
      out: [B, S, H, Dv], written in place; default: new, of out_dtype (default: the dtype of out_partial).

    Returns:
      (out, lse), lse fp32 [B, S, H], -inf where every part is empty.

    Raises:
      fovea.Error: out_dtype contradicts out, or see fovea.merge_states.
    """
    if out is None:
        out = torch.empty(out_partial.shape[1:], dtype=out_dtype or out_partial.dtype, device=out_partial.device)
    agrees = out_dtype is None or out_dtype == out.dtype
    _common.require(agrees, "flash_attn_combine", f"out_dtype={out_dtype}, but out is {out.dtype}")
    lses = [part.transpose(1, 2) for part in lse_partial.unbind(0)]
    out, lse = fovea.merge_states(list(out_partial.unbind(0)), lses, out=out)
    return out, lse.transpose(1, 2)

"""fovea as a flash attention implementation of torch: `register()`, then torch's `activate_flash_attention_impl`.

Never run on a GPU so far: what is tested is the registration and, with CPU tensors, the functions that torch calls.

    fovea.integrations.torch_flash.register()
    torch.nn.attention.activate_flash_attention_impl("fovea")

From then on, until `torch.nn.attention.restore_flash_attention_impl()`, CUDA calls that torch gives to flash attention
(from scaled_dot_product_attention or varlen_attn) go to fovea. Forward only: inputs that require grad and the backward
operators are refused. The overloads with fp8 scales stay torch's own. Needs a torch with
`torch.nn.attention.register_flash_attention_impl`; written against 2.13.
"""

import torch

import fovea


def flash_attention_forward_inplace(
    out,
    query,
    key,
    value,
    cum_seq_q,
    cum_seq_k,
    max_q,
    max_k,
    dropout_p,
    is_causal,
    return_debug_mask,
    *,
    scale=None,
    window_size_left=None,
    window_size_right=None,
    seqused_k=None,
    alibi_slopes=None,
    block_table=None,
    num_splits=None,
    **kwargs,
):
    """aten::_flash_attention_forward_no_dropout_inplace.

    Args:
      out: as query; written.
      query: [B, Sq, Hq, D], or [Tq, Hq, D] with cum_seq_q. key, value: [B, Sk, Hkv, D], [Tk, Hkv, D] with cum_seq_k, or
        [pages, page_size, Hkv, D] with block_table. fp32, bf16 or fp16; taken as views.
      cum_seq_q, cum_seq_k: int32 [B + 1]; seqused_k: int32 [B]; block_table: int32 [B, max_pages].
      max_q, max_k: upper bounds of the lengths; the result does not depend on them.
      is_causal: aligned with the last key (bottom-right).
      window_size_left, window_size_right: inclusive, of the same diagonal; None or -1 is unlimited.
      num_splits: None chooses; 1 also makes the bits of a sequence independent of the rest of the batch.
      kwargs: arguments of a newer torch, which must be None.

    Returns:
      logsumexp: fp32 [B, Hq, Sq] or [Hq, Tq], natural logarithm, -inf for rows that see no key.

    Raises:
      fovea.Error: dropout, a debug mask, ALiBi, an argument of a newer torch, or any refusal of fovea.attention.
    """
    _refuse_unserved(dropout_p=dropout_p, return_debug_mask=return_debug_mask, alibi_slopes=alibi_slopes, **kwargs)
    window = (None if side == -1 else side for side in (window_size_left, window_size_right))
    _, lse = fovea.attention(
        query,
        key,
        value,
        causal=is_causal,
        window=tuple(window),
        scale=scale,
        cu_seqlens_q=cum_seq_q,
        # Pages have no packed rows: their lengths are seqused_k.
        cu_seqlens_kv=cum_seq_k if block_table is None else None,
        seqused_kv=seqused_k,
        page_table=block_table,
        out=out,
        return_lse=True,
        num_splits=num_splits or 0,
        batch_invariant=num_splits == 1,
    )
    return lse


def flash_attention_forward(query, *operands, **options):
    """aten::_flash_attention_forward: the arguments of flash_attention_forward_inplace without `out`.

    Returns:
      (output as query, logsumexp, rng_state, unused, debug_attn_mask). The last three have the dtypes and shapes that
      torch expects and no meaning, as there is no dropout.
    """
    out = torch.empty_like(query)
    lse = flash_attention_forward_inplace(out, query, *operands, **options)
    return out, lse, *_placeholders(query)


def scaled_dot_product_flash_attention(
    query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None, **kwargs
):
    """aten::_scaled_dot_product_flash_attention.

    Args:
      query: [B, Hq, Sq, D]; key, value: [B, Hkv, Sk, D]. fp32, bf16 or fp16; taken as views.
      is_causal: aligned with the last key (bottom-right); torch itself comes here with Sq == Sk only.
      kwargs: arguments of a newer torch, which must be None.

    Returns:
      (output with shape and strides of query, logsumexp fp32 [B, Hq, Sq], None, None, Sq, Sk, rng_state, unused,
      debug_attn_mask); the last three as in flash_attention_forward.

    Raises:
      fovea.Error: dropout, a debug mask, an argument of a newer torch, or any refusal of fovea.attention.
    """
    _refuse_unserved(dropout_p=dropout_p, return_debug_mask=return_debug_mask, **kwargs)
    out = torch.empty_like(query)
    views = (tensor.transpose(1, 2) for tensor in (query, key, value))
    _, lse = fovea.attention(*views, causal=is_causal, scale=scale, out=out.transpose(1, 2), return_lse=True)
    return out, lse, None, None, query.shape[2], key.shape[2], *_placeholders(query)


def refuse_backward(*operands, **options):
    """Both backward operators: raises fovea.Error."""
    raise _refusal("the backward pass of flash attention", "forward calls", "restore_flash_attention_impl() to train")


IMPLEMENTATIONS = {
    "_flash_attention_forward": flash_attention_forward,
    "_flash_attention_forward_no_dropout_inplace": flash_attention_forward_inplace,
    "_flash_attention_backward": refuse_backward,
    "_scaled_dot_product_flash_attention": scaled_dot_product_flash_attention,
    "_scaled_dot_product_flash_attention_backward": refuse_backward,
}


class Activation:
    """The overrides of torch's operators, from its making until remove().

    dispatch_key: the device whose calls go to fovea.
    """

    def __init__(self, dispatch_key="CUDA"):
        # Torch drops the overrides of a Library together with the object.
        self._library = torch.library.Library("aten", "IMPL", dispatch_key)
        for name, implementation in IMPLEMENTATIONS.items():
            if hasattr(torch.ops.aten, name):
                self._library.impl(name, implementation, dispatch_key)

    def remove(self):
        """Gives the operators back to torch."""
        self._library = None


def register(name="fovea"):
    """Offers fovea to torch.nn.attention.activate_flash_attention_impl(name). Nothing is overridden before that call.

    Raises:
      fovea.Error: this torch has no registry of flash attention implementations.
    """
    offer = getattr(torch.nn.attention, "register_flash_attention_impl", None)
    if offer is None:
        raise _refusal(f"a flash attention registry of torch {torch.__version__}", "torch 2.13", "update torch")
    offer(name, register_fn=Activation)


def _refuse_unserved(**given):
    for name, setting in given.items():
        if setting is not None and setting is not False and not (name == "dropout_p" and setting == 0.0):
            raise _refusal(name, "None, False or no dropout", "leave it out")


def _refusal(asked, allowed, hint):
    return fovea.Error("unsupported", asked, allowed, "fovea does not serve it as a torch implementation", hint)


def _placeholders(query):
    """rng_state, unused and debug_attn_mask of a call without dropout."""
    seeds = (query.new_zeros(shape, dtype=torch.uint64) for shape in ((2,), ()))
    return *seeds, query.new_empty(0)

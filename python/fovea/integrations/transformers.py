"""Attention for Hugging Face transformers: `register()`, then `attn_implementation="fovea"`.

Forward only. Needs transformers 5.x; written against 5.24.0.
"""

import torch

import fovea

# Keyword arguments that models hand down to every attention call and that do not change its result. Positions are in
# the queries, the keys and the mask already; a result of fovea is always repeatable; the others concern the model.
ACCEPTED = frozenset(
    {
        "cache_position",
        "deterministic",
        "logits_to_keep",
        "max_length_k",
        "max_length_q",
        "num_items_in_batch",
        "output_hidden_states",
        "output_router_logits",
        "position_ids",
        "return_dict",
        "use_cache",
    }
)


def attention_forward(
    module,
    query,
    key,
    value,
    attention_mask,
    scaling=None,
    dropout=0.0,
    is_causal=None,
    sliding_window=None,
    softcap=None,
    s_aux=None,
    position_bias=None,
    **kwargs,
):
    """One attention call of a transformers model.

    Args:
      module: the attention layer; its `is_causal` counts when the argument is None.
      query: [B, Hq, Sq, Dqk]; key: [B, Hkv, Sk, Dqk]; value: [B, Hkv, Sk, Dv]. fp32, bf16 or fp16; taken as views.
      attention_mask: None, bool [B|1, Hq|Hkv|1, Sq|1, Sk] with true = visible, or fp32, bf16 or fp16 of that shape,
        added to the scores. A mask is complete: it holds causality and the sliding window too. Without one a causal
        layer is causal from the first key on (query i sees key j when j <= i), except that a single query sees every
        key: the model's convention for decoding with a cache.
      scaling: default 1/sqrt(Dqk).
      sliding_window: keys that a causal query sees, itself included. Counts only without a mask.
      softcap: scores become softcap * tanh(score / softcap).
      s_aux: [Hq], one more score per head without a value.
      position_bias: [B|1, Hq|Hkv|1, Sq|1, Sk], added to the scores.
      kwargs: names in ACCEPTED, and any name whose value is None or False.

    Returns:
      (out [B, Sq, Hq, Dv] in the dtype of query, None): attention weights are never made.

    Raises:
      fovea.Error: dropout, attention weights, an unknown keyword argument, two additive masks, a sliding window of a
        non-causal layer without a mask, or any refusal of fovea.attention (inputs that require grad among them).
    """
    _refuse_unserved(dropout, kwargs)
    causal, window = _pattern(module, query, key, attention_mask, is_causal, sliding_window)
    mask, bias = _mask_and_bias(attention_mask, position_bias)
    out = fovea.attention(
        query.transpose(1, 2),
        key.transpose(1, 2),
        value.transpose(1, 2),
        causal=causal,
        # Without a mask, a causal pattern starts at the first key, not at the last one.
        q_offset=0 if causal else None,
        window=window,
        mask=mask,
        bias=bias,
        softcap=softcap or 0.0,
        sink=None if s_aux is None else s_aux.detach().float(),
        scale=scaling,
    )
    return out, None


def _refuse_unserved(dropout, kwargs):
    if dropout:
        raise _refusal(f"dropout={dropout}", "dropout=0", "call model.eval() or set the dropout of the config to 0")
    if kwargs.get("output_attentions"):
        raise _refusal("output_attentions", "no attention weights", 'use attn_implementation="eager" for them')
    unknown = {name for name, given in kwargs.items() if given is not None and given is not False} - ACCEPTED
    if unknown:
        allowed = f"those of attention_forward and {', '.join(sorted(ACCEPTED))}"
        raise _refusal(f"arguments {', '.join(sorted(unknown))}", allowed, 'use attn_implementation="sdpa" or "eager"')


def _pattern(module, query, key, attention_mask, is_causal, sliding_window):
    """(causal, window) of a call; with a mask, everything is in the mask."""
    if attention_mask is not None:
        return False, None
    if is_causal is None:
        is_causal = getattr(module, "is_causal", True)
    window = None
    if sliding_window is not None and key.shape[2] > sliding_window:
        if not is_causal:
            raise _refusal("sliding_window of a layer that is not causal", "a causal layer", "pass an attention_mask")
        window = (sliding_window - 1, None)
    return bool(is_causal) and query.shape[2] > 1, window


def _mask_and_bias(attention_mask, position_bias):
    """(mask, bias) of fovea: bool masks hide keys, others are added to the scores."""
    if attention_mask is None or attention_mask.dtype == torch.bool:
        return attention_mask, position_bias
    if not attention_mask.is_floating_point():
        raise _refusal(f"attention_mask of {attention_mask.dtype}", "bool or floating point", "compare it with 0")
    if position_bias is not None:
        raise _refusal("position_bias and an additive attention_mask", "one of them", "pass a bool attention_mask")
    return None, attention_mask


def _refusal(asked, allowed, hint):
    return fovea.Error("unsupported", asked, allowed, "fovea does not serve it as a transformers implementation", hint)


def register(name="fovea"):
    """Makes `attn_implementation=name` work in transformers, for attention and for the masks that models make.

    Masks are those of "sdpa": bool, true = visible, or None where causality alone is enough. Calling it again with
    the same name is allowed. There is no backward pass yet: call models under torch.no_grad().

    Raises:
      ImportError: transformers is not installed, or has no attention registry.
      ValueError: the name is taken, or means something else to transformers.
    """
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    if "flash" in name or "|" in name or "/" in name:
        raise ValueError(f'{name!r}: transformers gives names with "flash", "|" or "/" a meaning of their own')
    registered = AttentionInterface().get(name)
    if name == "eager" or registered not in (None, attention_forward):
        raise ValueError(f"{name!r} is another attention implementation of transformers")
    AttentionInterface.register(name, attention_forward)
    AttentionMaskInterface.register(name, sdpa_mask)

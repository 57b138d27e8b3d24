"""What the dialects share: refusals, windows, the meaning of an empty row's lse, and the key-value cache."""

import torch

import fovea

ROTARY_HINT = "rotate q and k before the call"
LEFTPAD_HINT = "let every sequence of the cache start at key 0"


class Unserved(fovea.Error, NotImplementedError):
    """The refusal of an argument that fovea does not serve; its code is "unsupported"."""


class Contradiction(fovea.Error, ValueError):
    """The refusal of arguments that contradict each other; its code is "arguments"."""


def refuse(function, name, value, allowed, hint):
    """Raises Unserved for an argument."""
    asked = f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)
    raise Unserved("unsupported", f"{function}: {name}={asked}", allowed, "fovea does not serve it", hint)


def refuse_given(function, hint, **arguments):
    """Refuses, by name, each argument that is not None."""
    for name, value in arguments.items():
        if value is not None:
            refuse(function, name, value, "None", hint)


def refuse_dropout(function, dropout_p):
    if dropout_p != 0:
        refuse(function, "dropout_p", dropout_p, "0.0", "call it in evaluation mode, or drop out what comes after it")


def require(condition, function, text):
    """Raises Contradiction unless the condition holds."""
    if not condition:
        hint = f"correct the call; help({function}) gives the shapes"
        raise Contradiction("arguments", f"{function}: {text}", "arguments that agree", "nothing was written", hint)


def window(function, window_size):
    """The window of fovea.attention from (left, right) where -1 means unlimited."""
    for bound in window_size:
        if bound is None or bound < -1:
            refuse(function, "window_size", window_size, "two numbers >= -1", "-1 is the unlimited bound")
    left, right = (None if bound == -1 else bound for bound in window_size)
    return None if left is None and right is None else (left, right)


def plus_inf_when_empty(lse):
    """The lse with +inf, in place of -inf, for rows that see no key: the convention of FA2 and its descendants."""
    return lse.masked_fill_(lse == -torch.inf, torch.inf)


def as_triple(result, asked):
    """(out, lse, None), the lse as FA2 gives it, from the (out, lse) of a call that was asked for lse; else its out."""
    if not asked:
        return result
    out, lse = result
    return out, plus_inf_when_empty(lse), None


def packed_keys(cu_seqlens_k, page_table):
    """The named arguments of fovea.attention for packed keys; with pages cu_seqlens_k gives only the lengths."""
    if page_table is None:
        return {"cu_seqlens_kv": cu_seqlens_k}
    return {"seqused_kv": cu_seqlens_k.diff(), "page_table": page_table}


def used_lengths(batch, k_cache, cache_seqlens, page_table):
    """int32 [B], or None for the whole of a cache without pages: the keys in use before anything is appended."""
    if cache_seqlens is None:
        if page_table is None:
            return None
        cache_seqlens = page_table.shape[1] * k_cache.shape[1]
    if isinstance(cache_seqlens, torch.Tensor):
        return cache_seqlens
    return torch.full((batch,), cache_seqlens, dtype=torch.int32, device=k_cache.device)


def cache_pages(function, cache_batch_idx, table_name, page_table):
    """The page table of a cache call: the caller's, or one that reads each cache entry as a single page."""
    if cache_batch_idx is None:
        return page_table
    if page_table is not None:
        refuse(function, "cache_batch_idx", cache_batch_idx, f"None with {table_name}", f"index {table_name} instead")
    return cache_batch_idx.unsqueeze(1)


def attend_cache(
    function, q, k_cache, v_cache, k, v, lengths, page_table, cu_seqlens_new, return_lse, features,
):  # fmt: skip
    """fovea.attention over a cache with `lengths` keys per sequence, after appending k and v to it in place.

    k and v are [B, S_new, Hkv, D], or [T_new, Hkv, D] with cu_seqlens_new, or both None. `features` are named arguments
    of fovea.attention. Everything is checked before the first write, values where they are in CPU memory.
    """
    if k is None and v is None:
        require(cu_seqlens_new is None, function, "cu_seqlens_k_new describes k and v, which are not given")
    else:
        _check_new_keys(function, q, k_cache, v_cache, k, v, lengths, cu_seqlens_new)
        entry, position, added = _places(k, lengths, cu_seqlens_new)
        entry, position = _slots(function, k_cache, entry, position, lengths + added, page_table)
        lengths = (lengths + added).to(torch.int32)
    features = dict(features, seqused_kv=lengths, page_table=page_table, return_lse=return_lse)
    if k is not None:
        support = fovea.supports(q, k_cache, v_cache, **features)
        if not support:
            raise support.refusal
        with torch.no_grad():
            k_cache[entry, position] = k
            v_cache[entry, position] = v
    return fovea.attention(q, k_cache, v_cache, **features)


def _check_new_keys(function, q, k_cache, v_cache, k, v, lengths, cu_seqlens_new):
    require(k is not None and v is not None, function, "k and v are given together or not at all")
    require(lengths is not None, function, "k and v need cache_seqlens, the place where they are appended")
    one_each = lengths.dim() == 1 and lengths.dtype == torch.int32
    require(one_each, function, f"cache_seqlens must be int32 [B], not {lengths.dtype} {list(lengths.shape)}")
    batch, rank = lengths.shape[0], 4 if cu_seqlens_new is None else 3
    for name, new, cache in (("k", k, k_cache), ("v", v, v_cache)):
        require(new.dim() == rank, function, f"{name} must have rank {rank}, not {new.dim()}")
        require(new.shape[-2:] == cache.shape[-2:], function, f"{name} differs from the cache in heads or head dim")
        require(new.dtype == cache.dtype, function, f"{name} is {new.dtype}, the cache is {cache.dtype}")
    require(k.shape[:-1] == v.shape[:-1], function, "k and v differ in batch, length or heads")
    if torch.is_grad_enabled():
        for name, tensor in (("q", q), ("k", k), ("v", v), ("k_cache", k_cache), ("v_cache", v_cache)):
            if tensor.requires_grad:
                refuse(function, name, tensor, "tensors without requires_grad", "call it under torch.no_grad()")
    if cu_seqlens_new is None:
        require(k.shape[0] == batch, function, f"k has {k.shape[0]} batch entries, cache_seqlens {batch}")
        return
    require(cu_seqlens_new.shape == (batch + 1,), function, f"cu_seqlens_k_new must have the shape [{batch + 1}]")
    if cu_seqlens_new.device.type == "cpu":
        right = cu_seqlens_new[0] == 0 and cu_seqlens_new[-1] == k.shape[0] and bool((cu_seqlens_new.diff() >= 0).all())
        require(right, function, f"cu_seqlens_k_new must rise from 0 to the {k.shape[0]} rows of k")


def _places(k, lengths, cu_seqlens_new):
    """(batch entry, position) of every new key, index tensors that broadcast to its rows, and how many are added."""
    if cu_seqlens_new is None:
        entry = torch.arange(k.shape[0], device=k.device).unsqueeze(1)
        return entry, lengths.unsqueeze(1) + torch.arange(k.shape[1], device=k.device), k.shape[1]
    rows = torch.arange(k.shape[0], dtype=cu_seqlens_new.dtype, device=k.device)
    entry = torch.bucketize(rows, cu_seqlens_new[1:], right=True)
    return entry, lengths[entry] + rows - cu_seqlens_new[entry], cu_seqlens_new.diff()


def _slots(function, k_cache, entry, position, lengths, page_table):
    """(index of dim 0, index of dim 1) of the cache for every new key; `lengths` are those after the append."""
    page_size, pages = k_cache.shape[1], 1 if page_table is None else page_table.shape[1]
    on_cpu = k_cache.device.type == "cpu"
    if on_cpu:
        fits = bool(((position >= 0) & (position < pages * page_size)).all()) and bool((lengths >= 0).all())
        require(fits, function, f"cache_seqlens plus the new keys leave the cache, which holds {pages * page_size}")
    if page_table is not None:
        entry, position = page_table[entry, position // page_size], position % page_size
    if on_cpu:
        inside = bool(((entry >= 0) & (entry < k_cache.shape[0])).all())
        require(inside, function, f"a needed page is not among the {k_cache.shape[0]} of the cache")
    return entry, position

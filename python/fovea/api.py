"""The public calls: attention, merge_states, supports, explain, warmup, doctor.

Shapes, with B batch, Sq/Sk query/key length, Hq/Hkv heads, Dqk/Dv head dims, T total rows. Tensors are torch tensors,
NumPy arrays or anything with `__dlpack__`; all are views: nothing is copied, made contiguous or materialised.
What attention means is docs/contract.md of the project.
"""

import concurrent.futures
import functools
import json
import os

from . import binding
from .arrays import empty, is_cupy, is_torch, on_current_stream, viewable
from .errors import Error, from_fields
from .nvrtc import open_wheel

_BACKENDS = {"auto": 0, "cpu": 1, "cuda": 2, "model": 3}
_CAUSAL, _WINDOW_LEFT, _WINDOW_RIGHT, _Q_OFFSET, _KV_OFFSET, _SCALE, _BATCH_INVARIANT, _FORBID_SLOW = (
    1 << bit for bit in range(8)
)


def attention(
    q,
    k,
    v,
    *,
    causal=False,
    window=None,
    mask=None,
    bias=None,
    softcap=0.0,
    sink=None,
    scale=None,
    q_offset=None,
    kv_offset=None,
    cu_seqlens_q=None,
    cu_seqlens_kv=None,
    seqused_q=None,
    seqused_kv=None,
    page_table=None,
    return_lse=False,
    out=None,
    lse=None,
    deterministic=False,
    batch_invariant=False,
    forbid_slow=False,
    num_splits=0,
    backend="auto",
):
    """softmax(scale * q k^T + bias) v over the visible keys.

    Args:
      q: [B, Sq, Hq, Dqk], or [Tq, Hq, Dqk] with cu_seqlens_q. fp32, bf16 or fp16, any strides.
      k, v: [B, Sk, Hkv, D], or [Tk, Hkv, D] with cu_seqlens_kv, or [pages, page_size, Hkv, D] with page_table; the
        dtype of q. Hq is a multiple of Hkv.
      causal: query i sees key j when j <= i + Sk - Sq (bottom-right aligned), per sequence.
      window: (left, right): keys from i - left to i + right of the same diagonal, both inclusive; None on a side =
        unlimited.
      mask: bool, true = visible; bias: fp32, bf16 or fp16, added after scaling. Both [B|1, Hq|Hkv|1, Sq|1, Sk] as
        broadcast views.
      softcap: scores become softcap * tanh(score / softcap); 0 = off.
      sink: fp32 [Hq], one more score per head without a value.
      scale: default 1/sqrt(Dqk).
      q_offset, kv_offset: positions of query row 0 and key row 0; they replace the bottom-right alignment.
      cu_seqlens_q, cu_seqlens_kv: int32 [B + 1]; seqused_q, seqused_kv: int32 [B]; page_table: int32 [B, max_pages].
      out: as q with Dv, written in place when given. lse: fp32 [B, Hq, Sq] or [Hq, Tq], likewise.
      deterministic: accepted; every forward result is bitwise repeatable anyway.
      batch_invariant: the bits of a request do not depend on the rest of the batch.
      forbid_slow: refuse rather than take a path that costs more than 1.5x.
      num_splits: 0 = choose; 1..256 parts of the keys.
      backend: "auto" (where the tensors are), "cpu", "cuda", "model" (the functional GPU model: slow, for tests).

    Returns:
      out, or (out, lse) with return_lse; lse is the natural logarithm, -inf for rows that see no key (their out is 0).

    Raises:
      fovea.Error: `code` is the stable name of the refusal; nothing was written.
    """
    layer = _LAYERS.get(type(q)) or _layer(q)
    return layer(
        q, k, v, return_lse, out, lse, causal, window, mask, bias, softcap, sink, scale, q_offset, kv_offset,
        cu_seqlens_q, cu_seqlens_kv, seqused_q, seqused_kv, page_table, batch_invariant, forbid_slow, num_splits,
        backend,
    )  # fmt: skip


# Type of q -> the function that runs attention() for it.
_LAYERS = {}


def _layer(q):
    if not hasattr(q, "__dlpack__"):
        raise no_tensor("q", q)
    if is_torch(q):
        from .torch_ops import layer_of

        layer = layer_of(q)
    else:
        layer = _cupy_attention if is_cupy(q) else _array_attention
    _LAYERS[type(q)] = layer
    return layer


def _array_attention(q, k, v, return_lse, out, lse, *features):
    out, lse = outputs(q, v, features[9], out, lse, return_lse)  # features[9]: cu_seqlens_q
    binding.run(map(viewable, arguments(q, k, v, out, lse, *features)))
    return (out, lse) if return_lse else out


def _cupy_attention(q, *arguments):
    with on_current_stream(q):
        return _array_attention(q, *arguments)


def merge_states(outs, lses, *, sink=None, out=None, lse=None):
    """Merges attention results over disjoint sets of keys into the result over their union.

    Args:
      outs: list of [B, Sq, Hq, Dv] or [T, Hq, Dv], fp32, bf16 or fp16, each its own. On a GPU at most 32.
      lses: list of fp32 [B, Hq, Sq] or [Hq, T], natural logarithm; (0, -inf) is the identity.
      sink: fp32 [Hq], when the parts were made without it.
      out, lse: written in place when given; may be those of a part. Default: new, out with the dtype of outs[0].

    Returns:
      (out, lse).

    Raises:
      fovea.Error, also for torch tensors that require grad: there is no backward yet.
    """
    outs, lses = list(outs), list(lses)
    if not outs or len(outs) != len(lses):
        asked = f"{len(outs)} outs and {len(lses)} lses"
        raise Error("merge_count", asked, "as many lses as outs, one at least", "a part is a pair", "pass both lists")
    for name, part in (("outs", outs[0]), ("lses", lses[0])):
        if not hasattr(part, "__dlpack__"):
            raise no_tensor(name, part)
    if is_torch(outs[0]):
        from .torch_ops import merge_states as torch_merge_states

        return torch_merge_states(outs, lses, sink, out, lse)
    out = empty(outs[0], tuple(outs[0].shape)) if out is None else out
    lse = empty(lses[0], tuple(lses[0].shape)) if lse is None else lse
    with on_current_stream(outs[0]):
        binding.merge(list(map(viewable, outs)), list(map(viewable, lses)), out, lse, viewable(sink))
    return out, lse


class Support:
    """Whether a call would be served. True in a condition when it would; `refusal` is the Error it would raise."""

    def __init__(self, refusal=None):
        self.refusal = refusal

    def __bool__(self):
        return self.refusal is None

    def __repr__(self):
        return "Support()" if self.refusal is None else f"Support({self.refusal})"


def supports(q, k, v, **features):
    """Whether attention() with the same arguments would be served, as a Support. Nothing is computed or written."""
    refused = binding.supports(*map(viewable, _described(q, k, v, **features)))
    return Support(None if refused is None else from_fields(refused))


def explain(q, k, v, *, output_format="text", **features):
    """How attention() with the same arguments would run: problem, verdicts, choice, plan.

    output_format: "text" for a string, "json" for a dict.
    """
    as_json = _is_json(output_format)
    text = binding.explain(binding.JSON if as_json else binding.TEXT, *map(viewable, _described(q, k, v, **features)))
    return json.loads(text) if as_json else text


def warmup(target=None, *, threads=None):
    """Compiles the standard kernels of a target unless they are kept on disk already; needs NVRTC, no GPU.

    target: "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a" or "model"; None = the machine's first GPU.
    threads: kernels that are compiled at a time; None = one per core.
    Returns a list of dicts: index, origin ("memory", "disk", "compiled"), bytes, seconds.
    """
    open_wheel()
    count = len(json.loads(binding.kernels(target, binding.JSON))["kernels"])
    origins = ("memory", "disk", "compiled")
    with concurrent.futures.ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        results = list(pool.map(functools.partial(binding.warmup, target), range(count)))
    return [
        {"index": index, "origin": origins[origin], "bytes": size, "seconds": seconds}
        for index, (origin, size, seconds) in enumerate(results)
    ]


def doctor(output_format="text"):
    """The machine as fovea sees it: CPU targets, threads, drivers found or not and why. "text" or "json" (a dict)."""
    as_json = _is_json(output_format)
    open_wheel()
    text = binding.doctor(binding.JSON if as_json else binding.TEXT)
    return json.loads(text) if as_json else text


def outputs(q, v, cu_seqlens_q, out, lse, return_lse):
    """out and lse of a call: the caller's, or new ones; lse None unless asked for."""
    if is_torch(q):
        from .torch_ops import outputs as torch_outputs

        return torch_outputs(q, v, cu_seqlens_q, out, lse, return_lse)
    if not hasattr(v, "shape"):
        raise no_tensor("v", v)
    if out is None:
        out = empty(q, (*q.shape[:-1], v.shape[-1]))
    if lse is None and return_lse:
        lse = empty(q, lse_shape(q, cu_seqlens_q), "float32")
    return out, lse


def no_tensor(name, value):
    """The Error for an operand that is no tensor."""
    allowed = "a torch tensor, a NumPy array, or an object with __dlpack__"
    return Error("argument_type", f"{name} of type {type(value).__name__}", allowed, "operands are views", "convert it")


def lse_shape(q, cu_seqlens_q):
    """[B, Hq, Sq], or [Hq, Tq] with variable lengths."""
    if cu_seqlens_q is not None:
        return (q.shape[1], q.shape[0])
    return (q.shape[0], q.shape[2], q.shape[1])


def arguments(
    q, k, v, out, lse, causal, window, mask, bias, softcap, sink, scale, q_offset, kv_offset, cu_seqlens_q,
    cu_seqlens_kv, seqused_q, seqused_kv, page_table, batch_invariant, forbid_slow, num_splits, backend,
):  # fmt: skip
    """What the binding takes (python/binding/binding.cpp, read()), in its order."""
    left, right = window_sides(window)
    flags = _CAUSAL if causal else 0
    if left is not None:
        flags |= _WINDOW_LEFT
    if right is not None:
        flags |= _WINDOW_RIGHT
    if q_offset is not None:
        flags |= _Q_OFFSET
    if kv_offset is not None:
        flags |= _KV_OFFSET
    if scale is not None:
        flags |= _SCALE
    if batch_invariant:
        flags |= _BATCH_INVARIANT
    if forbid_slow:
        flags |= _FORBID_SLOW
    number = _BACKENDS.get(backend)
    if number is None:
        allowed = ", ".join(_BACKENDS)
        raise Error("no_backend", f"backend {backend!r}", allowed, "fovea has no other backends", "correct the name")
    return (
        q, k, v, out, lse, mask, bias, sink, cu_seqlens_q, cu_seqlens_kv, seqused_q, seqused_kv, page_table, flags,
        number, scale or 0.0, softcap, left or 0, right or 0, q_offset or 0, kv_offset or 0, num_splits,
    )  # fmt: skip


def window_sides(window):
    """(left, right) of a window; None = unlimited."""
    if window is None:
        return None, None
    try:
        left, right = window
    except (TypeError, ValueError):
        asked, allowed = f"window {window!r}", "None, or a pair (left, right) of numbers or None"
        raise Error("window", asked, allowed, "the two sides are apart", "give both") from None
    return left, right


def _described(q, k, v, **features):
    """arguments() from the named arguments of attention()."""
    unknown = features.keys() - attention.__kwdefaults__.keys()
    if unknown:
        allowed = ", ".join(attention.__kwdefaults__)
        raise TypeError(f"unknown argument {sorted(unknown)[0]!r}; attention() has {allowed}")
    features = attention.__kwdefaults__ | features
    del features["deterministic"]
    returned = (features.pop("out"), features.pop("lse"), features.pop("return_lse"))
    out, lse = outputs(q, v, features["cu_seqlens_q"], *returned)
    return arguments(q, k, v, out, lse, **features)


def _is_json(output_format):
    if output_format not in ("text", "json"):
        raise Error("config", f"output_format {output_format!r}", "text, json", "there are two forms", "take one")
    return output_format == "json"

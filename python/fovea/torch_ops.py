"""The torch layer: operators torch.ops.fovea.attention, attention_out and merge_states, with fake implementations.

Eager calls with plain tensors go to the binding at once; compiled code and tensor subclasses go through the operators.
There is no backward kernel yet: inputs that require grad are refused by name.
"""

import torch

from . import api, binding
from .errors import Error
from .nvrtc import open_wheel

_compiling = torch.compiler.is_compiling
_grad_enabled = torch.is_grad_enabled
_arguments = api.arguments
_run_binding = binding.run
_PLAIN = {torch.Tensor, torch.nn.Parameter}
_TENSORS = ("q", "k", "v", "mask", "bias", "sink")

# In the order of fovea.attention; the window as two numbers.
_FEATURES = (
    "Tensor q, Tensor k, Tensor v, bool causal=False, SymInt? window_left=None, SymInt? window_right=None, "
    "Tensor? mask=None, Tensor? bias=None, float softcap=0.0, Tensor? sink=None, float? scale=None, "
    "SymInt? q_offset=None, SymInt? kv_offset=None, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_kv=None, "
    "Tensor? seqused_q=None, Tensor? seqused_kv=None, Tensor? page_table=None, bool batch_invariant=False, "
    "bool forbid_slow=False, int num_splits=0, str backend='auto'"
)
# What a kernel gets for an argument that was left out, by its name; in order.
_OTHERS = ("out", "lse", "return_lse", "deterministic", "window", "causal")
_DEFAULTS = {"causal": False, "window_left": None, "window_right": None}
_DEFAULTS |= {name: default for name, default in api.attention.__kwdefaults__.items() if name not in _OTHERS}
_NAMES, _VALUES = tuple(_DEFAULTS), tuple(_DEFAULTS.values())
_CU_SEQLENS_Q = _NAMES.index("cu_seqlens_q")  # the first three: causal and the window

LIBRARY = torch.library.Library("fovea", "DEF")
LIBRARY.define(f"attention({_FEATURES}, *, bool return_lse=False) -> (Tensor, Tensor)")
LIBRARY.define(f"attention_out({_FEATURES}, *, Tensor(a!) out, Tensor(b!)? lse=None) -> ()")
LIBRARY.define("merge_states(Tensor[] outs, Tensor[] lses, Tensor? sink=None) -> (Tensor, Tensor)")


def attention(
    q, k, v, return_lse, out, lse, causal, window, mask, bias, softcap, sink, scale, q_offset, kv_offset, cu_seqlens_q,
    cu_seqlens_kv, seqused_q, seqused_kv, page_table, batch_invariant, forbid_slow, num_splits, backend,
):  # fmt: skip
    """fovea.attention for plain torch tensors: what it returns, see there. On the way of every eager call."""
    if _compiling():
        return attention_by_operators(
            q, k, v, return_lse, out, lse, causal, window, mask, bias, softcap, sink, scale, q_offset, kv_offset,
            cu_seqlens_q, cu_seqlens_kv, seqused_q, seqused_kv, page_table, batch_invariant, forbid_slow, num_splits,
            backend,
        )  # fmt: skip
    if _grad_enabled():
        refuse_grad(q, k, v, mask, bias, sink)
    if out is None or (lse is None and return_lse):
        out, lse = outputs(q, v, cu_seqlens_q, out, lse, return_lse)
    _run_binding(
        _arguments(
            q, k, v, out, lse, causal, window, mask, bias, softcap, sink, scale, q_offset, kv_offset, cu_seqlens_q,
            cu_seqlens_kv, seqused_q, seqused_kv, page_table, batch_invariant, forbid_slow, num_splits, backend,
        )
    )  # fmt: skip
    return (out, lse) if return_lse else out


def attention_by_operators(q, k, v, return_lse, out, lse, causal, window, *others):
    """The same for code that is compiled and for tensor subclasses, fake tensors among them."""
    left, right = api.window_sides(window)
    features = (q, k, v, causal, left, right, *others)
    if out is None and lse is None:
        out, lse = torch.ops.fovea.attention(*features, return_lse=return_lse)
    else:
        out, lse = outputs(q, v, others[_CU_SEQLENS_Q - 3], out, lse, return_lse)
        torch.ops.fovea.attention_out(*features, out=out, lse=lse)
    return (out, lse) if return_lse else out


def layer_of(tensor):
    """The function that runs fovea.attention() for tensors of this type."""
    return attention if type(tensor) in _PLAIN else attention_by_operators


def merge_states(outs, lses, sink, out, lse):
    """fovea.merge_states for torch tensors. A new result comes from the operator."""
    if out is None and lse is None:
        out, lse = torch.ops.fovea.merge_states(outs, lses, sink)
        return out, lse
    refuse_grad_of_parts(outs, lses, sink)
    out = outs[0].new_empty(outs[0].shape) if out is None else out
    lse = lses[0].new_empty(lses[0].shape) if lse is None else lse
    binding.merge(outs, lses, out, lse, sink)
    return out, lse


def refuse_grad(*tensors):
    """Raises when one of q, k, v, mask, bias, sink requires grad."""
    for tensor in tensors:
        if getattr(tensor, "requires_grad", False):
            break
    else:
        return
    raise _no_grad(name for name, one in zip(_TENSORS, tensors) if getattr(one, "requires_grad", False))


def refuse_grad_of_parts(outs, lses, sink):
    """The same for merge_states."""
    if not _grad_enabled():
        return
    named = [("outs", outs), ("lses", lses), ("sink", [sink])]
    wanting = [name for name, parts in named if any(getattr(part, "requires_grad", False) for part in parts)]
    if wanting:
        raise _no_grad(wanting)


def _no_grad(names):
    return Error(
        "unsupported",
        f"a gradient of {', '.join(names)}",
        "inputs that do not require grad",
        "no backward kernel serves them yet",
        "call under torch.no_grad() or torch.inference_mode(), or detach() the inputs",
    )


def outputs(q, v, cu_seqlens_q, out, lse, return_lse):
    """As api.outputs(), for torch."""
    if not isinstance(v, torch.Tensor):
        raise api.no_tensor("v", v)
    if out is None:
        out = q.new_empty((*q.shape[:-1], v.shape[-1]))
    if lse is None and return_lse:
        lse = q.new_empty(api.lse_shape(q, cu_seqlens_q), dtype=torch.float32)
    return out, lse


def _complete(features, named):
    """Features after q, k, v in order: those given by position, then those given by name or left out."""
    given = len(features)
    if not named:
        return features + _VALUES[given:]
    return features + tuple(map(named.get, _NAMES[given:], _VALUES[given:]))


def _run(q, k, v, out, lse, features):
    causal, left, right, *others = features
    binding.run(api.arguments(q, k, v, out, lse, causal, (left, right), *others))


def _returned(q, v, features, return_lse):
    """(out, lse) as the operator returns them: lse is an empty tensor when it was not asked for."""
    cu_seqlens_q = features[_CU_SEQLENS_Q]
    out, lse = outputs(q, v, cu_seqlens_q, None, None, return_lse)
    return out, q.new_empty(0, dtype=torch.float32) if lse is None else lse


def _attention(q, k, v, *features, return_lse=False, **named):
    features = _complete(features, named)
    out, lse = _returned(q, v, features, return_lse)
    _run(q, k, v, out, lse if return_lse else None, features)
    return out, lse


def _attention_out(q, k, v, *features, out, lse=None, **named):
    _run(q, k, v, out, lse, _complete(features, named))


def _fake_attention(q, k, v, *features, return_lse=False, **named):
    return _returned(q, v, _complete(features, named), return_lse)


def _fake_attention_out(*features, **named):
    return None


def _fake_merge_states(outs, lses, sink=None):
    out = outs[0].new_empty(outs[0].shape)
    return out, lses[0].new_empty(lses[0].shape)


def _merge_states(outs, lses, sink=None):
    out, lse = _fake_merge_states(outs, lses)
    binding.merge(outs, lses, out, lse, sink)
    return out, lse


def _merge_below_autograd(outs, lses, sink=None):
    refuse_grad_of_parts(outs, lses, sink)
    with torch._C._AutoDispatchBelowAutograd():
        return torch.ops.fovea.merge_states(outs, lses, sink)


def _below_autograd(operator):
    """The operator's Autograd kernel: refuses grad, then goes on below. A backward kernel takes this place."""

    def kernel(q, k, v, *features, **named):
        if torch.is_grad_enabled():
            complete = dict(zip(_NAMES, _complete(features, named)))
            refuse_grad(q, k, v, *(complete[name] for name in _TENSORS[3:]))
        with torch._C._AutoDispatchBelowAutograd():
            return operator(q, k, v, *features, **named)

    return kernel


for _key in ("CPU", "CUDA"):
    LIBRARY.impl("attention", _attention, _key)
    LIBRARY.impl("attention_out", _attention_out, _key)
    LIBRARY.impl("merge_states", _merge_states, _key)
torch.library.register_fake("fovea::attention", _fake_attention, lib=LIBRARY)
torch.library.register_fake("fovea::attention_out", _fake_attention_out, lib=LIBRARY)
torch.library.register_fake("fovea::merge_states", _fake_merge_states, lib=LIBRARY)
LIBRARY.impl("attention", _below_autograd(torch.ops.fovea.attention.default), "Autograd")
LIBRARY.impl("attention_out", _below_autograd(torch.ops.fovea.attention_out.default), "Autograd")
LIBRARY.impl("merge_states", _merge_below_autograd, "Autograd")
if torch.cuda.is_available():
    open_wheel()

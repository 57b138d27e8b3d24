"""torch.ops.fovea: schemas, fake implementations, compilation, and the refusal of gradients."""

import pytest
import torch

import fovea
import fovea.torch_ops  # noqa: F401  makes torch.ops.fovea
from judge import assert_close, expected, random

OPERATORS = torch.ops.fovea


def inputs(dtype=torch.float32, batch=2, seqlen_q=9, seqlen_kv=14):
    q = random(batch, seqlen_q, 4, 32, dtype=dtype)
    return q, random(batch, seqlen_kv, 2, 32, dtype=dtype), random(batch, seqlen_kv, 2, 16, dtype=dtype)


def calls():
    q, k, v = inputs()
    yield (q, k, v), {}
    yield (q, k, v), {"return_lse": True, "causal": True, "window_left": 3}
    yield (q, k, v), {"mask": torch.rand(2, 1, 9, 14) > 0.3, "scale": 0.1, "softcap": 4.0}
    yield (q, k, v), {"bias": torch.randn(1, 4, 1, 14), "sink": torch.randn(4), "return_lse": True, "num_splits": 2}
    yield (q.transpose(1, 2).contiguous().transpose(1, 2), k.expand(2, 14, 2, 32), v), {"causal": True}
    offsets = torch.tensor([0, 4, 9], dtype=torch.int32)
    keys = torch.tensor([0, 10, 14], dtype=torch.int32)
    yield (q[0], k[0], v[0]), {"cu_seqlens_q": offsets, "cu_seqlens_kv": keys, "return_lse": True}


@pytest.mark.parametrize("operands, features", list(calls()))
def test_opcheck(operands, features):
    torch.library.opcheck(OPERATORS.attention.default, operands, features)
    features = dict(features)
    returns_lse = features.pop("return_lse", False)
    out, lse = OPERATORS.attention(*operands, **features, return_lse=True)
    named = {"out": torch.empty_like(out), "lse": torch.empty_like(lse) if returns_lse else None}
    torch.library.opcheck(OPERATORS.attention_out.default, operands, features | named)


@pytest.mark.parametrize("operands, features", list(calls()))
def test_operators_give_what_the_call_gives(operands, features):
    wanted = dict(features)
    returns_lse = wanted.pop("return_lse", False)
    if "window_left" in wanted:
        wanted["window"] = (wanted.pop("window_left"), None)
    out, lse = fovea.attention(*operands, **wanted, return_lse=True)
    op_out, op_lse = OPERATORS.attention(*operands, **features)
    assert torch.equal(op_out, out)
    assert torch.equal(op_lse, lse) if returns_lse else op_lse.numel() == 0


def test_compiled_whole():
    def block(q, k, v, mask):
        out, lse = fovea.attention(q, k, v, causal=True, window=(6, None), mask=mask, return_lse=True)
        return out * 2, lse + 1

    q, k, v = inputs(torch.bfloat16)
    mask = torch.rand(2, 1, 1, 14) > 0.3
    mask[..., 0] = True
    wanted = fovea.attention(q, k, v, causal=True, window=(6, None), mask=mask, return_lse=True)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    out, lse = compiled(q, k, v, mask)
    assert torch.equal(out, wanted[0] * 2) and torch.equal(lse, wanted[1] + 1)


def test_compiled_with_a_given_output():
    def block(q, k, v):
        out = torch.empty(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
        return fovea.attention(q, k, v, out=out)

    q, k, v = inputs()
    assert torch.equal(torch.compile(block, fullgraph=True, backend="aot_eager")(q, k, v), fovea.attention(q, k, v))


def parts(dtype=torch.float32):
    q, k, v = inputs(dtype)
    halves = (fovea.attention(q, k[:, a:b], v[:, a:b], return_lse=True) for a, b in ((0, 5), (5, 14)))
    return tuple(map(list, zip(*halves)))


def test_merge_states_is_an_operator():
    sink = torch.randn(4)
    for options in ((), (sink,)):
        torch.library.opcheck(OPERATORS.merge_states.default, (*parts(), *options))
    outs, lses = parts(torch.bfloat16)
    wanted = fovea.merge_states(outs, lses, sink=sink)
    compiled = torch.compile(lambda o, x: fovea.merge_states(o, x, sink=sink), fullgraph=True, backend="aot_eager")
    assert all(map(torch.equal, compiled(outs, lses), wanted))
    out, lse = torch.empty_like(outs[0]), torch.empty_like(lses[0])
    fovea.merge_states(outs, lses, sink=sink, out=out, lse=lse)
    assert torch.equal(out, wanted[0]) and torch.equal(lse, wanted[1])
    outs[1].requires_grad_()
    for function in (fovea.merge_states, OPERATORS.merge_states):
        with pytest.raises(fovea.Error, match="a gradient of outs;"):
            function(outs, lses)
    with torch.no_grad():
        assert torch.equal(fovea.merge_states(outs, lses, sink=sink)[0], wanted[0])


def test_compiled_once_for_all_lengths():
    graphs = []

    def count(graph, examples):
        graphs.append(graph)
        return graph.forward

    def block(q, k, v):
        return fovea.attention(q, k, v, causal=True)

    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend=count)
    for length in (9, 12, 31):
        q, k, v = inputs(seqlen_q=length, seqlen_kv=length + 3)
        assert torch.equal(compiled(q, k, v), fovea.attention(q, k, v, causal=True))
    assert len(graphs) == 1


def test_fake_tensors_run_nothing():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        q = torch.empty(2, 100000, 8, 64, dtype=torch.bfloat16)
        kv = torch.empty(2, 100000, 2, 64, dtype=torch.bfloat16)
        out, lse = fovea.attention(q, kv, kv, return_lse=True)
    assert out.shape == q.shape and out.dtype == q.dtype and lse.shape == (2, 8, 100000)


@pytest.mark.parametrize("name", ["q", "k", "v", "bias", "sink"])
def test_grad_is_refused_by_name(name):
    q, k, v = inputs()
    call = {"q": q, "k": k, "v": v, "bias": torch.randn(1, 1, 1, 14), "sink": torch.randn(4)}
    wanted = fovea.attention(**call)
    call[name].requires_grad_()
    for function in (fovea.attention, OPERATORS.attention):
        with pytest.raises(fovea.Error, match=f"gradient of {name};") as caught:
            function(**call)
        assert caught.value.code == "unsupported"
    with pytest.raises(Exception, match=f"gradient of {name};"):
        torch.compile(lambda: fovea.attention(**call), backend="aot_eager")()
    for guard in (torch.no_grad, torch.inference_mode):
        with guard():
            assert torch.equal(fovea.attention(**call), wanted)
            assert torch.equal(OPERATORS.attention(**call)[0], wanted)


def test_parameters_count_as_tensors():
    q, k, v = inputs()
    weights = torch.nn.Parameter(q, requires_grad=False)
    assert torch.equal(fovea.attention(weights, k, v), fovea.attention(q, k, v))


def test_inference_mode_and_expanded_views():
    q, k, v = inputs()
    one = k[:1, :, :1]
    with torch.inference_mode():
        out = fovea.attention(q, one.expand(2, 14, 2, 32), v)
    assert_close(out, None, expected(q, one.expand(2, 14, 2, 32).contiguous(), v), torch.float32)

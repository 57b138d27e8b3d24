"""fovea.attention and what helps around it, with torch tensors and NumPy arrays, against the fp64 reference."""

import json
import os
import pickle
import signal
import threading

import numpy as np
import pytest
import torch

import fovea
from dlpack_objects import OffsetTensor
from judge import assert_close, expected, random

B, SQ, SK, HQ, HKV, D, DV = 2, 37, 53, 4, 2, 64, 48


def inputs(dtype=torch.float32, seqlen_q=SQ, seqlen_kv=SK):
    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
    q = random(B, seqlen_q, HQ, D, dtype=dtype)
    return q, random(B, seqlen_kv, HKV, D, dtype=dtype), random(B, seqlen_kv, HKV, DV, dtype=dtype)


def features_of(name):
    """The same feature as fovea.attention and as the C ABI take it."""
    mask = torch.rand(B, 1, SQ, SK) > 0.4
    mask[:, :, 3] = False  # a row that sees no key
    bias = torch.randn(1, HQ, 1, SK)
    sink = torch.randn(HQ)
    table = {
        "plain": ({}, {}),
        "causal": ({"causal": True}, {"causal": True}),
        "window": ({"window": (9, 4)}, {"window": (9, 4)}),
        "window left": ({"causal": True, "window": (5, None)}, {"causal": True, "window": (5, None)}),
        "mask": ({"mask": mask}, {"mask": mask}),
        "mask of kv heads": ({"mask": mask.expand(B, HKV, SQ, SK)}, {"mask": mask.expand(B, HKV, SQ, SK)}),
        "bias": ({"bias": bias}, {"bias": bias}),
        "softcap": ({"softcap": 3.0}, {"softcap": 3.0}),
        "sink": ({"sink": sink}, {"sink": sink}),
        "scale": ({"scale": 0.3}, {"softmax_scale": 0.3}),
        "negative scale": ({"scale": -0.2}, {"softmax_scale": -0.2}),
        "scale 0": ({"scale": 0.0}, {"softmax_scale": 0.0}),
        "offsets": ({"causal": True, "q_offset": 3, "kv_offset": 1}, {"causal": True, "q_offset": 3, "kv_offset": 1}),
        "offset 0": ({"causal": True, "q_offset": 0, "kv_offset": 0}, {"causal": True, "q_offset": 0, "kv_offset": 0}),
        "splits": ({"num_splits": 3}, {"num_splits": 3}),
        "seqused": tuple(2 * [{"seqused_kv": torch.tensor([7, SK], dtype=torch.int32)}]),
        "flags": ({"batch_invariant": True, "deterministic": True}, {}),
    }
    return table[name]


NAMES = ["plain", "causal", "window", "window left", "mask", "mask of kv heads", "bias", "softcap", "sink", "scale"]
NAMES += ["negative scale", "scale 0", "offsets", "offset 0", "splits", "seqused", "flags"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", NAMES)
def test_torch(name, dtype):
    q, k, v = inputs(dtype)
    ours, theirs = features_of(name)
    out, lse = fovea.attention(q, k, v, return_lse=True, **ours)
    assert out.dtype == dtype and lse.dtype == torch.float32
    assert_close(out, lse, expected(q, k, v, **theirs), dtype)
    assert torch.equal(fovea.attention(q, k, v, **ours), out)


@pytest.mark.parametrize("name", NAMES)
def test_numpy(name):
    q, k, v = inputs()
    ours, theirs = features_of(name)
    arrays = {key: x.numpy() if isinstance(x, torch.Tensor) else x for key, x in ours.items()}
    out, lse = fovea.attention(q.numpy(), k.numpy(), v.numpy(), return_lse=True, **arrays)
    assert isinstance(out, np.ndarray) and isinstance(lse, np.ndarray) and lse.dtype == np.float32
    assert_close(out, lse, expected(q, k, v, **theirs), torch.float32)


def test_read_only_broadcast_and_reversed_arrays():
    q, k, v = (x.numpy() for x in inputs())
    mask = np.broadcast_to(np.random.rand(1, 1, 1, SK) > 0.4, (B, HQ, SQ, SK))
    assert not mask.flags.writeable
    backwards = np.ascontiguousarray(k[:, ::-1])[:, ::-1]
    backwards.flags.writeable = False
    assert backwards.strides[1] < 0
    out = fovea.attention(q, backwards, v, mask=mask)
    features = {"mask": torch.from_numpy(mask.copy())}
    assert_close(out, None, expected(*map(torch.from_numpy, (q, k, v)), **features), torch.float32)


def test_a_dlpack_tensor_with_an_offset_and_no_strides():
    q, k, v = inputs()
    wanted = fovea.attention(q, k, v)
    assert torch.equal(fovea.attention(q, OffsetTensor(k), OffsetTensor(v), out=torch.empty_like(wanted)), wanted)


def test_views_of_torch_are_not_copied():
    q, k, v = inputs()
    storage = torch.full((B, HQ, SQ, DV), torch.nan)
    out = storage.transpose(1, 2)
    flipped = k.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)  # keys innermost
    returned = fovea.attention(q, flipped, v, out=out)
    assert returned is out
    assert_close(storage.transpose(1, 2), None, expected(q, k, v), torch.float32)


def test_variable_lengths():
    q, k, v = random(50, HQ, D), random(61, HKV, D), random(61, HKV, DV)
    features = {
        "cu_seqlens_q": torch.tensor([0, 11, 11, 50], dtype=torch.int32),
        "cu_seqlens_kv": torch.tensor([0, 20, 31, 61], dtype=torch.int32),
        "causal": True,
    }
    out, lse = fovea.attention(q, k, v, return_lse=True, **features)
    assert lse.shape == (HQ, 50)
    assert_close(out, lse, expected(q, k, v, **features), torch.float32)


def test_pages():
    q = random(B, 1, HQ, D)
    k, v = random(9, 16, HKV, D), random(9, 16, HKV, DV)
    features = {
        "page_table": torch.tensor([[8, 0, 3], [2, 5, 7]], dtype=torch.int32),
        "seqused_kv": torch.tensor([40, 17], dtype=torch.int32),
    }
    out, lse = fovea.attention(q, k, v, return_lse=True, **features)
    assert_close(out, lse, expected(q, k, v, **features), torch.float32)


def test_the_model_runs_gpu_kernels():
    q, k, v = (x[:1, :20, :1] for x in inputs(torch.bfloat16))
    out = fovea.attention(q, k, v, causal=True, backend="model")
    assert_close(out, None, expected(q, k, v, causal=True), torch.bfloat16)


def test_merge():
    q, k, v = inputs()
    sink = torch.randn(HQ)
    parts = [fovea.attention(q, k[:, a:b], v[:, a:b], return_lse=True) for a, b in ((0, 20), (20, 21), (21, SK))]
    out, lse = fovea.merge_states(*zip(*parts), sink=sink)
    wanted_out, wanted_lse = expected(q, k, v, sink=sink)
    assert_close(out, lse, (wanted_out, wanted_lse), torch.float32)
    first_out, first_lse = parts[0]
    same = fovea.merge_states(*zip(*parts), sink=sink, out=first_out, lse=first_lse)
    assert same[0] is first_out and torch.equal(first_out, out) and torch.equal(first_lse, lse)
    arrays = fovea.merge_states([p.numpy() for p, _ in parts[1:]], [p.numpy() for _, p in parts[1:]])
    assert isinstance(arrays[0], np.ndarray)
    with pytest.raises(fovea.Error, match="2 outs and 1 lses"):
        fovea.merge_states([out, out], [lse])
    with pytest.raises(fovea.Error, match="lses of type"):
        fovea.merge_states([out], ["lse"])
    with pytest.raises(fovea.Error, match="a gradient of outs, sink;"):
        fovea.merge_states([out.clone().requires_grad_()], [lse], sink=sink.requires_grad_())


def refusals():
    q, k, v = inputs()
    int64 = torch.tensor([5, 5])
    yield "dtype_mismatch", (q, k.half(), v), {}
    yield "dtype", (q.long(), k, v), {}
    yield "dtype", (q, k, v), {"seqused_kv": int64}
    yield "head_ratio", (q[:, :, :3], k, v), {}
    yield "mask_shape", (q, k, v), {"mask": torch.ones(B, 3, SQ, SK, dtype=torch.bool)}
    yield "window", (q, k, v), {"window": (-2, None)}
    yield "softcap", (q, k, v), {"softcap": -1.0}
    yield "splits", (q, k, v), {"num_splits": 999}
    yield "scale", (q, k, v), {"scale": float("nan")}
    yield "no_backend", (q, k, v), {"backend": "cuda"}
    yield "no_backend", (q, k, v), {"backend": "tpu"}
    yield "rank", (q[None], k, v), {}
    yield "sink_shape", (q, k, v), {"sink": torch.ones(HQ + 1)}
    yield "paged_arguments", (q, k, v), {"page_table": torch.zeros(B, 4, dtype=torch.int32)}


@pytest.mark.parametrize("code, operands, features", list(refusals()))
def test_a_refusal_names_what_is_wrong_and_writes_nothing(code, operands, features):
    out = torch.full((*operands[0].shape[:-1], DV), 7.0)
    with pytest.raises(fovea.Error) as caught:
        fovea.attention(*operands, out=out, **features)
    error = caught.value
    assert error.code == code, error
    assert error.asked and error.allowed and error.why and error.hint
    assert (out == 7.0).all()
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.code, str(copy)) == (error.code, str(error))


NO_TENSORS = [("q", "text"), ("k", [1.0]), ("k", None), ("v", 3), ("v", None), ("mask", True), ("bias", "b")]
NO_TENSORS += [("lse", 1.0)]
NO_NUMBERS = [("window", 5), ("window", (1, 2, 3)), ("window", ("a", 1)), ("scale", "x"), ("softcap", None)]
NO_NUMBERS += [("num_splits", 1.5), ("q_offset", "0")]


@pytest.mark.parametrize("arrays", [False, True])
@pytest.mark.parametrize("name, value", NO_TENSORS + NO_NUMBERS)
def test_a_wrong_type_is_refused_by_name(name, value, arrays):
    q, k, v = (x.numpy() if arrays else x for x in inputs())
    call = {"q": q, "k": k, "v": v, name: value}
    with pytest.raises(fovea.Error) as caught:
        fovea.attention(**call)
    assert name in caught.value.asked


def test_an_unknown_argument_is_refused():
    with pytest.raises(TypeError, match="windw"):
        fovea.attention(*inputs(), windw=(1, 1))


def test_supports_and_explain():
    q, k, v = inputs()
    assert fovea.supports(q, k, v, causal=True)
    verdict = fovea.supports(q, k.half(), v)
    assert not verdict and verdict.refusal.code == "dtype_mismatch" and "k in f16" in repr(verdict)
    assert "cpu_fwd_f32" in fovea.explain(q, k, v)
    chain = fovea.explain(q, k, v, output_format="json", causal=True)
    assert set(chain) == {"problem", "verdicts", "choice", "plan"}
    with pytest.raises(fovea.Error, match="output_format"):
        fovea.explain(q, k, v, output_format="xml")
    with pytest.raises(TypeError):
        fovea.supports(q, k, v, causl=True)
    assert "threads" in fovea.doctor() and fovea.doctor("json")


def test_several_threads():
    q, k, v = inputs()
    wanted = fovea.attention(q, k, v)
    results = [None] * 4

    def work(i):
        for _ in range(20):
            results[i] = fovea.attention(q, k, v)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(result, wanted) for result in results)


def test_after_a_fork():
    q, k, v = inputs(seqlen_q=600, seqlen_kv=600)
    wanted = fovea.attention(q, k, v)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that waits for its parent's threads ends too
        os._exit(0 if torch.equal(fovea.attention(q, k, v), wanted) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_warmup_compiles_and_keeps(monkeypatch, tmp_path):
    from fovea import nvrtc

    if nvrtc.wheel_library() is None:
        pytest.skip("no NVRTC wheel in this environment")
    with pytest.raises(fovea.Error):
        fovea.warmup("sm_1")
    first = fovea.binding.warmup("sm_80", 0)
    assert fovea.binding.warmup("sm_80", 0)[:2] == [0, first[1]] and first[1] > 1000
    two = json.loads(fovea.binding.kernels("sm_80", fovea.binding.JSON))["kernels"][:2]
    monkeypatch.setattr(fovea.binding, "kernels", lambda target, form: json.dumps({"kernels": two}))
    results = fovea.warmup("sm_80", threads=2)
    assert [result["index"] for result in results] == [0, 1] and results[0]["origin"] == "memory"
    assert results[0]["bytes"] == first[1] and results[1]["bytes"] > 1000

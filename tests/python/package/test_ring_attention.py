"""examples/ring_attention.py over gloo: the example as it is started, and its function against torch in float64."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r tests/python/requirements.txt")
if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("this torch has no gloo", allow_module_level=True)

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "ring_attention.py"
RANKS = 3
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def test_example():
    command = [sys.executable, str(EXAMPLE), "--processes", "2", "--causal", "--seqlen", "96"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "2 ranks, causal True: largest error of out" in result.stdout


def test_against_torch(tmp_path):
    torch.multiprocessing.spawn(check_rank, (str(tmp_path / "store"),), nprocs=RANKS)


def check_rank(rank, store):
    """One of the processes of test_against_torch."""
    spec = importlib.util.spec_from_file_location("ring_attention", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    pair = torch.distributed.new_group([1, 2])
    sink = torch.tensor([0.5, -1.0, 2.0, 0.0])
    check_case(example, None, heads_kv=4, head_dim_v=16, causal=False)
    check_case(example, None, heads_kv=2, head_dim_v=16, causal=True)
    check_case(example, None, heads_kv=1, head_dim_v=24, causal=True, scale=0.4, sink=sink)
    if rank > 0:
        check_case(example, pair, heads_kv=2, head_dim_v=16, causal=True)
        check_case(example, pair, heads_kv=2, head_dim_v=16, causal=False, sink=sink)
    check_case(example, None, heads_kv=2, head_dim_v=16, causal=True, dtype=torch.bfloat16)
    torch.distributed.destroy_process_group()


def check_case(example, group, heads_kv, head_dim_v, dtype=torch.float32, **features):
    """The shard of this rank against the whole sequence in float64; and the blocks that were computed."""
    rank, ranks = torch.distributed.get_rank(group), torch.distributed.get_world_size(group)
    random = torch.Generator().manual_seed(11)
    shapes = ((2, ranks * 10, 4, 16), (2, ranks * 10, heads_kv, 16), (2, ranks * 10, heads_kv, head_dim_v))
    q, k, v = (torch.randn(shape, generator=random).to(dtype) for shape in shapes)
    attention, calls = example.fovea.attention, []
    example.fovea.attention = lambda *given, **named: calls.append(named["kv_offset"]) or attention(*given, **named)
    try:
        out, lse = example.ring_attention(*(x.chunk(ranks, dim=1)[rank] for x in (q, k, v)), group=group, **features)
    finally:
        example.fovea.attention = attention
    assert sorted(calls) == [10 * owner for owner in range(rank + 1 if features["causal"] else ranks)]
    expected, expected_lse = whole_sequence(q, k, v, **features)
    assert out.dtype == dtype and lse.dtype == torch.float32
    exact = dtype == torch.float32
    tolerance = TOLERANCE if exact else {"rtol": 2**-7, "atol": 2**-7}
    lse_tolerance = TOLERANCE if exact else {"rtol": 0, "atol": 1e-3}
    torch.testing.assert_close(out.double(), expected.chunk(ranks, dim=1)[rank], **tolerance)
    torch.testing.assert_close(lse.double(), expected_lse.chunk(ranks, dim=2)[rank], **lse_tolerance)


def whole_sequence(q, k, v, causal, scale=None, sink=None):
    """(out [B, S, H, D], lse [B, H, S]) in float64."""
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    scores = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if causal:
        scores += torch.full(scores.shape[2:], -torch.inf).triu(1)
    lse = scores.logsumexp(-1)
    out = scores.softmax(-1) @ v
    if sink is not None:
        out = out * torch.sigmoid(lse - sink.double()[:, None])[..., None]
    return out.transpose(1, 2), lse

"""The Python package on a GPU: streams, devices, graphs, compilation. Skipped where there is none."""

import pytest
import torch

import fovea
import grid
from fovea.integrations import torch_flash
from judge import assert_close, expected

if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device that torch can use", allow_module_level=True)


def inputs(batch=2, seqlen=300, heads=8, heads_kv=2, head_dim=64, device="cuda"):
    q = torch.randn(batch, seqlen, heads, head_dim, device=device).bfloat16()
    k, v = (torch.randn(batch, seqlen, heads_kv, head_dim, device=device).bfloat16() for _ in range(2))
    return q, k, v


def judged(out, lse, operands, **features):
    on_cpu = [x.cpu() for x in operands]
    wanted = expected(*on_cpu, **{name: x.cpu() if hasattr(x, "cpu") else x for name, x in features.items()})
    assert_close(out.cpu(), None if lse is None else lse.cpu(), wanted, torch.bfloat16)


def test_values_and_views():
    q, k, v = inputs()
    mask = torch.rand(2, 1, 1, 300, device="cuda") > 0.3
    out, lse = fovea.attention(q, k, v, causal=True, return_lse=True)
    judged(out, lse, (q, k, v), causal=True)
    judged(fovea.attention(q, k, v, mask=mask), None, (q, k, v), mask=mask)
    swapped = q.transpose(1, 2).contiguous().transpose(1, 2)
    assert torch.equal(fovea.attention(swapped, k, v, causal=True), out)


def test_mixed_devices_are_refused():
    q, k, v = inputs()
    with pytest.raises(fovea.Error) as caught:
        fovea.attention(q, k.cpu(), v)
    assert caught.value.code == "device"


def test_the_current_stream_is_used():
    q, k, v = inputs()
    wanted = fovea.attention(q, k, v)
    late = torch.full_like(q, torch.nan)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # on any other stream the call below would read the NaNs
        late.copy_(q)
        out = fovea.attention(late, k, v)
    stream.synchronize()
    assert torch.equal(out, wanted)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_the_tensors_device_is_used():
    q, k, v = inputs(device="cuda:1")
    out = fovea.attention(q, k, v)
    assert out.device == q.device and torch.cuda.current_device() == 0
    judged(out, None, (q, k, v))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("count, dim", [(1, 64), (2, 128), (3, 59), (32, 300)])
def test_merge_is_that_of_the_cpu(dtype, count, dim):
    outs = [torch.randn(2, 70, 6, dim).to(dtype if part % 2 == 0 else torch.float32) for part in range(count)]
    lses = [4 * torch.randn(2, 6, 70) for _ in range(count)]
    for part in range(count):
        lses[part][:, :, part::7] = -torch.inf
        outs[part][:, part::7] = torch.nan
    sink = torch.randn(6)
    wanted, wanted_lse = fovea.merge_states(outs, lses, sink=sink)
    on_gpu = [x.cuda() for x in outs], [x.cuda() for x in lses]
    out, lse = fovea.merge_states(*on_gpu, sink=sink.cuda())
    limit = {torch.float32: 2.0**-18, torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10}[dtype]
    torch.testing.assert_close(out.cpu(), wanted, rtol=limit, atol=limit)
    torch.testing.assert_close(lse.cpu(), wanted_lse, rtol=2.0**-18, atol=2.0**-18)
    fovea.merge_states(*on_gpu, sink=sink.cuda(), out=on_gpu[0][0], lse=on_gpu[1][0])
    assert torch.equal(on_gpu[0][0], out) and torch.equal(on_gpu[1][0], lse)


def test_parts_are_the_whole():
    q, k, v = inputs()
    wanted, wanted_lse = fovea.attention(q, k, v, return_lse=True)
    parts = [fovea.attention(q, k[:, at], v[:, at], return_lse=True) for at in (slice(0, 130), slice(130, None))]
    out, lse = fovea.merge_states(*zip(*parts))
    torch.testing.assert_close(out.float(), wanted.float(), rtol=2.0**-6, atol=2.0**-8)
    torch.testing.assert_close(lse, wanted_lse, rtol=0, atol=1e-5)


def test_capture_and_replay():
    q, k, v = inputs(seqlen=512)
    out = torch.empty_like(q)
    fovea.attention(q, k, v, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fovea.attention(q, k, v, out=out)
    q.copy_(torch.randn_like(q))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, fovea.attention(q, k, v))


def test_a_cold_call_inside_a_capture_is_refused():
    q, k, v = inputs(head_dim=104)
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(fovea.Error, match="warm"):
        with torch.cuda.graph(graph):
            fovea.attention(q, k, v, softcap=7.0)
    torch.cuda.synchronize()
    judged(fovea.attention(q, k, v, softcap=7.0), None, (q, k, v), softcap=7.0)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compiled_whole(mode):
    q, k, v = inputs()
    wanted = fovea.attention(q, k, v, causal=True) * 2
    compiled = torch.compile(lambda *x: fovea.attention(*x, causal=True) * 2, fullgraph=True, mode=mode)
    for _ in range(3):
        assert torch.equal(compiled(q, k, v), wanted)


def test_opcheck():
    q, k, v = inputs()
    torch.library.opcheck(torch.ops.fovea.attention.default, (q, k, v), {"return_lse": True, "causal": True})


def test_as_torchs_flash_attention():
    torch_flash.register()
    q, k, v = (x.transpose(1, 2) for x in inputs(heads_kv=8))
    torch.nn.attention.activate_flash_attention_impl("fovea")
    try:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION), torch.no_grad():
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    finally:
        torch.nn.attention.restore_flash_attention_impl()
    judged(out.transpose(1, 2), None, [x.transpose(1, 2) for x in (q, k, v)], causal=True)


@pytest.mark.parametrize("shape", list(grid.standard())[::11] + list(grid.peers())[::211], ids=str)
def test_shape(shape):
    for name, share in grid.run(shape, "cuda").items():
        assert share <= 1.0, f"{name}: {share:.2f} of the limit"

"""Arrays of CuPy and JAX. Each test is skipped where its library, or a GPU for it, is not at hand."""

import numpy
import pytest
import torch

import fovea
from judge import assert_close, expected


def inputs(dtype=numpy.float32):
    generator = numpy.random.default_rng()
    return [generator.standard_normal((2, 200, heads, 64)).astype(dtype) for heads in (4, 2, 2)]


def judged(out, lse, operands, **features):
    operands = [torch.from_numpy(x) for x in operands]
    assert_close(torch.from_numpy(out), torch.from_numpy(lse), expected(*operands, **features), operands[0].dtype)


@pytest.fixture
def cupy():
    library = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        count = library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy has no GPU: {error}")
    if count == 0:
        pytest.skip("CuPy has no GPU")
    return library


@pytest.fixture
def jax():
    return pytest.importorskip("jax", reason="JAX is not installed")


def test_cupy_results(cupy):
    operands = inputs(numpy.float16)
    out, lse = fovea.attention(*map(cupy.asarray, operands), causal=True, return_lse=True)
    assert isinstance(out, cupy.ndarray) and out.dtype == cupy.float16 and lse.dtype == cupy.float32
    judged(out.get(), lse.get(), operands, causal=True)


def test_cupys_current_stream_is_used(cupy):
    q, k, v = map(cupy.asarray, inputs(numpy.float16))
    out, late = cupy.empty_like(q), cupy.full_like(q, numpy.nan)
    wanted = fovea.attention(q, k, v)
    busy = cupy.RawKernel(
        'extern "C" __global__ void busy() { for (long long end = clock64() + 100000000; clock64() < end;); }', "busy"
    )
    busy((1,), (1,), ())
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        busy((1,), (1,), ())
        late[...] = q
        fovea.attention(late, k, v, out=out)
        seen = out.copy()  # on any other stream than the call's, this would run first
        stream.synchronize()
    assert bool((seen == wanted).all())


def on_jax(jax, platform, operands):
    try:
        device = jax.devices(platform)[0]
    except RuntimeError as error:
        pytest.skip(f"JAX has no {platform}: {error}")
    return [jax.device_put(x, device) for x in operands]


def test_jax_on_the_cpu(jax):
    operands = inputs()
    out, lse = numpy.full((2, 200, 4, 64), numpy.nan, numpy.float32), numpy.full((2, 4, 200), numpy.nan, numpy.float32)
    fovea.attention(*on_jax(jax, "cpu", operands), causal=True, out=out, lse=lse, return_lse=True)
    judged(out, lse, operands, causal=True)


def test_jax_on_a_gpu(jax, cupy):
    operands = inputs(numpy.float16)
    on_gpu = on_jax(jax, "cuda", operands)
    out, lse = cupy.empty((2, 200, 4, 64), cupy.float16), cupy.empty((2, 4, 200), cupy.float32)
    fovea.attention(*on_gpu, causal=True, out=out, lse=lse, return_lse=True)
    judged(out.get(), lse.get(), operands, causal=True)


def test_jax_results_are_not_made(jax):
    with pytest.raises(fovea.Error) as caught:
        fovea.attention(*on_jax(jax, "cpu", inputs()))
    assert caught.value.code == "output" and "out=" in str(caught.value)

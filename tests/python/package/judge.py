"""Random calls and what the fp64 reference says about them."""

import fovea_abi
import torch

torch.set_num_threads(1)  # idle workers of OpenMP spin, on cores that the library under test needs

# Largest |out - exact| as a share of the largest |exact|: both products and the result round in the dtype.
OUT_LIMIT = {torch.float32: 2.0**-18, torch.bfloat16: 2.0**-6, torch.float16: 2.0**-9}
LSE_LIMIT = {torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}
LSE_ROUNDINGS = 16 * 2.0**-24  # lse is stored in float32: this share of it comes on top

_reference = fovea_abi.Reference()


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


def expected(q, k, v, **features):
    """(out, lse) in float64 and float32 by the reference; features as its C ABI takes them."""
    out = torch.full((*q.shape[:-1], v.shape[-1]), torch.nan, dtype=torch.float64)
    varlen = features.get("cu_seqlens_q") is not None
    lse = torch.full((q.shape[1], q.shape[0]) if varlen else (q.shape[0], q.shape[2], q.shape[1]), torch.nan)
    _reference.forward(q, k, v, out, lse=lse, **features)
    return out, lse


def assert_close(out, lse, wanted, dtype):
    """Element by element; nothing may be NaN."""
    wanted_out, wanted_lse = wanted
    out = torch.as_tensor(out).double()
    assert out.shape == wanted_out.shape
    limit = OUT_LIMIT[dtype] * max(wanted_out.abs().max().item(), 1.0)
    error = (out - wanted_out).abs().max().item()
    assert error <= limit, f"out is off by {error:.3g}, allowed {limit:.3g}"
    if lse is not None:
        lse = torch.as_tensor(lse)
        empty = torch.isneginf(wanted_lse)
        assert torch.equal(torch.isneginf(lse), empty)
        error = torch.where(empty, 0.0, lse - wanted_lse).abs()
        limit = LSE_LIMIT[dtype] + LSE_ROUNDINGS * torch.where(empty, 0.0, wanted_lse).abs()
        assert bool((error <= limit).all()), f"lse is off by {error.max():.3g}, allowed {limit.min():.3g} or more"

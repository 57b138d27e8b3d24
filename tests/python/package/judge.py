"""Random calls and what the fp64 reference says about them."""

import fovea_abi
import torch

import torch_judge

# Largest |out - exact| as a share of the largest |exact|: both products and the result round in the dtype.
OUT_LIMIT = {torch.float32: 2.0**-18, torch.bfloat16: 2.0**-6, torch.float16: 2.0**-9}

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
    """Element by element, Inf and NaN in their places."""
    wanted_out, wanted_lse = wanted
    limit = OUT_LIMIT[dtype] * max(wanted_out.abs().max().item(), 1.0)
    torch_judge.assert_close(torch.as_tensor(out), wanted_out, limit, "out")
    if lse is not None:
        torch_judge.assert_lse_close(torch.as_tensor(lse), wanted_lse, dtype, "lse")

"""fovea.integrations.torch_flash on a CPU: the registration, and what torch's operators would be given."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r tests/python/requirements.txt")
if not hasattr(torch.nn.attention, "register_flash_attention_impl"):
    pytest.skip("this torch has no registry of flash attention implementations", allow_module_level=True)

import fovea  # noqa: E402
from fovea.integrations import torch_flash  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention as sdpa  # noqa: E402

TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}
aten = torch.ops.aten


@pytest.fixture
def cpu_operators():
    """Torch's CPU dispatch of the operators goes to fovea: no kernel of torch's own is there."""
    activation = torch_flash.Activation("CPU")
    yield
    activation.remove()


def rows(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def qkv(seqlen_q=7, seqlen_kv=7, heads_q=4, heads_kv=2, head_dim=16):
    """[B, H, S, D] as torch's attention takes it, q as a view of [B, S, H, D] storage."""
    q = rows(2, seqlen_q, heads_q, head_dim, seed=1).transpose(1, 2)
    return q, rows(2, heads_kv, seqlen_kv, head_dim, seed=2), rows(2, heads_kv, seqlen_kv, head_dim, seed=3)


def expected(q, k, v, visible=None, scale=None):
    """(out, lse) of [B, H, S, D] in float64."""
    q, k, v = (tensor.double() for tensor in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (tensor.repeat_interleave(group, dim=1) for tensor in (k, v))
    scores = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if visible is not None:
        scores = scores.masked_fill(~visible, -torch.inf)
    return (scores.softmax(-1) @ v).float(), scores.logsumexp(-1).float()


def bottom_right(seqlen_q, seqlen_kv, left=None):
    distance = torch.arange(seqlen_kv) - torch.arange(seqlen_q)[:, None] - (seqlen_kv - seqlen_q)
    return (distance <= 0) & (distance >= -(seqlen_kv if left is None else left))


def fits_schema(results, operator):
    """Whether the types of a tuple are those of the operator's schema; None is torch's undefined tensor."""
    expected_types = [str(result.type) for result in operator.default._schema.returns]
    kinds = ["int" if isinstance(one, int) else "Tensor" for one in results]
    return kinds == [name.replace("SymInt", "int") for name in expected_types]


@pytest.mark.parametrize("causal, seqlen_kv", [(False, 7), (False, 5), (True, 7), (True, 12)])
def test_sdpa_operator(cpu_operators, causal, seqlen_kv):
    q, k, v = qkv(seqlen_kv=seqlen_kv)
    results = aten._scaled_dot_product_flash_attention(q, k, v, is_causal=causal, scale=0.3)
    assert fits_schema(results, aten._scaled_dot_product_flash_attention)
    out, lse = expected(q, k, v, bottom_right(7, seqlen_kv) if causal else None, scale=0.3)
    torch.testing.assert_close(results[0], out, **TOLERANCE)
    torch.testing.assert_close(results[1], lse, **TOLERANCE)
    assert results[0].stride() == q.stride()
    assert results[2:6] == (None, None, 7, seqlen_kv)
    meta = aten._scaled_dot_product_flash_attention(*(tensor.to("meta") for tensor in (q, k, v)))
    for index in (0, 1, 6, 7, 8):
        assert results[index].shape == meta[index].shape and results[index].dtype == meta[index].dtype


@pytest.mark.parametrize("causal, window", [(False, (None, None)), (True, (-1, 0)), (True, (2, 0)), (False, (2, 0))])
def test_dense_operator(cpu_operators, causal, window):
    q, k, v = qkv(seqlen_q=5, seqlen_kv=9)
    visible = bottom_right(5, 9, left=2 if window[0] == 2 else None) if window != (None, None) else None
    out, lse = expected(q, k, v, visible)
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    sides = {"window_size_left": window[0], "window_size_right": window[1]}
    results = aten._flash_attention_forward(q, k, v, None, None, 5, 9, 0.0, causal, False, **sides)
    assert fits_schema(results, aten._flash_attention_forward)
    torch.testing.assert_close(results[0], out.transpose(1, 2), **TOLERANCE)
    torch.testing.assert_close(results[1], lse, **TOLERANCE)
    into = torch.full_like(q, torch.nan)
    lse = aten._flash_attention_forward_no_dropout_inplace(into, q, k, v, None, None, 5, 9, 0.0, causal, False, **sides)
    assert torch.equal(into, results[0]) and torch.equal(lse, results[1])


@pytest.mark.parametrize("num_splits", [None, 1, 3])
def test_packed_operator(cpu_operators, num_splits):
    lengths_q, lengths_kv = (3, 1, 5), (6, 1, 9)
    q, k, v = rows(9, 4, 16, seed=4), rows(16, 2, 16, seed=5), rows(16, 2, 16, seed=6)
    cu_q, cu_kv = torch.tensor([0, 3, 4, 9], dtype=torch.int32), torch.tensor([0, 6, 7, 16], dtype=torch.int32)
    results = aten._flash_attention_forward(q, k, v, cu_q, cu_kv, 5, 9, 0.0, True, False, num_splits=num_splits)
    parts = zip(q.split(lengths_q), k.split(lengths_kv), v.split(lengths_kv), strict=True)
    for index, part in enumerate(parts):
        heads_first = [tensor.transpose(0, 1)[None] for tensor in part]
        out, lse = expected(*heads_first, bottom_right(lengths_q[index], lengths_kv[index]))
        span = slice(int(cu_q[index]), int(cu_q[index + 1]))
        torch.testing.assert_close(results[0][span], out[0].transpose(0, 1), **TOLERANCE)
        torch.testing.assert_close(results[1][:, span], lse[0], **TOLERANCE)


def test_varlen_attn(cpu_operators):
    """torch's own public call, from end to end."""
    from torch.nn.attention.varlen import AuxRequest, varlen_attn

    q, k, v = rows(9, 4, 16, seed=4), rows(9, 2, 16, seed=5), rows(9, 2, 16, seed=6)
    cu = torch.tensor([0, 3, 4, 9], dtype=torch.int32)
    options = {"window_size": (1, 0), "enable_gqa": True, "return_aux": AuxRequest(lse=True)}
    out, lse = varlen_attn(q, k, v, cu, cu, 5, 5, **options)
    for start, end in ((0, 3), (3, 4), (4, 9)):
        part = [tensor[start:end].transpose(0, 1)[None] for tensor in (q, k, v)]
        expected_out, expected_lse = expected(*part, bottom_right(end - start, end - start, left=1))
        torch.testing.assert_close(out[start:end], expected_out[0].transpose(0, 1), **TOLERANCE)
        torch.testing.assert_close(lse[:, start:end], expected_lse[0], **TOLERANCE)


def test_paged_operator(cpu_operators):
    k, v = rows(6, 4, 2, 16, seed=7), rows(6, 4, 2, 16, seed=8)
    table = torch.tensor([[5, 0, 2], [3, 1, 4]], dtype=torch.int32)
    used, cu_q = torch.tensor([10, 3], dtype=torch.int32), torch.tensor([0, 2, 3], dtype=torch.int32)
    q = rows(3, 4, 16, seed=9)
    pages = {"seqused_k": used, "block_table": table}
    out, lse, *_ = aten._flash_attention_forward(q, k, v, cu_q, None, 2, 12, 0.0, True, False, **pages)
    for index, span in enumerate((slice(0, 2), slice(2, 3))):
        keys, values = (cache[table[index].long()].flatten(0, 1)[: used[index]] for cache in (k, v))
        part = [tensor.transpose(0, 1)[None] for tensor in (q[span], keys, values)]
        expected_out, expected_lse = expected(*part, bottom_right(part[0].shape[2], int(used[index])))
        torch.testing.assert_close(out[span], expected_out[0].transpose(0, 1), **TOLERANCE)
        torch.testing.assert_close(lse[:, span], expected_lse[0], **TOLERANCE)


def test_refusals_by_name(cpu_operators):
    q, k, v = qkv()
    packed = [tensor.transpose(1, 2) for tensor in (q, k, v)]
    with pytest.raises(fovea.Error, match="dropout_p"):
        aten._scaled_dot_product_flash_attention(q, k, v, 0.1)
    with pytest.raises(fovea.Error, match="return_debug_mask"):
        aten._scaled_dot_product_flash_attention(q, k, v, 0.0, False, True)
    with pytest.raises(fovea.Error, match="alibi_slopes"):
        slopes = torch.ones(4)
        aten._flash_attention_forward(*packed, None, None, 7, 7, 0.0, True, False, alibi_slopes=slopes)
    with pytest.raises(fovea.Error, match="k_cache"):
        torch_flash.flash_attention_forward(*packed, None, None, 7, 7, 0.0, True, False, k_cache=k)
    with pytest.raises(fovea.Error, match="backward"):
        seeds = torch.zeros(2, dtype=torch.uint64), torch.zeros((), dtype=torch.uint64)
        aten._flash_attention_backward(*packed[:1], *packed, *packed[:1], k, None, None, 7, 7, 0.0, True, *seeds)


def test_registration_leaves_torch_as_it_was():
    attention = torch.nn.attention

    def overridden():
        has = torch._C._dispatch_has_kernel_for_dispatch_key
        return [has(f"aten::{name}", "CUDA") for name in torch_flash.IMPLEMENTATIONS]

    q, k, v = qkv()
    before, result = overridden(), sdpa(q, k, v, is_causal=True, enable_gqa=True)
    torch_flash.register()
    assert "fovea" in attention.list_flash_attention_impls()
    assert attention.current_flash_attention_impl() is None and overridden() == before
    attention.activate_flash_attention_impl("fovea")
    assert attention.current_flash_attention_impl() == "fovea" and all(overridden())
    assert torch.equal(sdpa(q, k, v, is_causal=True, enable_gqa=True), result)
    attention.restore_flash_attention_impl()
    assert attention.current_flash_attention_impl() is None and overridden() == before


def test_import_registers_nothing():
    code = (
        "import torch, fovea, fovea.integrations.torch_flash as flash\n"
        "assert 'fovea' not in torch.nn.attention.list_flash_attention_impls()\n"
        "assert torch.nn.attention.current_flash_attention_impl() is None\n"
        "has = torch._C._dispatch_has_kernel_for_dispatch_key\n"
        "assert torch.cuda.is_available() or not any(has(f'aten::{name}', 'CUDA') for name in flash.IMPLEMENTATIONS)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""What a call should give by PyTorch's account, and how far a result may be from it (docs/contract.md, section 5).

Expected values come from torch's own scaled_dot_product_attention in float64 wherever it can express the call; softcap
and sink, which it lacks, from the formula of section 3 in float64. The limit is twice the worst error of a plain
evaluation in the input dtype, plus a floor. Everything here is [B, S, H, D], as in the C ABI.
"""

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "ctypes"))

torch.set_num_threads(1)  # idle workers of OpenMP spin, on cores that the library under test needs

# The floor: this share of the largest expected element.
OUT_FLOOR = {torch.float32: 8 * 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
LSE_LIMIT = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 1e-3}
LSE_ROUNDINGS = 16 * 2.0**-24  # lse is stored in float32: this share of it comes on top


def random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed * 7919 + sum(shape))
    return torch.randn(*shape, generator=generator).to(dtype)


def nan_like(*shape, dtype=torch.float32):
    return torch.full(shape, float("nan"), dtype=dtype)


def positions(seqlen_q, seqlen_kv, causal=False, window=(None, None), diagonal=None):
    """bool [Sq, Sk] of section 2: the diagonal is bottom-right aligned unless given."""
    diagonal = seqlen_kv - seqlen_q if diagonal is None else diagonal
    distance = torch.arange(seqlen_kv)[None, :] - torch.arange(seqlen_q)[:, None] - diagonal
    visible = torch.ones(seqlen_q, seqlen_kv, dtype=torch.bool)
    if causal:
        visible &= distance <= 0
    if window[0] is not None:
        visible &= distance >= -window[0]
    if window[1] is not None:
        visible &= distance <= window[1]
    return visible


def by_query_head(operand, heads):
    """[.., Hq | Hkv | 1, Sq, Sk] seen by every query head."""
    return operand if operand.shape[1] in (1, heads) else operand.repeat_interleave(heads // operand.shape[1], dim=1)


def added_scores(q, k, visible=None, mask=None, bias=None):
    """float64 [B, Hq, Sq, Sk]: the bias, -inf where a key is invisible."""
    batch, seqlen_q, heads, _ = q.shape
    added = torch.zeros(batch, heads, seqlen_q, k.shape[1], dtype=torch.float64)
    if bias is not None:
        added = added + by_query_head(bias.double(), heads)
    if mask is not None:
        added = added.masked_fill(~by_query_head(mask, heads), -torch.inf)
    if visible is not None:
        added = added.masked_fill(~visible, -torch.inf)
    return added


def expected(q, k, v, added, scale=None, softcap=0.0, sink=None):
    """(out [B, Sq, Hq, Dv], lse [B, Hq, Sq]) in float64."""
    query, key, value = (operand.double().transpose(1, 2) for operand in (q, k, v))
    group = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(group, dim=1).transpose(2, 3) * (scale or q.shape[3] ** -0.5)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    lse = torch.logsumexp(scores + added, dim=3)
    if softcap:
        out = torch.softmax(scores + added, dim=3) @ value.repeat_interleave(group, dim=1)
    else:
        out = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=added, scale=scale, enable_gqa=group != 1
        )
    out = out.masked_fill((lse == -torch.inf)[..., None], 0.0)
    if sink is not None:
        factor = torch.sigmoid(lse - sink.double()[None, :, None])
        out = out * factor[..., None]
    return out.transpose(1, 2), lse


def plain(q, k, v, added, scale=None, softcap=0.0, sink=None):
    """The same, unfused: inputs and P in the input dtype, scores and sums in float32."""
    query, key, value = (operand.float().transpose(1, 2) for operand in (q, k, v))
    group = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(group, dim=1).transpose(2, 3) * (scale or q.shape[3] ** -0.5)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores + added.float()
    weights = torch.softmax(scores, dim=3).nan_to_num(0.0).to(q.dtype).float()
    out = weights @ value.repeat_interleave(group, dim=1)
    if sink is not None:
        out = out * torch.sigmoid(torch.logsumexp(scores, dim=3) - sink[None, :, None])[..., None]
    return out.transpose(1, 2)


def limit_of(q, k, v, added, out_dtype, expected_out, **options):
    rounded = plain(q, k, v, added, **options).to(out_dtype).double()
    if not expected_out.numel():
        return 0.0
    worst = (rounded - expected_out).abs().max().item()
    return 2 * worst + OUT_FLOOR[out_dtype] * expected_out.abs().max().item()


def assert_lse_close(actual, wanted, dtype, what):
    assert_close(actual, wanted, LSE_LIMIT[dtype] + LSE_ROUNDINGS * wanted.double().abs().nan_to_num(), what)


def assert_close(actual, wanted, limit, what):
    """NaN and Inf positions first, then every element within `limit`, a number or one for each element."""
    assert actual.shape == wanted.shape, f"{what}: shape {tuple(actual.shape)}, expected {tuple(wanted.shape)}"
    actual, wanted = actual.double(), wanted.double()
    same_kind = (actual.isnan() == wanted.isnan()) & (actual.isposinf() == wanted.isposinf())
    same_kind &= actual.isneginf() == wanted.isneginf()
    finite = actual.isfinite() & wanted.isfinite()
    limits = torch.as_tensor(limit, dtype=torch.float64).expand(actual.shape)
    good = same_kind & (~finite | ((actual - wanted).abs() <= limits))
    if good.all():
        return
    index = tuple((~good).nonzero()[0].tolist())
    count = int((~good).sum())
    raise AssertionError(
        f"{what}: {count} of {good.numel()} elements bad, first at {index}: "
        f"got {actual[index].item()!r}, expected {wanted[index].item()!r}, limit {limits[index].item():.3g}"
    )

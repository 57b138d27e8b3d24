"""fovea.compat.fa3 against float64: every function, its signature, conventions, refusals and cache."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r tests/python/requirements.txt")

import naive_attention as naive  # noqa: E402
from naive_attention import assert_lse, assert_out, int32, random  # noqa: E402

import fovea  # noqa: E402
from fovea.compat import fa3  # noqa: E402

DESCALES = "q_descale=None, k_descale=None, v_descale=None"
LOCAL = "window_size=(-1, -1), attention_chunk=0, softcap=0.0"
LAST = "num_splits=1, pack_gqa=None, deterministic=False, sm_margin=0, return_attn_probs=False"
SIGNATURES = {
    "flash_attn_func": f"q, k, v, softmax_scale=None, causal=False, qv=None, {DESCALES}, {LOCAL}, {LAST}",
    "flash_attn_varlen_func": "q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, seqused_q=None, "
    f"seqused_k=None, softmax_scale=None, causal=False, qv=None, {DESCALES}, {LOCAL}, {LAST}",
    "flash_attn_qkvpacked_func": f"qkv, softmax_scale=None, causal=False, {DESCALES}, {LOCAL}, deterministic=False, "
    "num_heads_q=None, sm_margin=0, return_attn_probs=False",
    "flash_attn_with_kvcache": "q, k_cache, v_cache, k=None, v=None, qv=None, rotary_cos=None, rotary_sin=None, "
    "cache_seqlens=None, cache_batch_idx=None, cache_leftpad=None, page_table=None, cu_seqlens_q=None, "
    "cu_seqlens_k_new=None, max_seqlen_q=None, rotary_seqlens=None, "
    f"{DESCALES}, softmax_scale=None, causal=False, {LOCAL}, rotary_interleaved=True, scheduler_metadata=None, "
    "num_splits=0, pack_gqa=None, sm_margin=0, return_softmax_lse=False",
    "flash_attn_combine": "out_partial, lse_partial, out=None, out_dtype=None",
}
FEATURES = [
    # of the dialect, of the judge
    ({}, {}),
    ({"causal": True, "num_splits": 3}, {"causal": True}),
    ({"window_size": (3, 1), "pack_gqa": True}, {"window": (3, 1)}),
    ({"window_size": (-1, 2), "sm_margin": 4}, {"window": (None, 2)}),
    ({"softcap": 1.5, "softmax_scale": 0.7, "causal": True}, {"softcap": 1.5, "scale": 0.7, "causal": True}),
]
ENDS_Q, ENDS_K = [0, 5, 5, 12, 14], [0, 3, 7, 18, 18]  # longer than the keys, empty, shorter, without keys


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    assert naive.signature(getattr(fa3, name)) == SIGNATURES[name]


@pytest.mark.parametrize("seqlens", [(9, 17), (17, 9)])
@pytest.mark.parametrize("features, expected_features", FEATURES)
def test_func(seqlens, features, expected_features):
    q, k, v = random(2, seqlens[0], 6, 16), random(2, seqlens[1], 2, 16), random(2, seqlens[1], 2, 24)
    expected, expected_lse = naive.attention(q, k, v, **expected_features)
    result = fa3.flash_attn_func(q, k, v, return_attn_probs=True, **features)
    assert len(result) == 2
    assert_out(result[0], expected)
    assert_lse(result[1], expected_lse)
    alone = fa3.flash_attn_func(q, k, v, **features)
    assert torch.is_tensor(alone) and torch.equal(alone, result[0])


def test_empty_rows_have_zero_out_and_minus_inf_lse():
    q, k, v = random(2, 6, 2, 8), random(2, 4, 2, 8), random(2, 4, 2, 8)
    out, lse = fa3.flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    assert torch.equal(out[:, :2], torch.zeros(2, 2, 2, 8))
    assert torch.equal(lse[:, :, :2], torch.full((2, 2, 2), -torch.inf))
    assert lse[:, :, 2:].isfinite().all() and (out[:, 2:] != 0).all()


@pytest.mark.parametrize("heads_q, heads_kv", [(4, 4), (6, 2)])
def test_qkvpacked(heads_q, heads_kv):
    packed = random(2, 13, heads_q + 2 * heads_kv, 16)
    q, k, v = packed.split([heads_q, heads_kv, heads_kv], dim=2)
    expected, expected_lse = naive.attention(q, k, v, causal=True, window=(5, None))
    calls = [(packed, heads_q)] + ([(packed.unflatten(2, (3, heads_q)), None)] if heads_q == heads_kv else [])
    for qkv, num_heads_q in calls:
        out, lse = fa3.flash_attn_qkvpacked_func(
            qkv, causal=True, window_size=(5, -1), num_heads_q=num_heads_q, return_attn_probs=True
        )
        assert_out(out, expected)
        assert_lse(lse, expected_lse)
        assert torch.is_tensor(fa3.flash_attn_qkvpacked_func(qkv, num_heads_q=num_heads_q))


def test_qkvpacked_contradictions():
    with pytest.raises(ValueError, match="num_heads_q"):
        fa3.flash_attn_qkvpacked_func(random(1, 4, 6, 8))
    with pytest.raises(ValueError, match="num_heads_q"):
        fa3.flash_attn_qkvpacked_func(random(1, 4, 6, 8), num_heads_q=3)
    with pytest.raises(ValueError, match="num_heads_q"):
        fa3.flash_attn_qkvpacked_func(random(1, 4, 3, 2, 8), num_heads_q=4)


@pytest.mark.parametrize("features, expected_features", FEATURES)
def test_varlen(features, expected_features):
    q, k, v = random(14, 4, 16), random(18, 2, 16), random(18, 2, 8)
    expected, expected_lse = naive.varlen(q, k, v, ENDS_Q, ENDS_K, **expected_features)
    ends = int32(*ENDS_Q), int32(*ENDS_K)
    result = fa3.flash_attn_varlen_func(q, k, v, *ends, 7, 11, return_attn_probs=True, **features)
    assert len(result) == 2
    assert_out(result[0], expected)
    assert_lse(result[1], expected_lse)
    assert torch.equal(fa3.flash_attn_varlen_func(q, k, v, *ends, 7, 11, **features), result[0])


def test_varlen_used_lengths():
    q, k, v = random(14, 4, 16), random(18, 2, 16), random(18, 2, 16)
    used_q, used_k = [5, 0, 4, 1], [2, 4, 9, 0]
    out, lse = fa3.flash_attn_varlen_func(
        q, k, v, int32(*ENDS_Q), int32(*ENDS_K), 7, 11, int32(*used_q), int32(*used_k), causal=True,
        return_attn_probs=True,
    )  # fmt: skip
    for b in range(4):
        rows, used = slice(ENDS_Q[b], ENDS_Q[b] + used_q[b]), slice(ENDS_K[b], ENDS_K[b] + used_k[b])
        expected, expected_lse = naive.attention(q[None, rows], k[None, used], v[None, used], causal=True)
        assert_out(out[None, rows], expected)
        assert_lse(lse[None, :, rows], expected_lse)
        unused = slice(rows.stop, ENDS_Q[b + 1])
        assert (out[unused] == 0).all() and (lse[:, unused] == -torch.inf).all()


@pytest.mark.parametrize("cache_seqlens", [None, 13, int32(0, 17)])
@pytest.mark.parametrize("features, expected_features", FEATURES)
def test_kvcache_without_append(cache_seqlens, features, expected_features):
    q, k_cache, v_cache = random(2, 4, 6, 16), random(2, 20, 2, 16), random(2, 20, 2, 24)
    kept = k_cache.clone(), v_cache.clone()
    lengths = [20, 20] if cache_seqlens is None else (torch.zeros(2, dtype=torch.int32) + cache_seqlens).tolist()
    expected, expected_lse = naive.per_sequence(q, list(zip(k_cache, v_cache)), lengths, **expected_features)
    result = fa3.flash_attn_with_kvcache(
        q, k_cache, v_cache, cache_seqlens=cache_seqlens, scheduler_metadata=int32(1), return_softmax_lse=True,
        **features,
    )  # fmt: skip
    assert len(result) == 2
    assert_out(result[0], expected)
    assert_lse(result[1], expected_lse)
    assert torch.equal(k_cache, kept[0]) and torch.equal(v_cache, kept[1])
    alone = fa3.flash_attn_with_kvcache(q, k_cache, v_cache, cache_seqlens=cache_seqlens, **features)
    assert torch.is_tensor(alone) and torch.equal(alone, result[0])


@pytest.mark.parametrize("layout", ["dense", "paged", "batch index"])
@pytest.mark.parametrize("packed_new", [False, True])
def test_kvcache_appends_in_place(layout, packed_new):
    new_lengths = [4, 0, 2] if packed_new else [3, 3, 3]
    lengths, totals = [5, 6, 8], [5 + new_lengths[0], 6 + new_lengths[1], 8 + new_lengths[2]]
    starts = [0, new_lengths[0], sum(new_lengths[:2]), sum(new_lengths)]
    new = [random(sum(new_lengths), 2, 16) for _ in range(2)]
    rows = [random(3, 12, 2, 16) for _ in range(2)]
    table = {
        "dense": int32([0], [1], [2]),
        "paged": int32([6, 1, 3], [0, 5, 2], [4, 8, 7]),
        "batch index": int32([3], [0], [2]),
    }[layout]
    page_size = 4 if layout == "paged" else 12
    caches = [naive.paged(one, table, {"dense": 3, "paged": 10, "batch index": 5}[layout], page_size) for one in rows]
    wanted = [cache.clone() for cache in caches]
    for one, cache, fresh in zip(rows, wanted, new):
        for b in range(3):
            one[b, lengths[b] : totals[b]] = fresh[starts[b] : starts[b + 1]]
            for j in range(lengths[b], totals[b]):
                cache[table[b, j // page_size], j % page_size] = one[b, j]
    q = random(10, 4, 16)
    ends = [0, 3, 3, 10]
    found = {"page_table": table} if layout == "paged" else {}
    found = {"cache_batch_idx": table[:, 0]} if layout == "batch index" else found
    k, v = new if packed_new else [one.unflatten(0, (3, 3)) for one in new]
    out, lse = fa3.flash_attn_with_kvcache(
        q, *caches, k, v, cache_seqlens=int32(*lengths), cu_seqlens_q=int32(*ends), max_seqlen_q=7, causal=True,
        cu_seqlens_k_new=int32(*starts) if packed_new else None, return_softmax_lse=True, **found,
    )  # fmt: skip
    assert out.shape == (10, 4, 16) and lse.shape == (4, 10)
    for b in range(3):
        mine, used = slice(ends[b], ends[b + 1]), slice(0, totals[b])
        expected, expected_lse = naive.attention(
            q[None, mine], rows[0][b, None, used], rows[1][b, None, used], causal=True
        )
        assert_out(out[None, mine], expected)
        assert_lse(lse[None, :, mine], expected_lse)
    for cache, want in zip(caches, wanted):
        torch.testing.assert_close(cache, want, atol=0.0, rtol=0.0, equal_nan=True)


@pytest.mark.parametrize("starts", [int32(0, 2, 3), int32(1, 2, 4), int32(0, 5, 4), int32(0, 4)])
def test_refused_packed_append_writes_nothing(starts):
    cache = random(2, 8, 1, 16)
    kept = cache.clone()
    new = random(4, 1, 16)
    with pytest.raises(ValueError, match="cu_seqlens_k_new"):
        fa3.flash_attn_with_kvcache(
            random(2, 2, 2, 16), cache, cache, new, new, cache_seqlens=int32(1, 1), cu_seqlens_k_new=starts
        )
    with pytest.raises(ValueError, match="cu_seqlens_k_new"):
        fa3.flash_attn_with_kvcache(random(2, 2, 2, 16), cache, cache, cu_seqlens_k_new=starts)
    assert torch.equal(cache, kept)


@pytest.mark.parametrize("out_dtype", [None, torch.float16])
def test_combine(out_dtype):
    q, k, v = random(2, 7, 4, 16), random(2, 30, 2, 16), random(2, 30, 2, 24)
    parts = [fovea.attention(q, k[:, i : i + 10], v[:, i : i + 10], return_lse=True) for i in (0, 10, 20)]
    parts.append((torch.zeros_like(parts[0][0]), torch.full_like(parts[0][1], -torch.inf)))
    expected, expected_lse = naive.attention(q, k, v)
    outs, lses = torch.stack([part[0] for part in parts]), torch.stack([part[1].transpose(1, 2) for part in parts])
    out, lse = fa3.flash_attn_combine(outs, lses, out_dtype=out_dtype)
    assert out.dtype == (out_dtype or torch.float32)
    assert_out(out, expected)
    assert_lse(lse, expected_lse.transpose(1, 2))
    own = torch.full((2, 7, 4, 24), torch.nan)
    assert fa3.flash_attn_combine(outs, lses, own)[0] is own
    assert_out(own, expected)
    empty_out, empty_lse = fa3.flash_attn_combine(outs[3:], lses[3:])
    assert (empty_out == 0).all() and (empty_lse == -torch.inf).all()
    with pytest.raises(ValueError, match="flash_attn_combine: out_dtype"):
        fa3.flash_attn_combine(outs, lses, own, torch.bfloat16)


CALLS = {
    "flash_attn_func": lambda **named: fa3.flash_attn_func(*[random(1, 4, 2, 8)] * 3, **named),
    "flash_attn_qkvpacked_func": lambda **named: fa3.flash_attn_qkvpacked_func(random(1, 4, 3, 2, 8), **named),
    "flash_attn_varlen_func": lambda **named: fa3.flash_attn_varlen_func(
        *[random(4, 2, 8)] * 3, int32(0, 4), int32(0, 4), 4, 4, **named
    ),
    "flash_attn_with_kvcache": lambda **named: fa3.flash_attn_with_kvcache(*[random(1, 4, 2, 8)] * 3, **named),
}


@pytest.mark.parametrize("name", CALLS)
def test_refusals_name_function_and_argument(name):
    refused = {"q_descale": torch.ones(1, 2), "k_descale": torch.ones(1, 2), "v_descale": torch.ones(1, 2)}
    refused |= {"attention_chunk": 2, "window_size": (0, -3)}
    if name != "flash_attn_qkvpacked_func":
        refused["qv"] = random(1, 4, 2, 8)
    if name == "flash_attn_with_kvcache":
        refused |= dict.fromkeys(("rotary_cos", "rotary_sin", "rotary_seqlens", "cache_leftpad"), torch.ones(1))
    CALLS[name]()  # served without them
    for argument, value in refused.items():
        with pytest.raises(NotImplementedError, match=rf"^unsupported: asked {name}: {argument}=.*allowed "):
            CALLS[name](**{argument: value})

"""fovea.compat.fa2 against float64: every function, its signature, conventions, refusals and cache."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -r tests/python/requirements.txt")

import naive_attention as naive  # noqa: E402
from naive_attention import assert_lse, assert_out, int32, plus_inf, random  # noqa: E402

import fovea  # noqa: E402
from fovea.compat import fa2  # noqa: E402

OPTIONS = (
    "dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, "
    "deterministic=False, return_attn_probs=False"
)
SIGNATURES = {
    "flash_attn_func": f"q, k, v, {OPTIONS}",
    "flash_attn_qkvpacked_func": f"qkv, {OPTIONS}",
    "flash_attn_kvpacked_func": f"q, kv, {OPTIONS}",
    "flash_attn_varlen_func": "q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, "
    f"{OPTIONS}, block_table=None",
    "flash_attn_varlen_qkvpacked_func": f"qkv, cu_seqlens, max_seqlen, {OPTIONS}",
    "flash_attn_varlen_kvpacked_func": f"q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, {OPTIONS}",
    "flash_attn_with_kvcache": "q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None, "
    "cache_seqlens=None, cache_batch_idx=None, cache_leftpad=None, block_table=None, softmax_scale=None, "
    "causal=False, window_size=(-1, -1), softcap=0.0, rotary_interleaved=True, alibi_slopes=None, num_splits=0, "
    "return_softmax_lse=False",
}
FEATURES = [
    # of the dialect, of the judge
    ({}, {}),
    ({"causal": True}, {"causal": True}),
    ({"window_size": (3, 1)}, {"window": (3, 1)}),
    ({"window_size": (-1, 2)}, {"window": (None, 2)}),
    ({"window_size": (4, -1), "causal": True}, {"window": (4, None), "causal": True}),
    ({"softcap": 1.5, "softmax_scale": 0.7}, {"softcap": 1.5, "scale": 0.7}),
    ({"softmax_scale": 0.0, "deterministic": True}, {"scale": 0.0}),
]
ENDS_Q, ENDS_K = [0, 5, 5, 12, 14], [0, 3, 7, 18, 18]  # longer than the keys, empty, shorter, without keys


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    assert naive.signature(getattr(fa2, name)) == SIGNATURES[name]


@pytest.mark.parametrize("seqlens", [(9, 17), (17, 9)])
@pytest.mark.parametrize("features, expected_features", FEATURES)
def test_func(seqlens, features, expected_features):
    q, k, v = random(2, seqlens[0], 6, 16), random(2, seqlens[1], 2, 16), random(2, seqlens[1], 2, 24)
    expected, expected_lse = naive.attention(q, k, v, **expected_features)
    out, lse, probabilities = fa2.flash_attn_func(q, k, v, return_attn_probs=True, **features)
    assert_out(out, expected)
    assert_lse(lse, plus_inf(expected_lse))
    assert probabilities is None
    alone = fa2.flash_attn_func(q, k, v, **features)
    assert torch.is_tensor(alone) and torch.equal(alone, out)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_dtypes(dtype):
    q, k, v = random(1, 7, 2, 32, dtype=dtype), random(1, 11, 1, 32, dtype=dtype), random(1, 11, 1, 32, dtype=dtype)
    expected, expected_lse = naive.attention(q, k, v, causal=True)
    out, lse, _ = fa2.flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    assert out.dtype == dtype
    assert_out(out, expected)
    assert_lse(lse, expected_lse, dtype)


def test_empty_rows_have_zero_out_and_plus_inf_lse():
    q, k, v = random(2, 6, 2, 8), random(2, 4, 2, 8), random(2, 4, 2, 8)
    out, lse, _ = fa2.flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    assert torch.equal(out[:, :2], torch.zeros(2, 2, 2, 8))
    assert torch.equal(lse[:, :, :2], torch.full((2, 2, 2), torch.inf))
    assert lse[:, :, 2:].isfinite().all() and (out[:, 2:] != 0).all()


def test_packed_operands():
    qkv = random(2, 13, 3, 4, 16)
    expected, expected_lse = naive.attention(*qkv.unbind(2), causal=True)
    out, lse, _ = fa2.flash_attn_qkvpacked_func(qkv, causal=True, return_attn_probs=True)
    assert_out(out, expected)
    assert_lse(lse, expected_lse)
    q, kv = random(2, 5, 4, 16), random(2, 13, 2, 2, 16)
    expected, expected_lse = naive.attention(q, *kv.unbind(2), causal=True, window=(6, None))
    out, lse, _ = fa2.flash_attn_kvpacked_func(q, kv, causal=True, window_size=(6, 0), return_attn_probs=True)
    assert_out(out, expected)
    assert_lse(lse, expected_lse)


@pytest.mark.parametrize("features, expected_features", FEATURES)
def test_varlen(features, expected_features):
    q, k, v = random(14, 4, 16), random(18, 2, 16), random(18, 2, 8)
    expected, expected_lse = naive.varlen(q, k, v, ENDS_Q, ENDS_K, **expected_features)
    ends = int32(*ENDS_Q), int32(*ENDS_K)
    out, lse, probabilities = fa2.flash_attn_varlen_func(q, k, v, *ends, 7, 11, return_attn_probs=True, **features)
    assert_out(out, expected)
    assert_lse(lse, plus_inf(expected_lse))
    assert lse.shape == (4, 14) and probabilities is None
    assert torch.equal(fa2.flash_attn_varlen_func(q, k, v, *ends, 7, 11, **features), out)


def test_packed_operands_are_views(monkeypatch):
    qkv, ends = random(18, 3, 4, 16), int32(*ENDS_K)
    call = naive.recorded(monkeypatch, lambda: fa2.flash_attn_varlen_qkvpacked_func(qkv, ends, 11))
    for i, name in enumerate("qkv"):
        naive.assert_view(call[name], qkv[:, i])


def test_varlen_packed_operands():
    qkv, ends = random(18, 3, 4, 16), int32(*ENDS_K)
    expected, _ = naive.varlen(*qkv.unbind(1), ENDS_K, ENDS_K, causal=True)
    assert_out(fa2.flash_attn_varlen_qkvpacked_func(qkv, ends, 11, causal=True), expected)
    q, kv = random(14, 4, 16), random(18, 2, 2, 16)
    expected, expected_lse = naive.varlen(q, *kv.unbind(1), ENDS_Q, ENDS_K, causal=True)
    out, lse, _ = fa2.flash_attn_varlen_kvpacked_func(
        q, kv, int32(*ENDS_Q), ends, 7, 11, causal=True, return_attn_probs=True
    )
    assert_out(out, expected)
    assert_lse(lse, plus_inf(expected_lse))


def test_varlen_over_pages():
    table = int32([6, 1, 3], [0, 5, 2])
    k, v = random(2, 12, 2, 16), random(2, 12, 2, 16)
    q, lengths = random(9, 4, 16), [11, 6]
    pages = [naive.paged(rows, table, 7, 4) for rows in (k, v)]
    joined = [torch.cat([rows[b, : lengths[b]] for b in range(2)]) for rows in (k, v)]
    expected, expected_lse = naive.varlen(q, *joined, [0, 4, 9], [0, 11, 17], causal=True)
    out, lse, _ = fa2.flash_attn_varlen_func(
        q, *pages, int32(0, 4, 9), int32(0, 11, 17), 5, 11, causal=True, block_table=table, return_attn_probs=True
    )
    assert_out(out, expected)
    assert_lse(lse, expected_lse)


@pytest.mark.parametrize("cache_seqlens", [None, 13, int32(3, 17), int32(0, 20)])
@pytest.mark.parametrize("features, expected_features", FEATURES[:6])
def test_kvcache_without_append(cache_seqlens, features, expected_features):
    q, k_cache, v_cache = random(2, 4, 6, 16), random(2, 20, 2, 16), random(2, 20, 2, 16)
    kept = k_cache.clone(), v_cache.clone()
    lengths = [20, 20] if cache_seqlens is None else (torch.zeros(2, dtype=torch.int32) + cache_seqlens).tolist()
    expected, expected_lse = naive.per_sequence(q, list(zip(k_cache, v_cache)), lengths, **expected_features)
    out, lse = fa2.flash_attn_with_kvcache(
        q, k_cache, v_cache, cache_seqlens=cache_seqlens, return_softmax_lse=True, **features
    )
    assert_out(out, expected)
    assert_lse(lse, plus_inf(expected_lse))
    assert torch.equal(k_cache, kept[0]) and torch.equal(v_cache, kept[1])
    alone = fa2.flash_attn_with_kvcache(q, k_cache, v_cache, cache_seqlens=cache_seqlens, **features)
    assert torch.is_tensor(alone) and torch.equal(alone, out)


@pytest.mark.parametrize("num_splits", [0, 3])
def test_kvcache_appends_in_place(num_splits):
    q, k, v = random(2, 3, 4, 16), random(2, 3, 2, 16), random(2, 3, 2, 16)
    k_cache, v_cache = random(2, 20, 2, 16), random(2, 20, 2, 16)
    for cache in (k_cache, v_cache):
        cache[0, 5:], cache[1, 17:] = torch.nan, torch.nan
    wanted = k_cache.clone(), v_cache.clone()
    for cache, new in zip(wanted, (k, v)):
        cache[0, 5:8], cache[1, 17:20] = new[0], new[1]
    expected, expected_lse = naive.per_sequence(q, list(zip(*wanted)), [8, 20], causal=True)
    out, lse = fa2.flash_attn_with_kvcache(
        q, k_cache, v_cache, k, v, cache_seqlens=int32(5, 17), causal=True, num_splits=num_splits,
        return_softmax_lse=True,
    )  # fmt: skip
    assert_out(out, expected)
    assert_lse(lse, expected_lse)
    for cache, want in zip((k_cache, v_cache), wanted):
        torch.testing.assert_close(cache, want, atol=0.0, rtol=0.0, equal_nan=True)


def test_kvcache_appends_into_pages():
    table = int32([6, 1, 3], [0, 5, -1])  # the last entry lies past the used length and is not read
    q, k, v = random(2, 3, 4, 16), random(2, 3, 2, 16), random(2, 3, 2, 16)
    rows = random(2, 12, 2, 16), random(2, 12, 2, 16)
    lengths = [7, 4]
    caches = [naive.paged(one, int32([6, 1, 3], [0, 5, 4]), 7, 4) for one in rows]
    wanted = [cache.clone() for cache in caches]
    for one, cache, new in zip(rows, wanted, (k, v)):
        for b, length in enumerate(lengths):
            one[b, length : length + 3] = new[b]
            for j in range(length, length + 3):
                cache[table[b, j // 4], j % 4] = new[b, j - length]
    expected, expected_lse = naive.per_sequence(q, list(zip(*rows)), [10, 7], causal=True)
    out, lse = fa2.flash_attn_with_kvcache(
        q, *caches, k, v, cache_seqlens=int32(*lengths), block_table=table, causal=True, return_softmax_lse=True
    )
    assert_out(out, expected)
    assert_lse(lse, expected_lse)
    for cache, want in zip(caches, wanted):
        torch.testing.assert_close(cache, want, atol=0.0, rtol=0.0, equal_nan=True)


def test_kvcache_batch_index():
    q, k, v = random(2, 2, 4, 16), random(2, 2, 2, 16), random(2, 2, 2, 16)
    k_cache, v_cache = random(4, 10, 2, 16), random(4, 10, 2, 16)
    wanted = k_cache.clone(), v_cache.clone()
    for cache, new in zip(wanted, (k, v)):
        cache[3, 6:8], cache[1, 8:10] = new[0], new[1]
    expected, _ = naive.per_sequence(q, [(wanted[0][i], wanted[1][i]) for i in (3, 1)], [8, 10], causal=True)
    out = fa2.flash_attn_with_kvcache(
        q, k_cache, v_cache, k, v, cache_seqlens=int32(6, 8), cache_batch_idx=int32(3, 1), causal=True
    )
    assert_out(out, expected)
    assert torch.equal(k_cache, wanted[0]) and torch.equal(v_cache, wanted[1])


def test_kvcache_empty_rows():
    q, cache = random(2, 3, 2, 8), random(2, 9, 2, 8)
    out, lse = fa2.flash_attn_with_kvcache(
        q, cache, cache.clone(), cache_seqlens=int32(0, 9), return_softmax_lse=True
    )
    assert (out[0] == 0).all() and (lse[0] == torch.inf).all() and lse[1].isfinite().all()


CALLS = {
    "flash_attn_func": lambda **named: fa2.flash_attn_func(*[random(1, 4, 2, 8)] * 3, **named),
    "flash_attn_qkvpacked_func": lambda **named: fa2.flash_attn_qkvpacked_func(random(1, 4, 3, 2, 8), **named),
    "flash_attn_kvpacked_func": lambda **named: fa2.flash_attn_kvpacked_func(
        random(1, 4, 2, 8), random(1, 4, 2, 2, 8), **named
    ),
    "flash_attn_varlen_func": lambda **named: fa2.flash_attn_varlen_func(
        *[random(4, 2, 8)] * 3, int32(0, 4), int32(0, 4), 4, 4, **named
    ),
    "flash_attn_varlen_qkvpacked_func": lambda **named: fa2.flash_attn_varlen_qkvpacked_func(
        random(4, 3, 2, 8), int32(0, 4), 4, **named
    ),
    "flash_attn_varlen_kvpacked_func": lambda **named: fa2.flash_attn_varlen_kvpacked_func(
        random(4, 2, 8), random(4, 2, 2, 8), int32(0, 4), int32(0, 4), 4, 4, **named
    ),
    "flash_attn_with_kvcache": lambda **named: fa2.flash_attn_with_kvcache(*[random(1, 4, 2, 8)] * 3, **named),
}


@pytest.mark.parametrize("name", CALLS)
def test_refusals_name_function_and_argument(name):
    refused = {"alibi_slopes": torch.ones(2), "window_size": (-2, 0)}
    if name == "flash_attn_with_kvcache":
        refused |= {"rotary_cos": torch.ones(4, 4), "rotary_sin": torch.ones(4, 4), "cache_leftpad": int32(1)}
    else:
        refused["dropout_p"] = 0.1
    CALLS[name]()  # served without them
    for argument, value in refused.items():
        with pytest.raises(NotImplementedError, match=rf"^unsupported: asked {name}: {argument}=.*allowed "):
            CALLS[name](**{argument: value})


@pytest.mark.parametrize(
    "changes, error, text",
    [
        ({"v": None}, ValueError, "k and v"),
        ({"cache_seqlens": None}, ValueError, "cache_seqlens"),
        ({"cache_seqlens": int32(4, 7)}, ValueError, "leave the cache"),
        ({"cache_seqlens": int32(-1, 5)}, ValueError, "leave the cache"),
        ({"cache_seqlens": torch.tensor([4, 5])}, ValueError, "int32"),
        ({"k": random(2, 2, 2, 16)}, ValueError, "heads"),
        ({"v": random(2, 3, 1, 16)}, ValueError, "length"),
        ({"k": random(2, 2, 1, 16).half()}, ValueError, "float16"),
        ({"v": random(2, 2, 1, 16).requires_grad_()}, NotImplementedError, "v=.*requires_grad"),
        ({"block_table": int32([0], [2])}, ValueError, "page"),
        ({"block_table": int32([0], [1]), "cache_batch_idx": int32(0, 1)}, NotImplementedError, "cache_batch_idx"),
        ({"softcap": -1.0}, fovea.Error, "softcap"),
        ({"q": random(2, 2, 3, 8)}, fovea.Error, "shape"),
    ],
)
def test_refused_append_writes_nothing(changes, error, text):
    k_cache, v_cache = random(2, 8, 1, 16), random(2, 8, 1, 16)
    kept = k_cache.clone(), v_cache.clone()
    arguments = {"q": random(2, 2, 2, 16), "k": random(2, 2, 1, 16), "v": random(2, 2, 1, 16)}
    arguments |= {"k_cache": k_cache, "v_cache": v_cache, "cache_seqlens": int32(4, 5)} | changes
    with pytest.raises(error, match=text):
        fa2.flash_attn_with_kvcache(**arguments)
    assert torch.equal(k_cache, kept[0]) and torch.equal(v_cache, kept[1])

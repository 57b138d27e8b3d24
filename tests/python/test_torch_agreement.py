"""libfovea on the CPU against PyTorch, through the C ABI: dtypes, shapes, masks, views, variable lengths, pages, merge.

The judge is torch_judge.py. Skips, saying so, where torch is not installed; a missing library is a failure.
"""

import itertools
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

try:
    import numpy as np
    import torch
    import torch_judge as judge
    from torch_judge import added_scores, nan_like, positions, random
except ModuleNotFoundError as missing:
    raise unittest.SkipTest(f"{missing.name} is not installed: pip install -r tests/python/requirements.txt") from None

import fovea_abi as abi  # noqa: E402  (torch_judge put its folder on the path)

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
SHAPES = (
    # B, Hq, Hkv, Sq, Sk, Dqk, Dv
    (2, 4, 4, 128, 128, 64, 64),
    (1, 8, 2, 97, 193, 128, 128),
    (2, 6, 1, 1, 300, 64, 64),
    (1, 3, 3, 65, 33, 40, 24),
    (1, 2, 1, 7, 5, 13, 17),
    (1, 1, 1, 3, 1, 1, 1),
    (1, 2, 2, 20, 530, 256, 256),
)


def inputs(shape, dtype=F32, seed=1):
    batch, heads_q, heads_kv, seqlen_q, seqlen_kv, head_dim_qk, head_dim_v = shape
    q = random(batch, seqlen_q, heads_q, head_dim_qk, dtype=dtype, seed=seed)
    k = random(batch, seqlen_kv, heads_kv, head_dim_qk, dtype=dtype, seed=seed + 1)
    v = random(batch, seqlen_kv, heads_kv, head_dim_v, dtype=dtype, seed=seed + 2)
    return q, k, v


class JudgedByTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = abi.Library().context(num_threads=2)

    @classmethod
    def tearDownClass(cls):
        cls.context.close()

    def check(self, q, k, v, what, visible=None, mask=None, bias=None, out=None, formula=None, **features):
        """Runs the call into NaN-filled outputs and compares every element of out and lse."""
        formula = formula or {}
        batch, seqlen_q, heads, _ = q.shape
        out = nan_like(batch, seqlen_q, heads, v.shape[3], dtype=q.dtype) if out is None else out
        lse = nan_like(batch, heads, seqlen_q)
        self.context.forward(q, k, v, out, lse=lse, mask=mask, bias=bias, backend="cpu", **features)
        added = added_scores(q, k, visible, mask, bias)
        wanted, wanted_lse = judge.expected(q, k, v, added, **formula)
        judge.assert_close(out, wanted, judge.limit_of(q, k, v, added, out.dtype, wanted, **formula), f"{what}: out")
        judge.assert_lse_close(lse, wanted_lse, q.dtype, f"{what}: lse")


class DenseCalls(JudgedByTorch):
    def test_grid(self):
        for shape, dtype, causal in itertools.product(SHAPES, (F32, F16, BF16), (False, True)):
            with self.subTest(shape=shape, dtype=dtype, causal=causal):
                visible = positions(shape[3], shape[4], causal=causal)
                self.check(*inputs(shape, dtype), f"{shape}", visible=visible, causal=causal)

    def test_output_dtype_of_its_own(self):
        q, k, v = inputs(SHAPES[1], BF16)
        for dtype in (F32, F16, BF16):
            self.check(q, k, v, f"out {dtype}", out=nan_like(1, 97, 8, 128, dtype=dtype))

    def test_window_and_offsets(self):
        q, k, v = inputs((1, 2, 2, 70, 90, 32, 32))
        for window in ((0, 0), (5, None), (None, 3), (16, 0), (300, 300)):
            self.check(q, k, v, f"window {window}", visible=positions(70, 90, window=window), window=window)
        for offset in (0, -30, 64, 1000, -1000):
            visible = positions(70, 90, causal=True, window=(40, None), diagonal=offset)
            self.check(q, k, v, f"offset {offset}", visible, causal=True, window=(40, None), q_offset=offset)
        visible = positions(70, 90, causal=True, diagonal=7 - 11)
        self.check(q, k, v, "two offsets", visible, causal=True, q_offset=7, kv_offset=11)

    def test_masks(self):
        for dtype in (F32, BF16):
            q, k, v = inputs((2, 4, 2, 66, 77, 64, 64), dtype)
            for shape in ((2, 4, 66, 77), (1, 2, 66, 77), (2, 1, 1, 77), (1, 4, 1, 77), (1, 1, 66, 77)):
                mask = random(*shape, seed=9) > 0.3
                self.check(q, k, v, f"mask {shape}", mask=mask)
                self.check(q, k, v, f"mask {shape} expanded", mask=mask.expand(2, -1, 66, 77))
                self.check(q, k, v, f"mask {shape} causal", positions(66, 77, causal=True), mask=mask, causal=True)
            empty = torch.ones(1, 1, 66, 77, dtype=torch.bool)
            empty[..., 3:40, :] = False
            self.check(q, k, v, "empty rows", mask=empty)
            self.check(q, k, v, "no visible key", mask=torch.zeros(1, 1, 1, 77, dtype=torch.bool))

    def test_invisible_keys_have_no_influence(self):
        q, k, v = inputs((2, 4, 2, 40, 200, 64, 64))
        mask = random(2, 1, 1, 200, seed=3) > 0
        hidden = ~mask[:, 0, 0, :]
        clean, poisoned = nan_like(2, 40, 4, 64), nan_like(2, 40, 4, 64)
        k[hidden], v[hidden] = 0.0, 0.0
        self.context.forward(q, k, v, clean, mask=mask)
        k[hidden], v[hidden] = torch.nan, torch.inf
        self.context.forward(q, k, v, poisoned, mask=mask)
        self.assertTrue(torch.isfinite(clean).all())
        self.assertTrue(torch.equal(clean, poisoned))

    def test_biases(self):
        for dtype, bias_dtype in itertools.product((F32, BF16, F16), (F32, BF16, F16)):
            q, k, v = inputs((2, 4, 2, 66, 77, 64, 64), dtype)
            for shape in ((2, 4, 66, 77), (1, 2, 66, 77), (1, 1, 1, 77)):
                bias = random(*shape, dtype=bias_dtype, seed=4)
                self.check(q, k, v, f"bias {bias_dtype} {shape}", bias=bias)
        q, k, v = inputs((1, 2, 2, 30, 50, 32, 32))
        bias = random(1, 2, 30, 50, seed=5)
        bias[:, :, 4:9, :], bias[..., 20:] = -torch.inf, -torch.inf
        self.check(q, k, v, "bias -inf", bias=bias)
        self.check(q, k, v, "bias and mask", bias=bias, mask=random(1, 1, 30, 50, seed=6) > 0)
        self.check(q, k, v, "large finite bias", bias=torch.full((1, 1, 1, 50), -1e30))

    def test_scale_softcap_sink(self):
        q, k, v = inputs((2, 4, 2, 33, 64, 64, 64))
        sink = random(4, seed=8)
        self.check(q, k, v, "scale", formula={"scale": 0.7}, softmax_scale=0.7)
        self.check(q, k, v, "negative scale", formula={"scale": -0.2}, softmax_scale=-0.2)
        self.check(q, k, v, "softcap", formula={"softcap": 1.5}, softcap=1.5)
        self.check(q, k, v, "sink", formula={"sink": sink}, sink=sink)
        both = {"softcap": 5.0, "sink": sink}
        self.check(q, k, v, "all", positions(33, 64, causal=True), formula=both, causal=True, **both)

    def test_views_are_read_in_place(self):
        for dtype in (F32, BF16, F16):
            packed = random(2, 50, 3, 4, 32, dtype=dtype)
            q, k, v = packed.unbind(dim=2)
            self.check(q, k, v, "packed QKV")
            q, k, v = (random(2, 4, 50, 32, dtype=dtype, seed=seed).transpose(1, 2) for seed in (1, 2, 3))
            self.check(q, k, v, "transposed", out=nan_like(2, 4, 50, 32, dtype=dtype).transpose(1, 2))
            one = random(1, 50, 1, 32, dtype=dtype).expand(2, 50, 4, 32)
            self.check(q, one, one, "expanded")
            wide = random(2, 50, 4, 64, dtype=dtype)
            self.check(wide[..., ::2], wide[..., 1::2], wide[:, :, :, 32:], "strided head dim")
            spaced = nan_like(2, 50, 4, 64, dtype=dtype)
            self.check(q, k, v, "strided out", out=spaced[..., ::2])
            self.assertTrue(spaced[..., 1::2].isnan().all())

    def test_negative_strides(self):
        q, k, v = (array.numpy() for array in inputs((1, 2, 2, 20, 30, 16, 16)))
        plain, flipped = np.full(q.shape, np.nan, np.float32), np.full(q.shape, np.nan, np.float32)
        self.context.forward(q, k, v, plain)
        backwards = [np.ascontiguousarray(array[:, ::-1, :, ::-1])[:, ::-1, :, ::-1] for array in (q, k, v)]
        self.assertLess(backwards[0].strides[1], 0)
        self.context.forward(*backwards, flipped)
        np.testing.assert_allclose(flipped, plain, rtol=0, atol=1e-6)
        self.assertTrue(np.isfinite(plain).all())


class LayoutCalls(JudgedByTorch):
    """Sequences that are packed, padded, paged or split, against one torch call for each sequence."""

    LENGTHS_Q = (5, 0, 33, 70)
    LENGTHS_KV = (40, 9, 0, 130)

    def rows(self, lengths, heads, head_dim, dtype, seed, before=0, after=3):
        """(packed rows with unowned NaN rows around them, int32 offsets)."""
        offsets = torch.tensor(list(itertools.accumulate(lengths, initial=before)), dtype=torch.int32)
        rows = random(int(offsets[-1]) + after, heads, head_dim, dtype=dtype, seed=seed)
        rows[:before], rows[int(offsets[-1]) :] = torch.nan, torch.nan
        return rows, offsets

    def compare_sequence(self, q, k, v, out, lse, causal, what):
        """One sequence: q [Sq, Hq, D], k, v [Sk, Hkv, D], out as q, lse [Hq, Sq]."""
        q, k, v = q[None], k[None], v[None]
        added = added_scores(q, k, positions(q.shape[1], k.shape[1], causal=causal))
        wanted, wanted_lse = judge.expected(q, k, v, added)
        limit = judge.limit_of(q, k, v, added, out.dtype, wanted)
        judge.assert_close(out[None], wanted, limit, f"{what}: out")
        judge.assert_lse_close(lse[None], wanted_lse, q.dtype, f"{what}: lse")

    def test_varlen(self):
        for dtype, causal in itertools.product((F32, BF16), (False, True)):
            q, cu_q = self.rows(self.LENGTHS_Q, 4, 64, dtype, seed=1, before=2)
            k, cu_kv = self.rows(self.LENGTHS_KV, 2, 64, dtype, seed=2)
            v, _ = self.rows(self.LENGTHS_KV, 2, 64, dtype, seed=3)
            out, lse = nan_like(*q.shape, dtype=dtype), nan_like(4, q.shape[0])
            offsets = {"cu_seqlens_q": cu_q, "cu_seqlens_kv": cu_kv}
            self.context.forward(q, k, v, out, lse=lse, causal=causal, **offsets)
            for b in range(len(self.LENGTHS_Q)):
                of_q, of_kv = slice(*cu_q[b : b + 2].tolist()), slice(*cu_kv[b : b + 2].tolist())
                result = (out[of_q], lse[:, of_q], causal, f"sequence {b}")
                self.compare_sequence(q[of_q], k[of_kv], v[of_kv], *result)
            self.assertTrue(out[:2].isnan().all() and out[-3:].isnan().all() and lse[:, -3:].isnan().all())

    def test_seqused(self):
        q, k, v = inputs((4, 4, 2, 70, 130, 64, 64))
        used_q, used_kv = (torch.tensor(used, dtype=torch.int32) for used in (self.LENGTHS_Q, self.LENGTHS_KV))
        for b in range(4):
            q[b, self.LENGTHS_Q[b] :], k[b, self.LENGTHS_KV[b] :], v[b, self.LENGTHS_KV[b] :] = (torch.nan,) * 3
        for causal in (False, True):
            out, lse = nan_like(*q.shape), nan_like(4, 4, 70)
            self.context.forward(q, k, v, out, lse=lse, causal=causal, seqused_q=used_q, seqused_kv=used_kv)
            for b, (n, m) in enumerate(zip(self.LENGTHS_Q, self.LENGTHS_KV)):
                self.compare_sequence(q[b, :n], k[b, :m], v[b, :m], out[b, :n], lse[b, :, :n], causal, f"sequence {b}")
                self.assertTrue((out[b, n:] == 0).all() and (lse[b, :, n:] == -torch.inf).all())

    def test_pages(self):
        used = torch.tensor((40, 9, 0, 130), dtype=torch.int32)
        for page_size, dtype in itertools.product((1, 3, 16, 64), (F32, BF16)):
            max_pages = -(-130 // page_size)
            order = torch.randperm(4 * max_pages, generator=torch.Generator().manual_seed(page_size))
            table = order.view(4, max_pages).int()
            q = random(4, 2, 4, 64, dtype=dtype)
            k, v = (random(4 * max_pages, page_size, 2, 64, dtype=dtype, seed=seed) for seed in (5, 6))
            out, lse = nan_like(*q.shape, dtype=dtype), nan_like(4, 4, 2)
            self.context.forward(q, k, v, out, lse=lse, causal=True, page_table=table, seqused_kv=used)
            for b, length in enumerate(used.tolist()):
                keys, values = (cache[table[b].long()].flatten(0, 1)[:length] for cache in (k, v))
                self.compare_sequence(q[b], keys, values, out[b], lse[b], True, f"page_size {page_size} sequence {b}")

    def test_splits_and_merge(self):
        q, k, v = inputs((2, 8, 1, 3, 1000, 64, 64))
        added = added_scores(q, k)
        wanted, wanted_lse = judge.expected(q, k, v, added)
        limit = judge.limit_of(q, k, v, added, F32, wanted)
        for num_splits in (1, 2, 7, 256):
            self.check(q, k, v, f"num_splits {num_splits}", num_splits=num_splits)
        outs, lses = [], []
        for begin, end in ((0, 100), (100, 100), (100, 1000)):
            outs.append(nan_like(*q.shape))
            lses.append(nan_like(2, 8, 3))
            self.context.forward(q, k[:, begin:end], v[:, begin:end], outs[-1], lse=lses[-1])
        out, lse = nan_like(*q.shape), nan_like(2, 8, 3)
        self.context.merge(outs, lses, out, lse)
        judge.assert_close(out, wanted, limit, "merge: out")
        judge.assert_lse_close(lse, wanted_lse, F32, "merge: lse")

    def test_refusals_carry_every_text(self):
        q, k, v = inputs((1, 4, 3, 8, 8, 16, 16))
        out = nan_like(*q.shape)
        refusal = self.context.supports(q=q, k=k, v=v, out=out)
        with self.assertRaises(abi.Error) as caught:
            self.context.forward(q, k, v, out)
        self.assertEqual("head_ratio", caught.exception.code)
        self.assertEqual(str(refusal), str(caught.exception))
        for text in ("asked", "allowed", "why", "hint"):
            self.assertTrue(getattr(caught.exception, text), text)
        self.assertTrue(out.isnan().all(), "a refused call wrote")


if __name__ == "__main__":
    unittest.main()

"""data/demo.safetensors: its size, its names, and its expected output against an independent float64 softmax in NumPy.

Needs numpy; reads the file with its own ten lines, so that no reader of the project judges itself.
"""

import json
import pathlib
import unittest

import numpy as np

FILE = pathlib.Path(__file__).resolve().parents[2] / "data" / "demo.safetensors"
MAX_BYTES = 2_000_000
LAYERS = (0, 2, 5)
SHAPE = (2, 54, 12, 32)
DTYPES = {"F64": "<f8", "F32": "<f4", "BF16": "<u2", "BOOL": "?", "I32": "<i4"}


def read_safetensors(path):
    """name -> array; f32 and bf16 are widened to float64."""
    content = path.read_bytes()
    header_size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + header_size])
    data = content[8 + header_size :]
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        if entry["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        arrays[name] = array.astype(np.float64) if array.dtype == np.float32 else array
    return arrays


def attention(q, k, v, mask):
    """softmax(q k^T / sqrt(D)) v over visible keys; q, k, v [B, S, H, D], mask [B, 1, 1, S]."""
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    weights /= weights.sum(axis=3, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights, v)


class DemoDataTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.arrays = read_safetensors(FILE)

    def test_size(self):
        self.assertLessEqual(FILE.stat().st_size, MAX_BYTES)

    def test_names_and_shapes(self):
        names = {f"layer{layer}.{name}" for layer in LAYERS for name in ("q", "k", "v", "out", "mask")}
        self.assertEqual(names | {"seqused_kv"}, set(self.arrays))
        for layer in LAYERS:
            for name in ("q", "k", "v", "out"):
                self.assertEqual(SHAPE, self.arrays[f"layer{layer}.{name}"].shape)

    def test_mask_is_the_lengths(self):
        lengths = self.arrays["seqused_kv"]
        self.assertEqual([54, 36], lengths.tolist())
        expected = np.arange(SHAPE[1])[None, :] < lengths[:, None]
        for layer in LAYERS:
            np.testing.assert_array_equal(expected[:, None, None, :], self.arrays[f"layer{layer}.mask"])

    def test_tensors_are_real(self):
        for layer in LAYERS:
            for name in ("q", "k", "v"):
                array = self.arrays[f"layer{layer}.{name}"]
                self.assertTrue(np.isfinite(array).all())
                self.assertGreater(array.std(), 0.05)
                heads = array.reshape(-1, *SHAPE[2:]).std(axis=0)
                self.assertGreater(heads.min(), 0.0, f"a constant column in layer{layer}.{name}")
        self.assertFalse(np.array_equal(self.arrays["layer0.q"], self.arrays["layer2.q"]))

    def test_output_is_attention_of_the_inputs(self):
        for layer in LAYERS:
            q, k, v, out, mask = (self.arrays[f"layer{layer}.{name}"] for name in ("q", "k", "v", "out", "mask"))
            np.testing.assert_allclose(attention(q, k, v, mask), out, rtol=0, atol=1e-13)
            without_mask = attention(q, k, v, np.ones_like(mask))
            self.assertGreater(np.abs(without_mask - out).max(), 1e-2, "the mask has no effect: a check without force")


if __name__ == "__main__":
    unittest.main()

"""Calls with arguments drawn at random, many of them wrong: a result as the reference has it, or a fovea.Error."""

import os
import random

import pytest
import torch

import fovea
from judge import assert_close, expected

SEED = int(os.environ.get("FOVEA_TEST_SEED", random.SystemRandom().randrange(10**6)))
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int32, torch.int64, torch.bool]


def as_array(tensor):
    """A NumPy array where NumPy has the dtype."""
    return tensor if tensor.dtype == torch.bfloat16 else tensor.numpy()


class Draw:
    """One call: named arguments for fovea.attention, mostly right."""

    def __init__(self, source):
        self.source = source
        self.batch, self.heads_kv = source.choice([0, 1, 2, 3]), source.choice([1, 2, 3])
        self.heads = self.heads_kv * source.choice([1, 2, 5])
        self.seqlen_q, self.seqlen_k = source.choice([0, 1, 5, 40]), source.choice([0, 1, 7, 33])
        self.dim, self.dim_v = source.choice([1, 8, 17, 64]), source.choice([1, 8, 17, 64])
        self.dtype = source.choice(DTYPES[:3])

    def seldom(self, usual, *others):
        """usual(), or one of the others one time in 25."""
        return self.source.choice(others)() if self.source.random() < 0.04 else usual()

    def tensor(self, *shape, dtype=None):
        dtype = self.seldom(lambda: dtype or self.dtype, lambda: self.source.choice(DTYPES))
        shape = self.seldom(lambda: shape, lambda: shape[1:], lambda: (*shape, 2), lambda: (*shape[:-1], shape[-1] + 1))
        made = torch.randn(shape).mul(2).to(dtype)
        if self.source.random() < 0.2 and made.dim() > 2:
            made = made.transpose(0, 1).contiguous().transpose(0, 1)
        return self.seldom(lambda: made, lambda: None, lambda: 1.5, lambda: "q", lambda: as_array(made))

    def number(self, *usual):
        wrong = [lambda: "3", lambda: float("nan"), lambda: float("inf"), lambda: [1]]
        if not any(isinstance(value, float) for value in usual):  # a large scale is right, and its result all rounding
            wrong += [lambda: -(2**70), lambda: 2**62, lambda: -1]
        return self.seldom(lambda: self.source.choice(usual), *wrong)

    def call(self):
        b, hq, hk, sq, sk = self.batch, self.heads, self.heads_kv, self.seqlen_q, self.seqlen_k
        call = {
            "q": self.tensor(b, sq, hq, self.dim),
            "k": self.tensor(b, sk, hk, self.dim),
            "v": self.tensor(b, sk, hk, self.dim_v),
            "causal": self.source.random() < 0.5,
        }
        pick = self.source.random
        if pick() < 0.3:
            heads = self.source.choice([1, hk, hq])
            call["mask"] = self.tensor(self.source.choice([1, b]), heads, sq, sk, dtype=torch.bool)
        if pick() < 0.3:
            heads, rows = self.source.choice([1, hq]), self.source.choice([1, sq])
            call["bias"] = self.tensor(1, heads, rows, sk, dtype=torch.float32)
        if pick() < 0.3:
            call["window"] = self.seldom(lambda: (self.number(None, 0, 4), self.number(None, 0, 4)), lambda: 3)
        if pick() < 0.2:
            call["sink"] = self.tensor(hq, dtype=torch.float32)
        if pick() < 0.2:
            call["seqused_kv"] = torch.tensor([self.source.randint(0, sk + (pick() < 0.1)) for _ in range(b)]).int()
        for name, usual in (("scale", (0.1, -0.05, 0.0)), ("softcap", (0.0, 2.0)), ("num_splits", (0, 1, 3))):
            if pick() < 0.3:
                call[name] = self.number(*usual)
        for name in ("q_offset", "kv_offset"):
            if pick() < 0.2:
                call[name] = self.number(-3, 0, 5)
        return call


RENAMED = {"scale": "softmax_scale"}


@pytest.mark.parametrize("part", range(4))
def test_a_result_or_a_refusal(part):
    source = random.Random(SEED + part)
    torch.manual_seed(SEED + part)
    served = refused = 0
    for number in range(300):
        call = Draw(source).call()
        where = f"FOVEA_TEST_SEED={SEED}, part {part}, call {number}: {call.keys()}"
        guard = None
        if isinstance(call["q"], torch.Tensor) and call["q"].dim() == 4 and isinstance(call["v"], torch.Tensor):
            guard = torch.full((*call["q"].shape[:-1], call["v"].shape[-1]), 7.0, dtype=torch.float32)
        try:
            out, lse = fovea.attention(**call, out=guard, return_lse=True)
        except fovea.Error as error:
            refused += 1
            assert error.code and error.asked and error.allowed and error.hint, where
            assert guard is None or bool((guard == 7.0).all()), where
            continue
        served += 1
        tensors = {name: torch.as_tensor(x) if hasattr(x, "__array__") else x for name, x in call.items()}
        features = {RENAMED.get(name, name): x for name, x in tensors.items() if name not in "qkv"}
        wanted = expected(tensors["q"], tensors["k"], tensors["v"], **features)
        if wanted[0].numel():
            assert_close(out, lse, wanted, tensors["q"].dtype)
    assert served > 60 and refused > 30, (served, refused)

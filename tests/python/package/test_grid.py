"""Some shapes of grid.py; all of them: python tests/python/package/grid.py."""

import dataclasses

import pytest

import grid

SMALL = [shape for shape in grid.standard() if shape.seqlen_q <= 512][::5]
PEERS = [shape for shape in grid.peers() if shape.seqlen_k <= 256][::37]


@pytest.mark.parametrize("shape", SMALL + PEERS, ids=str)
def test_shape(shape):
    for name, share in grid.run(shape, "cpu").items():
        assert share <= 1.0, f"{name}: {share:.2f} of the limit"


def test_the_limit_is_not_generous(monkeypatch):
    shape = grid.Shape("bf16", 1, 2, 1, 128, 128, 64, True)
    evaluate = grid.evaluate

    def with_a_scale_3_percent_off(q, k, v, asked, *rest):
        return evaluate(q, k, v, dataclasses.replace(asked, head_dim=60), *rest)

    monkeypatch.setattr(grid, "evaluate", with_a_scale_3_percent_off)
    assert grid.run(shape, "cpu")["fa2"] > 1.0

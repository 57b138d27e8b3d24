"""The ratio that bench_sdpa.py prints: made of neighbouring turns, so that a slow spell does not count as slowness."""

import itertools
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import clock  # noqa: E402


def taken(*turns):
    return types.SimpleNamespace(turns=[list(turn) for turn in turns])


class PairedRatio(unittest.TestCase):
    def test_a_slow_spell_of_both_changes_nothing(self):
        steady = clock.paired_ratio(taken([3.0], [3.0], [3.0]), taken([2.0], [2.0], [2.0]))
        spell = clock.paired_ratio(taken([3.0], [30.0], [3.0]), taken([2.0], [20.0], [2.0]))
        self.assertEqual((steady, spell), (1.5, 1.5))

    def test_minima_of_different_spells_do_not_count(self):
        first, second = taken([3.0], [30.0], [30.0]), taken([20.0], [20.0], [20.0])
        self.assertEqual(clock.paired_ratio(first, second), 1.5)

    def test_a_turn_counts_by_its_median(self):
        self.assertEqual(clock.paired_ratio(taken([1.0, 4.0, 100.0]), taken([2.0, 2.0, 0.1])), 2.0)

    def test_turns_are_kept_apart(self):
        calls = []
        pair = clock.side_by_side(lambda: calls.append(1), lambda: calls.append(2), clock.Effort(2, 0.0, 0.0, 2))
        self.assertEqual([side for side, _ in itertools.groupby(calls)], [1, 2] * 3)  # untimed once, then two turns
        self.assertEqual([len(samples.turns) for samples in pair], [2, 2])
        self.assertEqual(sorted(pair[0].seconds)[0], pair[0].best)


if __name__ == "__main__":
    unittest.main()

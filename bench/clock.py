"""Times two calls side by side, in alternating turns, so that a change of the machine's mood meets both.

Before each turn the clock waits: the other side's worker threads may still be spinning on the cores. Short calls are
warmed inside the turn and repeated; a long call is a turn of its own.
"""

import dataclasses
import statistics
import time

SETTLE_SECONDS = 0.03  # longer than the spin time of OpenMP's idle workers
WARM_SECONDS = 0.003
LONG_CALL_SECONDS = 0.02


@dataclasses.dataclass(frozen=True)
class Effort:
    turns: int = 9
    seconds: float = 0.3  # of timed calls on each side, long calls excepted
    turn_seconds: float = 0.02
    most_turns: int = 20


QUICK = Effort(turns=3, seconds=0.05, turn_seconds=0.01, most_turns=5)


class Samples:
    """Seconds of single calls, turn by turn."""

    def __init__(self, call):
        self.call = call
        self.turns = []

    def turn(self, effort):
        time.sleep(SETTLE_SECONDS)
        known = min(self.seconds, default=LONG_CALL_SECONDS)
        self.turns.append([])
        if known < LONG_CALL_SECONDS:
            end = time.perf_counter() + WARM_SECONDS
            while time.perf_counter() < end:
                self.call()
        end = time.perf_counter() + effort.turn_seconds
        while True:
            begin = time.perf_counter()
            self.call()
            now = time.perf_counter()
            self.turns[-1].append(now - begin)
            if now >= end:
                return

    @property
    def seconds(self):
        return [seconds for turn in self.turns for seconds in turn]

    @property
    def best(self):
        return min(self.seconds)

    @property
    def median(self):
        return statistics.median(self.seconds)


def paired_ratio(first, second):
    """The median over turns of first's time over second's, each the median of its turn.

    The two turns of a pair lie next to each other, in the same state of the machine; minima of a whole run may not.
    """
    pairs = zip(first.turns, second.turns, strict=True)
    return statistics.median(statistics.median(mine) / statistics.median(other) for mine, other in pairs)


def side_by_side(first, second, effort):
    """(Samples, Samples) of the two calls; each was called once, untimed, before."""
    pair = Samples(first), Samples(second)
    for samples in pair:
        samples.call()
    turns = 0
    while turns < effort.turns or (turns < effort.most_turns and min(sum(s.seconds) for s in pair) < effort.seconds):
        for samples in pair:
            samples.turn(effort)
        turns += 1
    return pair

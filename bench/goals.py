"""The goals, as functions of the rows of one run: each gives a verdict line.

A row is what bench_sdpa.measure() returns. A goal whose points were not measured says so and counts as not shown.
"""

import dataclasses
import math

WORST_RATIO = 0.8
GEOMEAN_RATIO = {"fp32": 1.0, "bf16": 1.5}
DECODE_RATIO = 1.0
OVERHEAD_FACTOR = 1.2
PEAK_SHARE = 0.6


@dataclasses.dataclass(frozen=True)
class Verdict:
    text: str
    met: bool | None  # None = not measured

    def __str__(self):
        return f"{ {True: 'met', False: 'MISSED', None: 'not measured'}[self.met] :<12} {self.text}"


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def of_suite(rows, *suites, **fields):
    return [row for row in rows if row["suite"] in suites and all(row[name] == v for name, v in fields.items())]


def _at_least(title, goal, values):
    if not values:
        return Verdict(f"{title} >= {goal:.2f}", None)
    return Verdict(f"{title} {min(values):.2f} >= {goal:.2f}", min(values) >= goal)


def _peak_share(rows):
    measured = of_suite(rows, "prefill", dtype="fp32", head_dim=128)
    shares = [row["peak_share"] for row in measured if row["peak_share"] is not None]
    if not shares:
        return Verdict(f"fp32 D128 prefill, share of the FMA peak >= {PEAK_SHARE:.2f}", None)
    span = f"{min(shares):.2f}..{max(shares):.2f} over {len(shares)} points"
    title = f"fp32 D128 prefill, share of the FMA peak ({span}), geometric mean"
    return _at_least(title, PEAK_SHARE, [geomean(shares)])


def verdicts(rows):
    lines = []
    for dtype, goal in GEOMEAN_RATIO.items():
        ratios = [row["ratio"] for row in of_suite(rows, "prefill", dtype=dtype)]
        mean = [geomean(ratios)] if ratios else []
        lines.append(_at_least(f"prefill {dtype}, geometric mean of torch/fovea over {len(ratios)} points", goal, mean))
    for dtype in GEOMEAN_RATIO:
        ratios = [row["ratio"] for row in of_suite(rows, "decode", dtype=dtype)]
        lines.append(_at_least(f"decode {dtype}, lowest torch/fovea", DECODE_RATIO, ratios))
    ratios = [row["ratio"] for row in of_suite(rows, "prefill", "decode")]
    lines.append(_at_least("any point, lowest torch/fovea", WORST_RATIO, ratios))
    lines.append(_peak_share(rows))
    factors = [row["factor"] for row in of_suite(rows, "overhead")]
    title = "mask or bias that hides nothing, highest time factor"
    if factors:
        met = max(factors) <= OVERHEAD_FACTOR
        lines.append(Verdict(f"{title} {max(factors):.2f} <= {OVERHEAD_FACTOR:.2f}", met))
    else:
        lines.append(Verdict(f"{title} <= {OVERHEAD_FACTOR:.2f}", None))
    return lines

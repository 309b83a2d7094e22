"""How often the gate fails although only random draws changed, and what it finds.

``python -m benchmarks.gate [--gates N] [--scenarios M] [--seed S]`` simulates N gates of M
scenarios whose accepted and new scores are drawn alike, and N comparisons in which one of them is
worse by 2, 5 or 10 times the standard deviation of a score (1 % of its mean), for suites of 2, 3
and 5 repetitions. A row for each kind of draws:

- false alarms: the share of neutral gates that fail, at most
  `leaseboard.tasks.score.gate.verdict.ALPHA`;
- jobs: how many are run in addition, over those of the suite, on average over neutral gates;
- found: the share of gates in which the scenario that is worse has regressed.

It exits with 1 if false alarms exceed `ALPHA` by more than three standard errors.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from leaseboard.tasks.score.gate.verdict import ALPHA, LOOKS, TOLERANCE, decide
from leaseboard.tasks.score.inference import Paired, paired

Doubles = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Doubles]
NOISE = 0.01

DRAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails (t, 3)": lambda rng, shape: rng.standard_t(3, shape) / math.sqrt(3),
    "skewed (exponential)": lambda rng, shape: rng.exponential(size=shape) - 1,
    "two values": lambda rng, shape: (rng.random(shape) < 0.2) / 0.4,
}
"""Draws with a standard deviation of 1."""


def play(old: Doubles, new: Doubles, first: int) -> tuple[list[bool], int]:
    """Run a gate on scores of shape (n_scenarios, 24) from `first` repetitions on.

    Returns
    -------
    list of bool
        Which scenarios have regressed.
    int
        How many repetitions were added.
    """
    pairs = [first] * len(old)
    found: list[Paired] = [
        paired(a[:first], b[:first], "min") for a, b in zip(old, new, strict=True)
    ]
    changed = sum(not each.same for each in found)
    regressed = []
    for i, each in enumerate(found):
        verdict, _, wanted = decide(each, _allowed(each), changed, LOOKS[-1])
        while wanted:
            pairs[i] = wanted
            again = paired(old[i, :wanted], new[i, :wanted], "min")
            verdict, _, wanted = decide(again, _allowed(again), changed, LOOKS[-1])
        regressed.append(verdict == "regressed")
    return regressed, sum(pairs) - first * len(old)


def _allowed(each: Paired) -> float:
    return 0.0 if each.constant else TOLERANCE


def simulate(draw: Draw, first: int, gates: int, scenarios: int, seed: int) -> tuple[float, ...]:
    """Return false alarms, jobs in addition, and what is found of 2, 5 and 10 times the noise."""
    rng = np.random.default_rng([seed, first])
    alarms, added = 0, 0
    found = [0, 0, 0]
    for _ in range(gates):
        old, new = 1 + NOISE * draw(rng, (2, scenarios, LOOKS[-1]))
        regressed, more = play(old, new, first)
        alarms += any(regressed)
        added += more
        for k, times in enumerate((2, 5, 10)):  # the others are neutral, so this one is enough
            worse = play(old[:1], new[:1] + times * NOISE, first)[0]
            found[k] += worse[0]
    jobs = added / (gates * scenarios * first)
    return alarms / gates, jobs, *(count / gates for count in found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each kind of draws and number of repetitions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gates", type=int, default=1000)
    parser.add_argument("--scenarios", type=int, default=57)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    most = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / asked.gates)
    print(f"{asked.gates} gates of {asked.scenarios} scenarios; found: worse by 2, 5, 10 x noise")
    print(f"{'draws':22}{'repetitions':>12}{'false alarms':>14}{'more jobs':>11}   found")
    failed = False
    for name, draw in DRAWS.items():
        for first in (2, 3, 5):
            alarms, jobs, *found = simulate(draw, first, asked.gates, asked.scenarios, asked.seed)
            shares = "  ".join(f"{share:.3f}" for share in found)
            print(f"{name:22}{first:12}{alarms:14.1%}{jobs:11.2f}   {shares}", flush=True)
            failed |= alarms > most
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())

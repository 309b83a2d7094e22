"""How often, and after how many labels, a challenger is promoted by tests that may always look.

``python -m benchmarks.promotion [DATA...] [--comparisons N] [--runs N] [--mirror FOLDER]`` prints
for every kind of losses, and for the last labels of every DATA as predictions,

- the share of N comparisons of two equal predictors, looked at after every label, in which one
  was promoted at alpha .05, by kind of test. The last such row, *reversal*, is a stream on which
  the champion is better on average at all times, though for 100 rows at a time the challenger is;
- the labels that a challenger which is better by 5 % needs, the median of N runs, over the labels
  of a fixed-size test: a paired z test, one-sided at .05, with a power of .8, for which
  (1.645 + 0.842)² (standard deviation / mean)² differences are needed. Both moments are those of
  1,000,000 labels, or of all of DATA.

- the labels until the roll-back to a champion that was worse by 5 % for twice the labels of the
  fixed-size test, and is better by 5 % from then on: with a test that restarts, and with one that
  does not, which waits for the average since the beginning.

It exits with 1 if `SequentialTest` promotes in more than 5 % of the comparisons of equal
predictors, or needs more than twice the labels. The other tests get what `SequentialTest` has to
learn: a clip that is hardly ever exceeded.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.encoding import StreamOptions, as_stream

Doubles = NDArray[np.float64]
Generator = np.random.Generator
Draw = Callable[[Generator, int, float], Doubles]
"""Differences of losses, of so many labels, where the challenger is better by this share."""

ALPHA, GAIN = 0.05, 0.05
DEVIATIONS = 1.6449 + 0.8416
"""Of the normal distribution, at .95 and at .8."""
OWN = 0.3
"""Variance of a predictor's own error over that of the noise that both have in common."""
LOOKS = 2000
"""Labels of a comparison of equal predictors, and of a piece of a longer one."""
LONGEST = 4
"""A run ends after so many times the labels of the fixed-size test."""


def _squared(noise: Doubles, rng: Generator, gain: float) -> Doubles:
    """Return squared errors of shared and own noise, of which the challenger has less."""
    own = np.array([OWN, (1 + OWN) * (1 - gain) - 1])[:, None]
    scale = np.abs(noise)  # own errors are larger where the noise is, as in volatile times
    first, second = (noise + np.sqrt(own) * scale * rng.standard_normal((2, len(noise)))) ** 2
    return np.asarray(first - second)


def heavy(rng: Generator, n: int, gain: float) -> Doubles:
    """Return squared errors around noise of Student's t with five degrees: infinite 6th moment."""
    return _squared(rng.standard_t(5, n) / math.sqrt(5 / 3), rng, gain)


def _volatilities(noise: Doubles) -> Doubles:
    found, now = np.empty_like(noise), 1.0
    for t in range(len(noise)):
        found[t] = math.sqrt(now)
        now = 0.02 + 0.1 * now * noise[t] ** 2 + 0.88 * now
    return found


def volatile(rng: Generator, n: int, gain: float) -> Doubles:
    """Return squared errors whose scale comes and goes (GARCH)."""
    noise = rng.standard_normal(n)
    return _squared(_volatilities(noise) * noise, rng, gain)


def unrelated(rng: Generator, n: int, gain: float) -> Doubles:
    """Return squared errors of predictors that have nothing in common."""
    first, second = rng.standard_normal((2, n)) ** 2
    return np.asarray(first - (1 - gain) * second)


def verdicts(rng: Generator, n: int, gain: float) -> Doubles:
    """Return 0/1 losses at an error rate of .2 where the two disagree on every tenth label."""
    return rng.choice([1.0, -1.0, 0.0], n, p=[0.05 + 0.1 * gain, 0.05 - 0.1 * gain, 0.9])


def far_verdicts(rng: Generator, n: int, gain: float) -> Doubles:
    """Return 0/1 losses at an error rate of .2, unrelated."""
    first, second = rng.random((2, n))
    return np.where(first < 0.2, 1.0, 0.0) - np.where(second < 0.2 * (1 - gain), 1.0, 0.0)


def reversal(rng: Generator, n: int, gain: float) -> Doubles:
    """Return gains of .5 on every other hundred labels, and of -.6 on the hundred before."""
    return np.where(np.arange(n) // 100 % 2, 0.5, -0.6) + 0.3 * rng.standard_normal(n)


KINDS: dict[str, Draw] = {
    "squared, heavy tails": heavy,
    "squared, volatile": volatile,
    "squared, unrelated": unrelated,
    "0/1, near": verdicts,
    "0/1, unrelated": far_verdicts,
}

TURNED = ("squared, unrelated", "0/1, near")
"""Kinds of which roll-backs are shown."""


@dataclass(frozen=True, slots=True)
class Foreknown:
    """Inputs of other tests: a clip, and the labels of a fixed test."""

    clip: float
    labels: float


def known(differences: Doubles) -> Foreknown:
    """Return the moments of many differences where the challenger is better."""
    labels = DEVIATIONS**2 * float(differences.var()) / float(differences.mean()) ** 2
    return Foreknown(float(np.quantile(np.abs(differences), 0.9999)), labels)


def by_test(differences: Doubles, reported: Foreknown) -> int | None:
    """Return labels until `SequentialTest.decision` is for the challenger; None if it never is."""
    test = SequentialTest()
    for begin, rows in _pieces(differences):
        after, path = test.trace(rows, np.zeros(len(rows)))
        waited = len(rows) - (after.counted - test.counted)
        gains = test.mean * test.counted + np.cumsum(
            np.where(np.arange(len(rows)) < waited, 0, rows)
        )
        if found := _first((path[:, 0] >= -math.log(ALPHA)) & (gains > 0)):
            return begin + found
        test = after
    return None


def by_agrapa(differences: Doubles, reported: Foreknown) -> int | None:
    """Test as in Waudby-Smith and Ramdas, section 5.3: mean over second moment of the past."""
    return _first(_agrapa(differences / reported.clip) >= -math.log(ALPHA))


def by_newton(differences: Doubles, reported: Foreknown) -> int | None:
    """Test with online Newton steps on the bet, as coin betting has them."""
    return _first(_newton(differences / reported.clip) >= -math.log(ALPHA))


TESTS = {"SequentialTest": by_test, "aGRAPA": by_agrapa, "Newton": by_newton}


def _pieces(differences: Doubles) -> Iterator[tuple[int, Doubles]]:
    for begin in range(0, len(differences), LOOKS):
        yield begin, differences[begin : begin + LOOKS]


def _first(where: NDArray[np.bool_]) -> int | None:
    return int(where.argmax()) + 1 if where.any() else None


def _agrapa(ratios: Doubles) -> Doubles:
    path, log, mean, variance = np.empty_like(ratios), 0.0, 0.0, 0.25
    for t in range(len(ratios)):
        x = min(max(ratios[t], -1.0), 1.0)
        log += math.log1p(min(max(mean / (variance + mean**2), 0.0), 0.5) * x)
        mean += (x - mean) / (t + 2)
        variance += ((x - mean) ** 2 - variance) / (t + 2)
        path[t] = log
    return path


def _newton(ratios: Doubles) -> Doubles:
    path, log, rate, squares = np.empty_like(ratios), 0.0, 0.0, 1.0
    for t in range(len(ratios)):
        x = min(max(ratios[t], -1.0), 1.0)
        log += math.log1p(rate * x)
        slope = x / (1 + rate * x)
        squares += slope**2
        rate = min(max(rate + 2 / (2 - math.log(3)) * slope / squares, 0.0), 0.5)
        path[t] = log
    return path


def promoted(draw: Draw, reported: Foreknown, comparisons: int) -> dict[str, float]:
    """Return, by test, the share of comparisons that promote a challenger that is not better."""
    found = [_tested(draw, seed, LOOKS, 0.0, reported) for seed in range(comparisons)]
    return {name: float(np.mean([math.isfinite(each[name]) for each in found])) for name in TESTS}


def labels(draw: Draw, reported: Foreknown, runs: int) -> dict[str, Doubles]:
    """Return, by test, labels until promotion over the fixed-size test's, infinite if never."""
    longest = math.ceil(LONGEST * reported.labels)
    found = [_tested(draw, seed, longest, GAIN, reported) for seed in range(runs)]
    return {name: np.array([each[name] for each in found]) / reported.labels for name in TESTS}


def relapse(draw: Draw, reported: Foreknown, runs: int, *, restarts: bool) -> Doubles:
    """Return labels from reversal to roll-back over the fixed-size test's, infinite if never.

    Before the reversal the test has to be silent, else the labels are negative.
    """
    reign, found = math.ceil(2 * reported.labels), []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        drawn = draw(rng, 3 * reign, GAIN) * np.where(np.arange(3 * reign) < reign, -1.0, 1.0)
        _, path = SequentialTest(restarts=restarts).trace(drawn, np.zeros(len(drawn)))
        found.append((_first(path[:, 0] >= -math.log(ALPHA)) or math.inf) - reign)
    return np.array(found) / reported.labels


def _tested(draw: Draw, seed: int, n: int, gain: float, reported: Foreknown) -> dict[str, float]:
    drawn = draw(np.random.default_rng(seed), n, gain)
    return {name: test(drawn, reported) or math.inf for name, test in TESTS.items()}


def real(name: str, mirrors: tuple[Path, ...]) -> Draw:
    """Return a stream's labels, the last as the champion's prediction, from a random label on.

    The challenger moves a number towards the label before it, or away, and takes of classes that
    label at times, until it is better by the gain. Without a gain the roles are given by a coin
    for each label, so that neither is better.
    """
    y = as_stream(
        loading.load(name, mirrors=mirrors), StreamOptions(log_target="code")
    ).labels.astype(float)
    before, last, now = y[:-2], y[1:-1], y[2:]
    error, step = last - now, before - last
    if len(np.unique(y)) > 2:
        square, product = (step**2).mean(), (error * step).mean()
        short = product**2 - square * GAIN * (error**2).mean()
        move = (-product + np.sign(product) * math.sqrt(max(short, 0.0))) / square
        losses, share = error**2 - (error + move * step) ** 2, 1.0
    else:
        losses = (last != now) * 1.0 - (before != now)
        share = min(1.0, GAIN * float((last != now).mean()) / abs(float(losses.mean())))
        losses *= np.sign(losses.mean())

    def draw(rng: Generator, n: int, gain: float) -> Doubles:
        found: Doubles = np.resize(np.roll(losses, rng.integers(len(losses))), n)
        if not gain:
            return np.asarray(found * rng.choice([-1.0, 1.0], n))
        return np.asarray(np.where(rng.random(n) < share, found, 0.0))

    return draw


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw and print; 1 if `SequentialTest` promotes too often or too late."""
    parser = argparse.ArgumentParser(description="Promotions by tests that may always look")
    parser.add_argument("data", nargs="*", metavar="DATA")
    parser.add_argument("--comparisons", type=int, default=1000, help="of equals (default: 1000)")
    parser.add_argument("--runs", type=int, default=100, help="with a gain (default: 100)")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
    if min(given.comparisons, given.runs) < 1:
        parser.error("--comparisons and --runs: give at least 1")
    kinds = KINDS | {name: real(name, tuple(given.mirror)) for name in given.data}
    moments = {
        name: known(draw(np.random.default_rng(0), 1_000_000, GAIN))
        for name, draw in kinds.items()
    }
    print(f"{'promoted, of equals':24}{'':8}" + "".join(f"{test:>14}" for test in TESTS))
    missed = False
    for name, draw in kinds.items():
        shares = promoted(draw, moments[name], given.comparisons)
        missed |= shares["SequentialTest"] > ALPHA
        print(f"{name:32}" + "".join(f"{share:14.3f}" for share in shares.values()), flush=True)
    shares = promoted(reversal, Foreknown(2.0, LOOKS), given.comparisons)
    missed |= shares["SequentialTest"] > ALPHA
    print(f"{'reversal':32}" + "".join(f"{share:14.3f}" for share in shares.values()))
    print(f"{'labels over fixed-size':24}{'fixed':>8}" + " median (80 %)" * len(TESTS))
    for name, draw in kinds.items():
        found = labels(draw, moments[name], given.runs)
        medians = [np.quantile(each, (0.5, 0.8), method="higher") for each in found.values()]
        missed |= medians[0][0] > 2
        print(
            f"{name:24}{moments[name].labels:8.0f}"
            + "".join(f"{median:7.2f} ({most:.2f})" for median, most in medians),
            flush=True,
        )
    print(f"{'roll-back after reversal':24}{'fixed':>8}      restarts      does not")
    for name in TURNED:
        turned = [
            relapse(KINDS[name], moments[name], given.runs, restarts=each)
            for each in (True, False)
        ]
        reported = "".join(f"{sorted(each)[len(each) // 2]:14.2f}" for each in turned)
        print(f"{name:24}{moments[name].labels:8.0f}{reported}")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())

"""What ABC is compared with: Full-run, successive halving, and a random choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.benches.samples import SamplesAlgorithm, SamplesBench, geometric_sizes
from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.events import BoundsUpdated, Eliminated, Measured
from leaseboard.algorithms.seeds import generator


@dataclass(frozen=True, kw_only=True)
class FullRun(SamplesAlgorithm):
    """Train and test every configuration in full; the exact answer at the full price.

    The baseline of Huang et al. (AAAI 2019), "ABC vs. Full-run". Under a budget that ends
    early the best until then is the answer; before the first training, the first configuration.
    """

    def run(self, bench: SamplesBench, seed: int) -> Run:
        """Probe everyone at full size and keep the best."""
        best = -1.0
        for index in (yield from bench.admit()):
            probe = yield from bench.probe(index, bench.train_rows, train=False)
            if probe is None:
                if bench.champion is None:
                    yield from bench.crown(index)
                break
            if probe.status != "ok":
                yield from bench.fail(index, probe, None)
                continue
            if probe.test_accuracy > best:
                best = probe.test_accuracy
                yield from bench.crown(index)
            yield Measured(at=bench.at, value=best)


@dataclass(frozen=True, kw_only=True)
class RandomConfiguration(SamplesAlgorithm):
    """One configuration drawn at random, without a look at the data."""

    def run(self, bench: SamplesBench, seed: int) -> Run:
        """Draw one of the distinct configurations."""
        distinct = yield from bench.admit()
        drawn = generator(seed, "random-configuration").integers(len(distinct))
        yield from bench.crown(distinct[drawn])


@dataclass(frozen=True, kw_only=True)
class SuccessiveHalving(SamplesAlgorithm):
    """Probe all that remain, keep the better half, double the sample, until one is left.

    Jamieson and Talwalkar (2016) with the sample size as the resource and the sample sizes of
    ABC, as Huang et al. (AAAI 2019) run it: pruning by the point estimate A(H_S, S_te).

    Parameters
    ----------
    initial_rows : int, optional
        The first sample size, ABC's own by default; the paper varies it from 250 (Figure 7).
    keep : float
        The share that survives a round, rounded down, but at least one.

    Notes
    -----
    When the full size is reached with several left, the best of them is the answer. When the
    budget ends within a round, the best of the last complete round is.
    """

    initial_rows: Annotated[int, Field(ge=1)] | None = None
    keep: Annotated[float, Field(gt=0, lt=1)] = 0.5

    def run(self, bench: SamplesBench, seed: int) -> Run:
        """One round for each sample size."""
        remaining = yield from bench.admit()
        yield from bench.crown(remaining[0])
        initial = min(self.initial_rows or bench.initial_rows, bench.train_rows)
        for rows in geometric_sizes(initial, bench.train_rows):
            if len(remaining) == 1:
                break
            accuracy: dict[int, float] = {}
            failed = {}
            for index in remaining:
                probe = yield from bench.probe(index, rows, train=False)
                if probe is None:
                    return
                if probe.status == "ok":
                    accuracy[index] = probe.test_accuracy
                else:
                    failed[index] = probe
            order = sorted(accuracy, key=lambda index: -accuracy[index])
            if order:
                yield from bench.crown(order[0])
                yield Measured(at=bench.at, value=accuracy[order[0]])
            for index, probe in failed.items():
                yield from bench.fail(index, probe, None)
            remaining, dropped = halve(order, self.keep)
            for index in dropped:
                yield Eliminated(
                    at=bench.at,
                    configuration=index,
                    reason=f"accuracy {accuracy[index]:.4f} at {rows} rows is not in the best"
                    f" {len(remaining)} of {len(order)}",
                )
            if not remaining:
                return


def halve(order: list[int], keep: float) -> tuple[list[int], list[int]]:
    """The best share of an order, best first and at least one, and the rest.

    Examples
    --------
    >>> halve([4, 1, 3, 0, 2], 0.5)
    ([4, 1], [3, 0, 2])
    >>> halve([4], 0.5)
    ([4], [])
    """
    kept = min(len(order), max(1, int(len(order) * keep)))
    return order[:kept], order[kept:]


@dataclass(frozen=True, kw_only=True)
class Daub(SamplesAlgorithm):
    """Data allocation using upper bounds: optimism by a straight line, without a guarantee.

    Every configuration is trained on b, rb and r^2 b rows. Then the one with the highest
    projected upper bound is trained on r times its rows, until one was trained on all.

    Parameters
    ----------
    ratio : float
        r, the growth of the sample; the authors use 1.5, ABC's comparison 2.

    References
    ----------
    Sabharwal, Samulowitz, Tesauro. Selecting near-optimal learners via incremental data
    allocation. AAAI 2016, Algorithm 1.
    """

    ratio: Annotated[float, Field(gt=1)] = 2.0

    def run(self, bench: SamplesBench, seed: int) -> Run:
        """The three first allocations of everyone, then the most hopeful one."""
        sizes = geometric_sizes(bench.initial_rows, bench.train_rows, self.ratio)
        curves: dict[int, list[Probe]] = {}
        upper: dict[int, float] = {}
        queue = [index for index in (yield from bench.admit()) for _ in sizes[:3]]
        yield from bench.crown(queue[0])
        failed: set[int] = set()
        while queue or upper:
            chosen = queue.pop(0) if queue else max(upper, key=lambda index: upper[index])
            if chosen in failed:
                continue
            curve = curves.setdefault(chosen, [])
            if len(curve) == len(sizes):
                break
            probe = yield from bench.probe(chosen, sizes[len(curve)])
            if probe is None:
                break
            if probe.status != "ok":
                failed.add(chosen)
                upper.pop(chosen, None)
                heirs = [index for index in (*upper, *queue) if index not in failed]
                yield from bench.fail(chosen, probe, heirs[0] if heirs else None)
                continue
            curve.append(probe)
            upper[chosen] = projected_upper_bound(curve, bench.train_rows)
            yield BoundsUpdated(
                at=bench.at,
                configuration=chosen,
                value=probe.test_accuracy,
                lower=0.0,  # DAUB bounds from above only
                upper=upper[chosen],
                units=probe.rows,
            )
            yield from bench.crown(max(upper, key=lambda index: (upper[index], -index)))
            yield Measured(at=bench.at, value=curves[bench.champion or 0][-1].test_accuracy)


def projected_upper_bound(curve: Sequence[Probe], full: int) -> float:
    """The lesser of the training accuracy and the test accuracy drawn on to the full size.

    The line is a least-squares fit to the last three test accuracies, made monotone: a training
    accuracy is at most the earlier ones, a test accuracy at least the earlier ones. With fewer
    than three points there is no line and the bound is the training accuracy.

    Parameters
    ----------
    curve : sequence of Probe
        The probes of one configuration in ascending order of rows.
    full : int
        |D_tr|.
    """
    last = curve[-1]
    if last.rows >= full:
        return last.test_accuracy
    train = min(probe.train_accuracy for probe in curve)
    test = np.maximum.accumulate([probe.test_accuracy for probe in curve])[-3:]
    rows = np.array([probe.rows for probe in curve[-3:]], dtype=float)
    if len(rows) < 3:
        return train
    slope = max(0.0, float(np.polyfit(rows, test, 1)[0]))
    projected = float(test[-1]) + slope * (full - last.rows)
    return min(1.0, train, projected) if math.isfinite(projected) else min(1.0, train)

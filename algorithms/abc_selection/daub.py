"""DAUB: allocate data to the configuration with the highest projected upper bound."""

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
from leaseboard.algorithms.events import BoundsUpdated, Measured


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

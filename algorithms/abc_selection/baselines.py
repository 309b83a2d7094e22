"""What ABC is compared with: Full-run, successive halving, and a random choice."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments import samples
from leaseboard.algorithms.events import BoundsUpdated, Eliminated, Measured
from leaseboard.algorithms.seeds import generator


@dataclass(frozen=True, kw_only=True)
class FullRun(samples.SamplesAlgorithm):
    """Full training and test of every configuration: the exact answer at the full price.

    The baseline of Huang et al. (AAAI 2019), "ABC vs. Full-run". Under a budget that ends
    early the best until then is the answer; before the first training, the first configuration.
    """

    def run(self, env: samples.SamplesEnvironment, seed: int) -> Run:
        """Probe all configurations at full size and keep the best."""
        best = -1.0
        for index in (yield from env.admit()):
            probe = yield from env.probe(index, env.train_rows, train=False)
            if probe is None:
                if env.champion is None:
                    yield from env.crown(index)
                break
            if probe.status != "ok":
                yield from env.fail(index, probe, None)
                continue
            if probe.test_accuracy > best:
                best = probe.test_accuracy
                yield from env.crown(index)
            yield Measured(at=env.at, value=best)


@dataclass(frozen=True, kw_only=True)
class RandomConfiguration(samples.SamplesAlgorithm):
    """One configuration drawn at random, without a look at the data."""

    def run(self, env: samples.SamplesEnvironment, seed: int) -> Run:
        """Draw one of the distinct configurations."""
        distinct = yield from env.admit()
        drawn = generator(seed, "random-configuration").integers(len(distinct))
        yield from env.crown(distinct[drawn])


@dataclass(frozen=True, kw_only=True)
class SuccessiveHalving(samples.SamplesAlgorithm):
    """Probes of all that remain; the better half stays, on twice the sample, until one is left.

    Jamieson and Talwalkar (2016) with the sample size as the resource and the sample sizes of
    ABC, as Huang et al. (AAAI 2019) run it: pruning by the point estimate A(H_S, S_te).

    Parameters
    ----------
    initial_rows : int, optional
        The first sample size, ABC's own by default; the paper varies it from 250 (Figure 7).

    Notes
    -----
    When the full size is reached with several left, the best of them is the answer. When the
    budget ends within a round, the best of the last complete round is.
    """

    initial_rows: Annotated[int, Field(ge=1)] | None = None

    def run(self, env: samples.SamplesEnvironment, seed: int) -> Run:
        """Yield one round for each sample size."""
        remaining = yield from env.admit()
        yield from env.crown(remaining[0])
        initial = min(self.initial_rows or env.initial_rows, env.train_rows)
        for rows in samples.geometric_sizes(initial, env.train_rows):
            if len(remaining) < 2:
                break
            accuracy: dict[int, float] = {}
            failed: dict[int, samples.Probe] = {}
            for index in remaining:
                probe = yield from env.probe(index, rows, train=False)
                if probe is None:
                    return
                if probe.status == "ok":
                    accuracy[index] = probe.test_accuracy
                else:
                    failed[index] = probe
            order = sorted(accuracy, key=accuracy.__getitem__, reverse=True)
            if order:
                yield from env.crown(order[0])
                yield Measured(at=env.at, value=accuracy[order[0]])
            for index, probe in failed.items():
                yield from env.fail(index, probe, None)
            remaining = order[: max(1, len(order) // 2)]
            for index in order[len(remaining) :]:
                yield Eliminated(
                    at=env.at,
                    configuration=index,
                    reason=f"accuracy {accuracy[index]:.4f} at {rows} rows is not in the best"
                    f" {len(remaining)} of {len(order)}",
                )


@dataclass(frozen=True, kw_only=True)
class Daub(samples.SamplesAlgorithm):
    """Data allocation using upper bounds: optimism by a straight line, without a guarantee.

    Every configuration is trained on b, 2 b and 4 b rows. Then the one with the highest
    projected upper bound is trained on twice its rows, until one was trained on all. So it is
    in ABC's comparison; DAUB's authors let samples grow by 1.5.

    References
    ----------
    Sabharwal, Samulowitz, Tesauro. Selecting near-optimal learners via incremental data
    allocation. AAAI 2016, Algorithm 1.
    """

    def run(self, env: samples.SamplesEnvironment, seed: int) -> Run:
        """Make the first three allocations of each, then those of the highest projected bound."""
        sizes = samples.geometric_sizes(env.initial_rows, env.train_rows)
        curves: dict[int, list[samples.Probe]] = {}
        upper: dict[int, float] = {}
        queue = [index for index in (yield from env.admit()) for _ in sizes[:3]]
        yield from env.crown(queue[0])
        while queue or upper:
            chosen = queue.pop(0) if queue else max(upper, key=lambda index: upper[index])
            curve = curves.setdefault(chosen, [])
            if len(curve) == len(sizes):
                break
            probe = yield from env.probe(chosen, sizes[len(curve)])
            if probe is None:
                break
            if probe.status != "ok":
                upper.pop(chosen, None)
                queue = [index for index in queue if index != chosen]
                yield from env.fail(chosen, probe, next(iter([*upper, *queue]), None))
                continue
            curve.append(probe)
            upper[chosen] = projected_upper_bound(curve, env.train_rows)
            yield BoundsUpdated(
                at=env.at,
                configuration=chosen,
                value=probe.test_accuracy,
                lower=0.0,  # DAUB bounds from above only
                upper=upper[chosen],
                units=probe.rows,
            )
            yield from env.crown(max(upper, key=lambda index: (upper[index], -index)))
            yield Measured(at=env.at, value=curves[env.champion or 0][-1].test_accuracy)


def projected_upper_bound(curve: Sequence[samples.Probe], full: int) -> float:
    """Return the lesser of the training accuracy and the test accuracy drawn on to the full size.

    The line is a least-squares fit to the last three test accuracies, made monotone: a training
    accuracy is at most the earlier ones, a test accuracy at least the earlier ones. With fewer
    than three points no line can be fitted and the bound is the training accuracy.

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
    return min(1.0, train, float(test[-1]) + slope * (full - last.rows))

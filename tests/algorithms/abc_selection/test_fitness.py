"""Fitness that breaks is noticed, survived and reported."""

from dataclasses import replace

import pytest

from leaseboard.algorithms.abc_selection.bounds import lowered, raised, rise
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.samples import Probe, SamplesEnvironment
from leaseboard.algorithms.events import MonotonicityViolated, of
from tests.selections import SimulatedLearners


def probe(rows, train, half, test):
    """Return a probe with these accuracies on its sample, on its first half, and on test rows."""
    return Probe(
        rows=rows,
        test_rows=1000,
        train_correct=round(train * rows),
        half_correct=round(half * (rows // 2)),
        test_correct=round(test * 1000),
    )


class Growing(SimulatedLearners):
    """The last configuration counts rows: each missing doubling costs it a fortieth."""

    def measure(self, configuration, rows, test_rows):
        found = super().measure(configuration, rows, test_rows)
        if configuration < len(self.configurations) - 1 or rows == self.train_rows:
            return found

        def worse(count, of):
            return count - round(self.behind(rows) * of)

        return replace(
            found,
            train_correct=worse(found.train_correct, rows),
            half_correct=worse(found.half_correct, rows // 2),
            test_correct=worse(found.test_correct, test_rows),
            half_test_correct=worse(found.half_test_correct, test_rows // 2),
        )

    def behind(self, rows):
        doublings = 0
        while rows < self.train_rows:
            rows, doublings = 2 * rows, doublings + 1
        return doublings / 40


def selected():
    """Return the events and the environment of a selection whose best configuration is not fit."""
    learners = Growing((0.6, 0.8, 0.85), 64_000, 16_000, seed=0)
    env = SamplesEnvironment(learners, initial_rows=1000)
    algorithm = ABC(bounds="best", delta=0.05)
    return list(play("abc", algorithm, env, seed=0)), env


@pytest.mark.parametrize(
    "shape", [(0.02,) * 7, (0.03, 0.02, 0.01, 0, 0, 0, 0), (0, 0.01, 0.01, 0)]
)
def test_the_bound_holds_if_later_rises_are_not_larger(shape):
    """The theorem: `shape` are the rises on the way to the accuracy of H* on a sample."""
    accuracy = [0.6]
    for step in shape:
        accuracy.append(accuracy[-1] + step)
    curve = [
        probe(500 * 2**k, accuracy[k], accuracy[k], accuracy[k]) for k in range(3)
    ]  # the same rows over and over: no chance
    every = 500 * 2 ** len(shape)
    assert raised(curve[-1].train_accuracy, curve, every) >= accuracy[-1] - 1e-9


def test_the_best_is_kept_though_it_fits_no_sample_and_is_named():
    events, env = selected()
    assert env.champion == 2
    assert {event.configuration for event in of(events, MonotonicityViolated)} == {2}
    first = of(events, MonotonicityViolated)[0]
    assert first.rise == pytest.approx(0.025, abs=0.002)


def counts(rows, right, half=None, test_rows=1000):
    """Return a probe of so many right test rows, `half` of them in the first half."""
    return Probe(rows=rows, test_rows=test_rows, train_correct=rows, half_correct=rows // 2,
                 test_correct=right, half_test_correct=half)  # fmt: skip


@pytest.mark.parametrize("shape", [(0.05,) * 6, (0.06, 0.05, 0.04, 0.0, 0.0), (0.05, 0.06, 0.06)])
def test_the_lower_bound_holds_if_later_falls_are_not_larger(shape):
    """The theorem, `shape` being the falls on the way to full training; and just outside of it."""
    accuracy = [0.9]
    for step in shape:
        accuracy.append(accuracy[-1] - step)
    curve = [counts(500 * 2**k, round(1000 * accuracy[k])) for k in range(3)]
    bound = lowered(curve[-1].test_accuracy, curve, 500 * 2 ** len(shape))
    assert bound <= accuracy[-1] + 1e-9
    larger = max(shape[:2]) + 0.001
    outside = accuracy[2] - larger * (len(shape) - 2)
    assert outside < bound


def test_a_fall_of_the_accuracy_on_training_rows_is_a_rise_below_zero():
    assert rise(probe(500, 0.8, 0.8, 0.5), probe(2000, 0.75, 0.75, 0.5)) == -0.025

"""Fitness that breaks is seen, outlived and told."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from algorithms.abc_selection.fitness import FitnessWarning, beyond_chance, raised, rise
from algorithms.abc_selection.selection import ABC
from algorithms.abc_selection.simulation import SimulatedLearners
from algorithms.base import play
from algorithms.benches.samples import Probe, SamplesBench
from algorithms.events import Eliminated, FitnessBroken, ProbeFinished, of


def probe(rows, train, half, test):
    """A probe with these accuracies on its sample, on its first half, and on test rows."""
    return Probe(
        rows=rows,
        test_rows=1000,
        train_correct=round(train * rows),
        half_correct=round(half * (rows // 2)),
        test_correct=round(test * 1000),
    )


class Growing(SimulatedLearners):
    """The last configuration counts rows: each doubling that it lacks costs it a fortieth."""

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


def selected(bounds="best", accuracies=(0.6, 0.8, 0.85), **settings):
    """The events and the bench of a selection whose best configuration is not fit."""
    learners = Growing(accuracies, 64_000, 16_000, seed=0)
    bench = SamplesBench(learners, initial_rows=1000)
    algorithm = ABC(bounds=bounds, delta=0.05, **settings)
    return list(play("abc", algorithm, bench, seed=0)), bench


def test_a_rise_is_on_the_same_rows():
    before = probe(500, 0.8, 0.8, 0.7)
    assert rise(before, probe(1000, 0.7, 0.83, 0.7)) == pytest.approx(0.03)


def test_a_fit_configuration_has_no_rise_though_its_sample_was_harder():
    before = probe(500, 0.8, 0.8, 0.7)
    assert rise(before, probe(1000, 0.85, 0.8, 0.7)) == 0


def test_a_rise_within_two_deviations_may_be_chance():
    before = probe(500, 0.8, 0.8, 0.7)
    assert not beyond_chance(before, probe(1000, 0.8, 0.84, 0.7))
    assert beyond_chance(before, probe(1000, 0.8, 0.86, 0.7))


def test_nothing_is_known_before_two_doublings():
    curve = [probe(500, 0.8, 0.8, 0.7), probe(1000, 0.8, 0.8, 0.7)]
    assert raised(0.85, curve, 64_000) == 1
    assert raised(0.85, [*curve, probe(2000, 0.8, 0.8, 0.7)], 64_000) == 0.85


def test_the_larger_of_two_rises_is_added_for_every_doubling_to_come():
    curve = [probe(500, 0.7, 0.7, 0.6), probe(1000, 0.7, 0.72, 0.6), probe(2000, 0.7, 0.71, 0.6)]
    assert raised(0.75, curve, 64_000) == pytest.approx(0.75 + 0.02 * 5)


def test_the_test_accuracy_may_grow_on_as_it_did():
    curve = [probe(500, 0.7, 0.7, 0.6), probe(1000, 0.7, 0.7, 0.63), probe(2000, 0.7, 0.7, 0.65)]
    assert raised(0.75, curve, 64_000) == pytest.approx(0.65 + 0.03 * 5)


def test_other_test_rows_are_no_growth():
    curve = [
        Probe(rows=500 * 2**k, test_rows=1000 * 2**k, train_correct=400 * 2**k,
              half_correct=200 * 2**k, test_correct=right, half_test_correct=half)
        for k, right, half in ((0, 700, 350), (1, 1450, 700), (2, 2900, 1450))
    ]  # fmt: skip
    assert raised(0.8, curve, 64_000) == 0.8


@pytest.mark.parametrize(
    "shape", [(0.02,) * 7, (0.03, 0.02, 0.01, 0, 0, 0, 0), (0, 0.01, 0.01, 0)]
)
def test_the_bound_holds_where_later_rises_are_no_larger(shape):
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
    with pytest.warns(FitnessWarning, match=r"configuration 2 \(simulated\) fits \d+ rows worse"):
        events, bench = selected()
    assert bench.champion == 2
    assert {event.configuration for event in of(events, FitnessBroken)} == {2}
    assert events[-1].metrics["unfit_configurations"] == 1
    first = of(events, FitnessBroken)[0]
    assert first.rise == pytest.approx(0.025, abs=0.002)
    assert "rose by 0.02" in first.words(str)[1]


def test_the_papers_form_drops_it_unseen():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        events, bench = selected("paper")
    assert bench.champion == 1
    assert not of(events, FitnessBroken)


@pytest.mark.filterwarnings("ignore::algorithms.abc_selection.fitness.FitnessWarning")
def test_nobody_is_dropped_after_fewer_than_three_samples():
    events, _ = selected(epsilon=0.1)
    probed = of(events, ProbeFinished)
    for dropped in of(events, Eliminated):
        sizes = [p.rows for p in probed if p.configuration == dropped.configuration]
        assert len(sizes) >= 3 or 64_000 in sizes


def test_fit_configurations_warn_of_nothing():
    bench = SamplesBench(SimulatedLearners((0.6, 0.8, 0.82), 64_000, 16_000, seed=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        events = list(play("abc", ABC(), bench, seed=0))
    assert not of(events, FitnessBroken)
    assert "unfit_configurations" not in events[-1].metrics

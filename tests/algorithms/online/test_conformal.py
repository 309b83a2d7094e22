"""Intervals where the answer is known, and the theorems, tried to be broken."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.online.conformal import HIGHEST, LEVELS, C, Intervals, allowed_misses
from leaseboard.algorithms.online.conformal_steps import SCORES, STEERED, TAIL, WINDOW


def step(intervals, label, prediction=0.0):
    intervals.follow(np.float32(label), np.float32(prediction))


def learned(labels, predictions=None, levels=LEVELS):
    intervals, labels = Intervals(levels), np.asarray(labels, dtype=np.float32)
    predictions = np.zeros(len(labels)) if predictions is None else predictions
    predictions = np.asarray(predictions, dtype=np.float32)
    for one in zip(labels, predictions, strict=True):
        intervals.follow(*one)
    return intervals


def halves(intervals, prediction=0.0):
    return np.array(
        [intervals.around(prediction, level)[1] - prediction for level in intervals.levels]
    )


@pytest.mark.parametrize("level", [300.0, -300.0])
def test_an_answer_that_comes_later_is_learned_by_its_distance(level):
    labels = level + np.random.default_rng(1).normal(size=400)
    at_once, later = Intervals(), Intervals(later=True)
    for label in labels:
        asked = later.ask(level)
        later.update(label, level, asked, 0)
        at_once.follow(label, level)
    assert halves(later, level) == pytest.approx(halves(at_once, level))
    assert 0.3 < halves(later, level)[0] < 1.0


def test_metrics_of_intervals_are_counts_of_what_came_after_the_first_thousand():
    """Nine in ten are covered by intervals of labels that are uniform."""
    labels = np.random.default_rng(2).uniform(-1, 1, 4 * WINDOW)
    intervals, held, widths = Intervals(), [], []
    for label in labels.astype(np.float32):
        low, high = intervals.around(0.0, 0.9)
        held.append(low <= label <= high)
        widths.append(high - low)
        step(intervals, label)
        if len(held) == 2 * WINDOW - 1:
            assert intervals.notes(0.5).keys() == {
                "coverage", "unbounded_intervals", "interval_width"
            }  # fmt: skip
    covered = np.array(held[WINDOW:])
    found = intervals.notes(0.5)
    assert found["coverage"] == covered.mean()
    assert found["unbounded_intervals"] == 0.0
    assert found["interval_width"] == pytest.approx(2 * np.mean(widths[WINDOW:]), rel=1e-5)
    missed = worst(~covered[:, None])[0]
    assert found["coverage_in_worst_window"] == pytest.approx(1 - missed / WINDOW)


def worst(missed, window=WINDOW):
    """Return the most misses in a window, by level, of an array of shape (n, n_levels)."""
    total = np.concatenate((np.zeros((1, missed.shape[1])), np.cumsum(missed, axis=0)))
    return (total[window:] - total[:-window]).max(axis=0)


@pytest.mark.parametrize("n", [40, 3 * SCORES])
def test_half_a_width_is_the_quantile_of_the_scores_that_its_level_asks_for(n):
    """By NumPy's quantiles of both kinds of scores, and beyond the largest by the power of α."""
    rng = np.random.default_rng(5)
    labels, predictions = rng.normal(size=(2, n)).astype(np.float32)
    intervals = learned(labels * np.exp(predictions / 2), predictions)
    asked = intervals.ask(0.7)
    local, found, held = asked[4], asked[5:].reshape(-1, 3), min(n, SCORES)
    for scores, factor, kind in ((intervals.scores[0], 1.0, 1), (intervals.scores[1], local, 2)):
        for level, half in zip(intervals.tracked, found[:, kind], strict=True):
            steered, seen = level[STEERED], scores[:held]
            tail = max(1.0, 1 / ((held + 1) * steered)) ** TAIL
            expected = np.quantile(seen, 1 - steered, method="weibull") * tail * factor
            assert half == pytest.approx(expected if math.isfinite(half) else math.inf, rel=1e-9)
    kinds = np.where(intervals.tracked[:, 2] < intervals.tracked[:, 1], 2, 1)
    assert found[:, 0].tolist() == [row[kind] for row, kind in zip(found, kinds, strict=True)]
    assert intervals.alphas == pytest.approx([0.5, 0.2, 0.1, 0.05, 0.01])
    assert Intervals().tracked[:, STEERED].tolist() == intervals.alphas.tolist()
    assert Intervals().most.tolist() == [550, 250, 150, 100, 60]
    assert np.isinf(Intervals(later=True).most).all()
    assert pytest.approx(1) == (SCORES + 1) * (1 - HIGHEST)  # the largest of all scores


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(1, 400), st.floats(0, 1), st.floats(1e-3, 1e3)), min_size=1),
    st.integers(0, 4),
    st.integers(0, 2**32 - 1),
)
def test_no_labels_break_the_bound_for_windows(phases, aim, seed):
    """An adversary sees the interval of one level before it chooses the label."""
    rng, intervals, missed = np.random.default_rng(seed), Intervals(), []
    for length, probability, factor in phases:
        for _ in range(length):
            half = halves(intervals)
            beyond = half[aim] * (1 + factor) + 1e-6
            hit = rng.random() < probability and beyond < 1e30
            label = beyond if hit else rng.random() * min(half[aim], 1.0)
            missed.append(np.float64(np.float32(label)) > half)
            step(intervals, label)

    most = [allowed_misses(alpha) for alpha in intervals.alphas]
    if len(missed) >= WINDOW:
        assert (worst(np.array(missed)) <= most).all()


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.floats(0, 1)), min_size=1, max_size=20),
    st.integers(0, 4),
    st.sampled_from([0, 1, 20, 200]),
    st.integers(0, 2**32 - 1),
)
def test_no_labels_break_the_long_run_whenever_they_come(phases, aim, delay, seed):
    rng, intervals = np.random.default_rng(seed), Intervals(later=True)
    past = np.abs(rng.normal(size=SCORES)).tolist()
    for label in past:
        step(intervals, label)
    waiting, missed, at_one, largest = [], [], [], 1.0
    for length, probability in phases:
        for _ in range(length):
            half, tops = halves(intervals), intervals.ordered[:, -1].copy()
            most = min(half[aim] * 1.01, max(past[-SCORES:]))
            past.append(most if rng.random() < probability else 1e-3)
            waiting.append((past[-1], half, tops, intervals.ask(0.0)))
            if len(waiting) <= delay:
                continue
            label, half, tops, asked = waiting.pop(0)
            missed.append(label > half)
            intervals.update(label, 0.0, asked, delay)
            latest = intervals.scores[:, int(intervals.running[0] - 1) % SCORES]
            largest = max(largest, (latest / tops).max())
            at_one.append(intervals.tracked[:, STEERED] == 1.0)

    rate = C / (1 + 2 * C * intervals.alphas * delay)
    bound = (math.log(SCORES + 1) + math.log(largest) / TAIL) / rate + 1 + delay
    excess = np.sum(missed, axis=0) - len(missed) * intervals.alphas
    assert (excess <= bound).all()
    assert (excess >= -bound - intervals.alphas * np.sum(at_one, axis=0)).all()

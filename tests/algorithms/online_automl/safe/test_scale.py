"""Range, mean and deviation of labels by hand, and what few strange labels can do: nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.online_automl.safe.scale import (
    HIGH,
    LOW,
    MEAN,
    MOST_STRAYS,
    NEAR,
    SHOWN,
    STABLE_FROM,
    STEADY,
    clipped,
    deviation,
    learn_label,
    new_scale,
)

LABELS = st.lists(st.floats(-1e9, 1e9, width=32), min_size=2, max_size=60)


def scale_of(labels):
    scale = new_scale()
    for label in labels:
        learn_label(float(label), scale)
    return scale


@pytest.mark.parametrize(("apart", "extends"), [(1, True), (NEAR, True), (NEAR + 1, False)])
def test_only_another_outlier_that_is_near_confirms_one(apart, extends):
    labels = [1.0, 2.0, 3.0, 2.0] * 10
    strays = [*labels, 1e6] * MOST_STRAYS
    scale = scale_of([*strays, *labels, 1e6, *labels[: apart - 1], 9e5])

    assert (scale[HIGH] > 1e6) == extends


@given(LABELS)
def test_mean_and_deviation_are_those_of_the_labels_shown(labels):
    scale, shown = new_scale(), []
    for label in labels:
        shown.append(clipped(label, scale))
        learn_label(label, scale)
        if len(shown) == STABLE_FROM:
            shown = [min(max(one, scale[LOW]), scale[HIGH]) for one in labels[:STABLE_FROM]]
    size = max(map(abs, shown))

    assert scale[MEAN] == pytest.approx(np.mean(shown), rel=1e-9, abs=1e-9 * size)
    assert deviation(scale) == pytest.approx(np.std(shown), rel=1e-6, abs=1e-6 * size)


@given(LABELS)
def test_the_range_never_shrinks_from_the_fourth_label_on(labels):
    scale, low, high = new_scale(), math.inf, -math.inf
    for n, label in enumerate(labels, start=1):
        learn_label(label, scale)
        if n >= STABLE_FROM:
            assert scale[LOW] <= low
            assert scale[HIGH] >= high
            low, high = scale[LOW], scale[HIGH]


@given(LABELS, st.integers(-20, 20))
def test_the_scale_follows_the_unit(labels, power):
    factor = 2.0**power
    once, scaled = scale_of(labels), scale_of([factor * label for label in labels])

    assert scaled[[LOW, HIGH, MEAN]].tolist() == (factor * once[[LOW, HIGH, MEAN]]).tolist()
    assert deviation(scaled) == pytest.approx(factor * deviation(once), abs=1e-300)


ORDINARY = np.random.default_rng(0).normal(size=400).cumsum()
"""A walk: its range is hundreds of residuals wide."""


@given(
    st.lists(
        st.tuples(
            st.integers(STEADY, len(ORDINARY)),
            st.floats(3.0, 37.0).map(lambda power: 10.0**power),
            st.sampled_from([-1.0, 1.0]),
        ),
        min_size=1,
        max_size=MOST_STRAYS,
    )
)
def test_absurd_labels_are_shown_as_the_label_before_wherever_they_are(strays):
    labels = [(float(label), False) for label in ORDINARY]
    for at, size, sign in sorted(strays, reverse=True):
        labels.insert(at, (sign * size, True))
    scale, clean = new_scale(), new_scale()
    for label, absurd in labels:
        if absurd:
            assert clipped(label, scale) == scale[SHOWN] == clean[SHOWN]
        else:
            assert clipped(label, scale) == clipped(label, clean)
            learn_label(label, clean)
        learn_label(label, scale)

    assert scale[LOW : HIGH + 1].tolist() == clean[LOW : HIGH + 1].tolist()
    assert deviation(scale) == pytest.approx(deviation(clean), rel=0.02)


@pytest.mark.parametrize("level", [1e3, -1e6])
def test_a_level_that_stays_is_shown_in_full_from_the_fourth_label_on(level):
    scale, shown = scale_of(ORDINARY), []
    for label in ORDINARY[:7] + level:
        shown.append(clipped(label, scale))
        learn_label(label, scale)

    assert shown[:MOST_STRAYS] == [ORDINARY[-1]] * MOST_STRAYS
    assert shown[MOST_STRAYS:] == (ORDINARY[:7] + level)[MOST_STRAYS:].tolist()

    for label in ORDINARY[7 : 7 + STEADY] + level:
        learn_label(label, scale)
    assert clipped(-1e3 * level, scale) == scale[SHOWN]  # a stray again


@pytest.mark.parametrize(("apart", "strays"), [(200, 3), (500, 8)])
def test_rare_events_are_learned_if_they_are_not_too_rare(apart, strays):
    scale, found = scale_of(ORDINARY), []
    for _ in range(8):
        found.append(clipped(1e6, scale) != scale[HIGH])
        learn_label(1e6, scale)
        for label in np.resize(ORDINARY, apart - 1):
            learn_label(label, scale)

    assert found == [True] * strays + [False] * (8 - strays)

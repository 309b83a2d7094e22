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
    SHOWN,
    STABLE_FROM,
    STEADY,
    clipped,
    deviation,
    learn_label,
    new_scale,
)

LABELS = st.lists(st.floats(-1e9, 1e9, width=32), min_size=2, max_size=60)


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

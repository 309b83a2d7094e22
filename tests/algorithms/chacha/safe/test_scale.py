"""Range, mean and deviation of labels by hand, and what one strange label can do: nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.chacha.safe.scale import (
    COUNT,
    HIGH,
    LOW,
    MARGIN,
    MEAN,
    NEAR,
    SETTLED,
    admit,
    clipped,
    deviation,
    new_scale,
)

LABELS = st.lists(st.floats(-1e9, 1e9, width=32), min_size=2, max_size=60)


def scale_of(labels):
    scale = new_scale()
    for label in labels:
        admit(float(label), scale)
    return scale


def test_no_label_is_clipped_before_the_first():
    assert clipped(7.0, new_scale()) == 7.0
    assert deviation(new_scale()) == 0.0


def test_of_three_labels_nobody_can_say_which_one_is_strange():
    scale = scale_of([5.0])

    assert scale[[COUNT, LOW, HIGH, MEAN]].tolist() == [1.0, 5.0, 5.0, 5.0]
    assert deviation(scale) == 0.0
    assert clipped(9.0, scale) == clipped(9.0, scale_of([5.0, 4.0])) == 9.0


@pytest.mark.parametrize("place", range(4))
def test_an_outlier_among_the_first_four_is_found_by_the_fourth(place):
    labels = [1.0, 2.0, 3.0]
    labels.insert(place, 1e6)
    scale = scale_of(labels)

    assert scale[[LOW, HIGH]].tolist() == [2 - MARGIN, 3 + MARGIN]
    shown = [1.0, 2.0, 3.0, 6.0]
    assert (scale[MEAN], deviation(scale)) == (np.mean(shown), np.std(shown))


def test_of_two_labels_both_count():
    scale = scale_of([5.0, 1.0])

    assert scale[[LOW, HIGH]].tolist() == [1 - MARGIN * 4, 5 + MARGIN * 4]
    assert scale[MEAN] == 3.0
    assert deviation(scale) == 2.0


def test_then_the_range_is_that_of_the_second_least_to_the_second_largest():
    # 4 and 20 are the second ones: the width is 16.
    assert scale_of([0.0, 4.0, 20.0, 24.0])[[LOW, HIGH]].tolist() == [-44.0, 68.0]


@pytest.mark.parametrize("outlier", [1e6, -1e6, 3.4e38])
def test_one_outlier_moves_nothing_but_its_clipped_self(outlier):
    labels = [1.0, 3.0, 2.0, 3.0, 1.0]
    before, after = scale_of(labels), scale_of([*labels, outlier])
    shown = clipped(outlier, before)

    assert after[[LOW, HIGH]].tolist() == before[[LOW, HIGH]].tolist()
    assert shown == (before[HIGH] if outlier > 0 else before[LOW])
    assert after[MEAN] == pytest.approx((10 + shown) / 6)
    assert deviation(after) == pytest.approx(np.std([*labels, shown]))


def test_the_second_outlier_extends_the_range():
    scale = scale_of([1.0, 2.0, 3.0, 2.0, 1e6, 9e5])

    assert scale[HIGH] == 9e5 + MARGIN * (9e5 - 2.0)
    assert clipped(1e6, scale) == 1e6


def test_outliers_on_opposite_sides_are_each_alone():
    labels = [1.0, 3.0, 2.0, 3.0, 1.0]
    before, after = scale_of(labels), scale_of([*labels, 1e6, -1e6])

    assert after[[LOW, HIGH]].tolist() == before[[LOW, HIGH]].tolist()


@pytest.mark.parametrize(("apart", "extends"), [(1, True), (NEAR, True), (NEAR + 1, False)])
def test_only_another_outlier_that_is_near_confirms_one(apart, extends):
    labels = [1.0, 2.0, 3.0, 2.0] * 10
    scale = scale_of([*labels, 1e6, *labels[: apart - 1], 9e5])

    assert (scale[HIGH] > 1e6) == extends


def test_outliers_far_apart_never_add_up():
    labels = ([1.0, 2.0, 3.0, 2.0] * 3 + [1e6]) * 50
    assert scale_of(labels)[[LOW, HIGH]].tolist() == [1 - 2 * MARGIN, 3 + 2 * MARGIN]


def test_a_new_level_is_the_range_after_two_labels():
    scale = scale_of([1.0, 2.0, 3.0, 2.0, 101.0, 102.0])
    assert clipped(103.0, scale) == 103.0


def test_equal_labels_have_no_width_until_another_comes_twice():
    scale = scale_of([3.0, 3.0, 3.0, 5.0])
    assert scale[[LOW, HIGH]].tolist() == [3.0, 3.0]
    assert deviation(scale) == 0.0

    admit(5.0, scale)
    assert clipped(5.0, scale) == 3.0
    admit(5.0, scale)
    assert scale[[LOW, HIGH]].tolist() == [3 - MARGIN * 2, 5 + MARGIN * 2]


@given(LABELS)
def test_mean_and_deviation_are_those_of_the_labels_shown(labels):
    scale, shown = new_scale(), []
    for label in labels:
        shown.append(clipped(label, scale))
        admit(label, scale)
        if len(shown) == SETTLED:
            shown = [min(max(one, scale[LOW]), scale[HIGH]) for one in labels[:SETTLED]]
    size = max(map(abs, shown))

    assert scale[MEAN] == pytest.approx(np.mean(shown), rel=1e-9, abs=1e-9 * size)
    assert deviation(scale) == pytest.approx(np.std(shown), rel=1e-6, abs=1e-6 * size)


@given(LABELS)
def test_the_range_never_shrinks_from_the_fourth_label_on(labels):
    scale, low, high = new_scale(), math.inf, -math.inf
    for n, label in enumerate(labels, start=1):
        admit(label, scale)
        if n >= SETTLED:
            assert scale[LOW] <= low
            assert scale[HIGH] >= high
            low, high = scale[LOW], scale[HIGH]


@given(LABELS, st.integers(-20, 20))
def test_the_scale_follows_the_unit(labels, power):
    factor = 2.0**power
    once, scaled = scale_of(labels), scale_of([factor * label for label in labels])

    assert scaled[[LOW, HIGH, MEAN]].tolist() == (factor * once[[LOW, HIGH, MEAN]]).tolist()
    assert deviation(scaled) == pytest.approx(factor * deviation(once), abs=1e-300)

"""Feature encodings and simple models by hand, and against the scalar predictors."""

import numpy as np
import pytest

from leaseboard.algorithms.online_automl.safe.expansion import (
    KNOTS,
    LAST,
    MEAN_SO_FAR,
    N_PAST,
    NARROW,
    RIDGE,
    SEASON,
    STRANGE,
    FeatureExpansion,
    Row,
)
from leaseboard.algorithms.reference.naive import LastLabel, RunningMean, SeasonalLast
from leaseboard.algorithms.reference.ridge import MOST_RIDGE, OnlineRidge


def sample(n=200, d=3, seed=0):
    """Return labels that no range clips but the second: the first two are the extremes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(2, 3, (n, d)).astype(np.float32)
    y = x @ np.arange(1, d + 1) + 5 * np.sin(np.arange(n) * 2 * np.pi / 7)
    y += rng.normal(size=n)
    y[:4] = -60, 60, -60, 60
    return x, y.astype(np.float32)


USEFUL = (1, 7, 30, 58)


def many(n, d, seed=0, classes=False):
    """Return examples of many features, few of them `USEFUL`, the last one by its square."""
    rng = np.random.default_rng(seed)
    x = rng.normal(2, 3, (n, d)).astype(np.float32)
    z = (x - 2) / 3
    y = 2 * z[:, 1] - 2 * z[:, 7] + 1.5 * z[:, 30] + 1.5 * z[:, 58] ** 2 + rng.normal(size=n)
    y = np.where(y > 1, 1, -1) if classes else y
    return x, y.astype(np.float32)


def advanced(expansion, x, y):
    """Return what learning writes: wide rows, simple models, labels as shown, limits."""
    row, found = Row(np.zeros(x.shape[1], np.float32)), []
    row.learns, row.importance = True, 1.0
    for example, label in zip(x, y, strict=True):
        row.example, row.label = example, label
        expansion.expand(row)
        found.append((np.array(row.wide), np.array(row.values), row.shown, [row.low, row.high]))
    return [np.array(each) for each in zip(*found, strict=True)]


def test_later_labels_change_nothing_before():
    x, y = sample(100)
    other = y.copy()
    other[50:] = np.random.default_rng(1).normal(0, 1e5, 50)
    for one, two in zip(
        advanced(FeatureExpansion(3), x, y), advanced(FeatureExpansion(3), x, other), strict=True
    ):
        assert np.array_equal(one[:50], two[:50])
    at_50 = [written[50].tolist() for written in advanced(FeatureExpansion(3), x, other)]
    assert [written[50].tolist() for written in advanced(FeatureExpansion(3), x, y)][:2] == at_50[
        :2
    ]


def test_features_are_standardised_by_the_rows_before():
    x = np.array([[1, 7], [3, 7], [8, 7], [4, 9]], np.float32)
    wide, *_ = advanced(FeatureExpansion(2), x, np.array([0, 1, 0, 1], np.float32))
    standard, raw = wide[:, N_PAST : N_PAST + 2], wide[:, N_PAST + 2 : N_PAST + 4]

    # Before the third row mean 2 and deviation 1, before the fourth 4 and √(26/3).
    assert standard[:, 0].tolist() == pytest.approx([0, 0, 6, 0])
    assert standard[:, 1].tolist() == [0, 0, 0, 0]  # has not varied before
    assert raw.tolist() == x.tolist()


def test_what_is_linear_in_pieces_may_bend_at_each_knot():
    heights = np.array([4, 0, 1, -3, 2], np.float32)
    expansion, x = FeatureExpansion(1), np.array([[-1], [1]] * 50, np.float32)
    advanced(expansion, x, x[:, 0])
    for value in np.linspace(-3, 3, 61):
        wide = np.asarray(expansion.look(np.float32([value])).wide)
        pieces = wide[N_PAST + 2 : N_PAST + 2 + len(KNOTS)]
        assert pieces @ heights == pytest.approx(np.interp(wide[N_PAST], KNOTS, heights), abs=1e-5)
        assert np.count_nonzero(pieces) <= 2


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_strange_feature_explains_a_strange_label(sign):
    x, y = sample(80)
    y[40] = 1e6
    deviations = x[:40, 0].astype(float).std()
    for far, explained in ((STRANGE - 0.01, False), (STRANGE + 0.01, True)):
        x[40, 0] = x[:40, 0].mean() + sign * far * deviations
        _, _, shown, limits = advanced(FeatureExpansion(3), x, y)
        assert shown[40] == (limits[40, 1] if explained else y[39])


def test_simple_models_are_the_reference_predictors():
    x, y = sample(600)
    _, simple, shown, _ = advanced(FeatureExpansion(3), x, y)
    assert shown.tolist() == y.tolist()
    references = {MEAN_SO_FAR: RunningMean(), LAST: LastLabel(), SEASON: SeasonalLast()}
    for simple_model, reference in references.items():
        expected = reference.predictor(3, "regression").learn_many(x, y)
        np.testing.assert_allclose(simple[1:, simple_model], expected[1:], rtol=1e-5, atol=1e-4)
        assert simple[0, simple_model] == expected[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, NARROW, NARROW + 1, 300, MOST_RIDGE, MOST_RIDGE + 1])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_ridge_is_that_of_the_leaderboard_at_every_width(d, task):
    classes = task == "classification"
    x, y = many(230, max(d, 59), classes=classes)
    x, y[:4] = x[:, -d:], (-1, 1, -1, 1) if classes else (-60, 60, -60, 60)
    _, simple, shown, _ = advanced(FeatureExpansion(d, classes), x, y)
    reported = OnlineRidge().predictor(d, task).learn_many(x, y)

    assert shown.tolist() == y.tolist()
    low, high = np.minimum.accumulate(y), np.maximum.accumulate(y)
    found, expected = simple[1:, RIDGE], np.tanh(reported[1:] / 2) if classes else reported[1:]
    if not classes:
        found, expected = (np.clip(one, low[:-1], high[:-1]) for one in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_columns_that_came_later_are_as_if_they_had_been_0_before():
    x, y = sample(150)
    padded = np.column_stack([x, np.zeros(150), np.zeros(150)]).astype(np.float32)
    padded[60:, 3:] = np.random.default_rng(1).normal(size=(90, 2))
    expansion, whole = FeatureExpansion(3), FeatureExpansion(5)
    advanced(expansion, x[:60], y[:60])
    expansion.grow(5)
    _, grown, *_ = advanced(expansion, padded[60:], y[60:])
    _, expected, *_ = advanced(whole, padded, y)

    np.testing.assert_allclose(grown, expected[60:], rtol=1e-6)

"""Boosted trees: what LightGBM fits, without it, within their memory."""

import lightgbm
import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.members import boosted
from leaseboard.algorithms.online_automl.members.boosted import BoostedTrees
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from leaseboard.algorithms.plain import values_of


def stream(n, n_classes=0, d=3):
    rows = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    target = np.where(rows[:, 0] > 0, 50 + 9 * rows[:, 1], -rows[:, 2])
    if n_classes:
        target = np.digitize(target, np.quantile(target, np.arange(1, n_classes) / n_classes))
    return rows, target.astype(float)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_they_predict_what_lightgbm_does(n_classes):
    rows, targets = stream(399, n_classes)
    found = BoostedTrees(3, n_classes).learn(rows, targets)

    assert np.isnan(found[: boosted.FIRST]).all()
    first = targets[: boosted.FIRST]
    rounds = 100 if n_classes < 3 else 66
    kind = lightgbm.LGBMClassifier if n_classes else lightgbm.LGBMRegressor
    other = kind(
        n_estimators=rounds, learning_rate=10 / rounds, deterministic=True, force_row_wise=True,
        n_jobs=1, seed=0, verbosity=-1, reg_lambda=1,
    )  # fmt: skip
    mean, deviation = (0.0, 1.0) if n_classes else (first.mean(), first.std())
    other.fit(rows[: boosted.FIRST], (first - mean) / deviation)
    said = other.predict_proba(rows[200:]) if n_classes else other.predict(rows[200:])[:, None]
    np.testing.assert_allclose(found[200:], mean + deviation * said, rtol=1e-6, atol=1e-9)


def test_the_window_is_bounded_and_fits_go_by_the_last_rows(monkeypatch):
    monkeypatch.setattr(boosted, "MOST", 300)
    rows, targets = stream(1000)
    member, fits = BoostedTrees(3, 0), []
    fit = boosted.fit
    monkeypatch.setattr(boosted, "fit", lambda *given: fits.append(given) or fit(*given))
    member.learn(rows, targets)

    ends = (200, 400, 700, 1000)
    for (seen, *_), end in zip(fits, ends, strict=True):
        np.testing.assert_array_equal(seen, rows[max(0, end - 300) : end])
    assert np.asarray(member.window).nbytes == 300 * 3 * 4


def test_what_grows_keeps_the_rows_and_trees_are_silent_about_a_new_class_alone():
    rows, targets = stream(500, 3)
    member = BoostedTrees(3, 3)
    member.learn(rows, targets)
    before = member.learn(rows[:1], targets[:1])
    member.grow(5, 4)
    wide = np.zeros((500, 5), np.float32)
    wide[:, :3] = rows
    np.testing.assert_array_equal(np.asarray(member.window)[:500], wide)
    np.testing.assert_array_equal(
        member.learn(wide[:1], targets[:1]), np.pad(before, ((0, 0), (0, 1)))
    )

    found = member.learn(wide, np.where(rows[:, 0] > 1.0, 3.0, targets))  # with a fit
    assert (found[400:, 3] > 0.0).all()


def test_a_model_whose_first_row_has_no_column_is_saved_and_goes_on(tmp_path):
    model = OnlineAutoMLRegressor(b=3)
    model.learn_one({}, 1.0)
    for t in range(300):
        model.learn_one({"a": t % 7}, float(t % 7))
    model.save(tmp_path / "model")
    assert OnlineAutoMLRegressor.load(tmp_path / "model").dump() == model.dump()


@pytest.mark.parametrize("n_classes", [5, 8])
def test_one_row_of_a_class_does_not_spoil_the_others(n_classes):
    rows, targets = stream(3000, n_classes, d=5)
    targets[50] = n_classes
    found = BoostedTrees(5, n_classes + 1).learn(rows, targets)[1601:]
    alone = BoostedTrees(5, n_classes).learn(rows[51:], targets[51:])[1550:]

    def loss(said, seen):
        shares = said[np.arange(len(said)), seen.astype(int)]
        return -np.log(np.maximum(shares, 1e-9)).mean()

    assert loss(found, targets[1601:]) < 0.05 + loss(alone, targets[1601:])


def test_after_a_pause_it_learns_what_is_new():
    """Four thousand rows of noise, so that the lease ends; then what trees find at once."""
    random = np.random.default_rng(0)
    rows, targets = stream(12_000, d=5)
    targets[:4200] = random.normal(size=4200) * targets.std()
    late = OnlineAutoMLRegressor(b=3)
    late.learn_many(rows, targets)

    leased = {each["member"]: each["has_lease"] for each in late.members}
    assert leased["boosted trees"]


MODELS = {
    "numbers": (OnlineAutoMLRegressor, 0),
    "two classes": (OnlineAutoMLClassifier, 2),
    "classes": (OnlineAutoMLClassifier, 3),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_saved_model_goes_on_and_without_lightgbm_it_predicts_alone(kind, tmp_path, monkeypatch):
    make, n_classes = MODELS[kind]
    rows, targets = stream(700, n_classes)
    model = make(b=3)
    model.learn_many(rows[:450], targets[:450])
    model.save(tmp_path / "model")
    again = make.load(tmp_path / "model")
    for one in (model, again):
        one.learn_many(rows[450:650], targets[450:650])
    expected = [*model.predict_many(rows[650:])]
    assert [*again.predict_many(rows[650:])] == expected
    model.save(tmp_path / "model")

    monkeypatch.setattr(boosted, "library", lambda: None)
    alone = make.load(tmp_path / "model")
    assert [*alone.predict_many(rows[650:])] == expected
    for learn in (
        lambda: alone.learn_one(dict(enumerate(rows[0].tolist())), float(targets[0])),
        lambda: alone.learn_many(rows[:3], targets[:3]),
    ):
        with pytest.raises(UsageError, match="pip install lightgbm"):
            learn()
    assert [*alone.predict_many(rows[650:])] == expected


@pytest.mark.parametrize("kind", MODELS)
def test_forecasts_know_what_came_after_the_last_fit_and_all_else_stays(kind, tmp_path):
    """There are no rows of one half before the last fit; those of `later` are of that half."""
    make, n_classes = MODELS[kind]
    rows, targets = stream(1500, n_classes)
    seen = np.concatenate([np.flatnonzero(rows[:600, 0] < 0)[:250], np.arange(600, 1100)])
    later = 1200 + np.flatnonzero(rows[1200:, 0] > 0)
    model, other = make(b=3), make(b=3)
    for one in (model, other):
        one.learn_many(rows[seen], targets[seen])
    model.fit_ahead()
    model.save(tmp_path / "model")

    def lost(one):
        if not n_classes:
            return float(np.mean((one.forecast_many(rows[later]) - targets[later]) ** 2))
        places = [list(one.classes).index(y) for y in targets[later]]
        shares = np.asarray(one.forecast_proba_many(rows[later]))
        return float(-np.log(shares[np.arange(len(later)), places]).mean())

    assert lost(model) < lost(other)
    assert lost(make.load(tmp_path / "model")) == lost(model)
    for one in (model, other):
        one.learn_many(rows[1100:1200], targets[1100:1200])
    assert [*model.predict_many(rows[1200:])] == [*other.predict_many(rows[1200:])]
    assert lost(model) == lost(other)  # what was fitted ends with the next example


def test_the_hours_and_weekdays_of_a_date_are_as_good_as_numbers():
    random = np.random.default_rng(0)
    times = pd.date_range("2026-01-01", periods=700, freq="h").repeat(4)
    x = pd.DataFrame({"place": random.integers(4, size=2800), "hour": times.hour})
    x["weekday"] = times.day_of_week
    peak = (x["hour"] + 3 * x["place"]) % 24 < 9
    y = 50.0 * (peak ^ (x["weekday"] > 4)) + random.normal(size=2800)
    errors = []
    for frame in (x, x[["place"]].assign(time=times)):
        model = OnlineAutoMLRegressor()
        model.learn_many(frame[:2400], y[:2400])
        model.fit_ahead()
        errors.append(((model.forecast_many(frame[2400:]) - y[2400:]) ** 2).mean())
    assert max(errors) < 10


def test_before_the_first_fit_there_are_no_trees_for_forecasts():
    member = BoostedTrees(3, 0)
    for n_rows in (0, boosted.FIRST - 1):
        member.learn(*stream(n_rows))
        member.fit_ahead()
        assert member.ahead == ()


def test_a_model_that_begins_without_lightgbm_has_none_for_good(tmp_path, monkeypatch):
    rows, targets = stream(500)
    with monkeypatch.context() as patched:
        patched.setattr(boosted, "library", lambda: None)
        model = OnlineAutoMLRegressor(b=3)
        model.learn_many(rows[:300], targets[:300])
        model.save(tmp_path / "model")
    again = OnlineAutoMLRegressor.load(tmp_path / "model")
    again.learn_many(rows[300:], targets[300:])

    assert not {each["member"]: each["has_lease"] for each in again.members}["boosted trees"]
    pool = again._race.ensemble.pool
    assert not pool.boosts
    assert not len(values_of(pool.members[3], ["roots"])["roots"])


def test_what_begins_to_predict_has_little_weight_before_it_has_shown_anything():
    """Of a random walk the trees predict the mean, which is far from where it is."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(boosted.FIRST, 3)).astype(np.float32)
    model = OnlineAutoMLRegressor()
    model.learn_many(rows, np.cumsum(random.normal(size=boosted.FIRST)))

    assert {each["member"]: each["weight"] for each in model.members}["boosted trees"] < 0.05

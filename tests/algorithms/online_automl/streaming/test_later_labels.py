"""Labels that come later, in any order, twice or never; and what a model knows after them."""

import datetime as dt
import math
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)

OF_PENDING = {"pending", "max_pending", "late"}
SMALL = {"b": 4}


def examples(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3))
    labels = rows[:, 0] + np.cumsum(rng.normal(0, 0.1, n))
    return [dict(zip("abc", row, strict=True)) for row in rows.tolist()], labels.tolist()


def known(model, tmp_path):
    """Return the bytes of what a model saves, but for what is pending."""
    model.save(tmp_path / "model")
    kind, state = plain.load((tmp_path / "model").read_bytes(), "it")
    rest = plain.dump(kind, {k: v for k, v in state.items() if k not in OF_PENDING})
    (tmp_path / "rest").write_bytes(rest)
    return (tmp_path / "rest").read_bytes()


def whole(model, tmp_path):
    model.save(tmp_path / "model")
    return (tmp_path / "model").read_bytes()


@pytest.fixture(scope="module", params=[0.0, 0.1], ids=["all", "some never"])
def learned(request):
    """Return which labels come, and a model that learned them at once."""
    x, y = examples(700)
    comes = np.random.default_rng(1).random(700) >= request.param
    model = OnlineAutoMLRegressor(**SMALL)
    for t in np.flatnonzero(comes):
        model.learn_one(x[t], y[t])
    return comes, model


@pytest.mark.parametrize("delay", [0, 100, 500])
def test_the_same_labels_make_the_same_state_whenever_they_come(delay, learned, tmp_path):
    comes, at_once = learned
    x, y = examples(700)
    model = OnlineAutoMLRegressor(max_pending=600, **SMALL)
    for t in range(700 + delay):
        if t < 700:
            model.predict_one(x[t], id=t)
        if t >= delay and comes[t - delay]:
            model.learn_label(t - delay, y[t - delay])

    assert model.n_pending == 700 - comes.sum()
    assert known(model, tmp_path) == known(at_once, tmp_path)


def test_what_waits_is_saved_and_goes_on_exactly(tmp_path):
    x, y = examples(400)
    model = OnlineAutoMLRegressor(max_pending=50, **SMALL)
    for t in range(200):
        model.predict_one(x[t] | {"text": "red", "none": None, "space": {"d": t}}, id=(t, "é"))
        if t % 3:
            model.learn_label((t, "é"), y[t])
    model.save(tmp_path / "saved")
    double = OnlineAutoMLRegressor.load(tmp_path / "saved")

    assert (double.n_pending, double.n_dropped, double.max_pending) == (49, 18, 50)
    for one in (model, double):
        for t in range(198, 51, -3):
            one.learn_label((t, "é"), y[t])
    assert whole(model, tmp_path) == whole(double, tmp_path)


def test_a_copy_need_not_be_kept_of_what_is_handed_over_again(tmp_path):
    x, y = examples(300)
    model, other = OnlineAutoMLRegressor(**SMALL), OnlineAutoMLRegressor(**SMALL)
    for t in range(300):
        assert model.predict_one(x[t], id=t, store_x=t % 2 == 0) == other.predict_one(x[t], id=t)
        assert model.pending_interval(t) == other.pending_interval(t)
        if t == 200:
            model.save(tmp_path / "saved")
            model = OnlineAutoMLRegressor.load(tmp_path / "saved")
        if t >= 50:
            model.learn_label(t - 50, y[t - 50], x=x[t - 50])
            other.learn_label(t - 50, y[t - 50])

    assert known(model, tmp_path) == known(other, tmp_path)
    with pytest.raises(
        UsageError, match="id 251 was predicted with store_x=False: hand its example"
    ):
        model.learn_label(251, 1.0)
    model.learn_label(252, 1.0)
    model.forget_pending()
    assert model.n_pending == 0


def test_a_label_that_waits_is_learned_once_and_others_are_refused(tmp_path):
    x, y = examples(50)
    model = OnlineAutoMLRegressor(**SMALL)
    for t in range(50):
        model.predict_one(x[t], id=t)
    model.learn_label(7, y[7])
    before = whole(model, tmp_path)

    for key in (7, 50, "7"):
        with pytest.raises(UsageError, match=f"id {key!r} waits for no label: .* predict it"):
            model.learn_label(key, 1.0)
        with pytest.raises(UsageError, match=f"id {key!r} waits for no label"):
            model.pending_interval(key)
    with pytest.raises(UsageError, match="id 8 waits for its label already: learn it first"):
        model.predict_one(x[8], id=8)
    for wrong in (math.nan, math.inf, "many", None):
        with pytest.raises((TypeError, ValueError)):
            model.learn_label(8, wrong)
    for wrong in ({"a": math.inf}, {"a": object()}, 3):
        with pytest.raises((TypeError, ValueError)):
            model.predict_one(wrong, id="new")

    assert whole(model, tmp_path) == before
    model.learn_label(8, y[8])
    assert model.examples == 2


IDS = [0, True, 2.5, "é", "", "$tuple", b"x", (), ("a", (1, "b")), np.int64(3),
       np.float32(0.1), frozenset({1}), *np.array(["order 1", "ä"]), *np.array([b"y", b"z"]),
       (np.str_("order 3"), (np.bytes_(b"w"), 4))]  # fmt: skip
NO_IDS = [uuid.UUID(int=1), dt.date(2024, 1, 1), pd.Timestamp("2024"), Decimal("1.5"), object(),
          ("a", uuid.UUID(int=1)), 1j, len, [1], {"a": 1}, (np.array([1, 2]), 1)]  # fmt: skip


@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
def test_every_id_that_is_taken_is_known_to_the_model_that_was_saved(kind, tmp_path):
    model = kind(**SMALL)
    for key in IDS:
        model.predict_one({"a": 1.0}, id=key)
    before = whole(model, tmp_path)
    for key in NO_IDS:
        with pytest.raises((UsageError, TypeError), match=r"is not saved|unhashable"):
            model.predict_one({"a": 1.0}, id=key)
    assert whole(model, tmp_path) == before

    double = kind.load(tmp_path / "model")
    for key in IDS:
        double.learn_label(key, 1.0)
    assert double.n_pending == 0


def test_intervals_of_predictions_that_wait_are_as_wide_as_the_delay_makes_them():
    """A random walk: 50 steps ahead the error is seven times that of one."""
    walk = np.cumsum(np.random.default_rng(3).normal(size=2500))
    model, held, widths = OnlineAutoMLRegressor(**SMALL), [], []
    for t, label in enumerate(walk.tolist()):
        x = {"a": float(t % 7)}
        model.predict_one(x, id=t)
        ends = model.pending_interval(t)
        if t < 50:
            assert ends == (-math.inf, math.inf)
            continue
        if t >= 700:
            held.append(ends[0] <= label <= ends[1])
            widths.append(np.diff(ends)[0] / np.diff(model.predict_interval_one(x))[0])
        model.learn_label(t - 50, walk[t - 50])

    assert 0.88 < np.mean(held) < 0.92
    assert 5 < np.mean(widths) < 10


def test_dates_and_gaps_wait_unchanged_in_memory_and_in_a_file(tmp_path):
    x = {
        "t": dt.datetime(2024, 2, 29, 18),
        "d": dt.date(2024, 3, 1),
        "g": None,
        "n": math.nan,
        "c": "a",
    }
    at_once, later = OnlineAutoMLRegressor(b=3), OnlineAutoMLRegressor(b=3)
    for model in (at_once, later):
        for t in range(40):
            model.learn_one({**x, "g": 1.0 * t, "n": t % 3}, t % 3)
    later.predict_one(x, id="late")
    later.save(tmp_path / "model")
    at_once.learn_one(x, 5.0)
    for model in (later, OnlineAutoMLRegressor.load(tmp_path / "model")):
        model.learn_label("late", 5.0)
        assert model.predict_one(x) == at_once.predict_one(x)
        assert model._features.schema() == at_once._features.schema()

"""Entities that are named: they are predicted by their own labels, whatever the column holds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.safe.scale import HIGH, LOW
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.algorithms.tables.features import BUCKETS, MOST_VALUES

PEOPLE, YEARS = 200, 8


@pytest.fixture(scope="module")
def wages():
    """Return a panel in which each person's wage is a random walk with a drift of its own."""
    rng = np.random.default_rng(0)
    steps = rng.normal(0.5, 1.0, (1, PEOPLE)) + rng.normal(size=(YEARS, PEOPLE))
    order = np.concatenate([year * PEOPLE + rng.permutation(PEOPLE) for year in range(YEARS)])
    frame = pd.DataFrame(
        {
            "person": np.tile(np.arange(PEOPLE), YEARS),
            "year": np.repeat(np.arange(1, 1 + YEARS), PEOPLE),
            "one": rng.normal(size=PEOPLE * YEARS),
            "other": rng.normal(size=PEOPLE * YEARS),
            "wage": (rng.normal(scale=10.0, size=PEOPLE) + np.cumsum(steps, axis=0)).ravel(),
        }
    )
    return frame.iloc[order].reset_index(drop=True)


def as_dates(frame):
    return frame.assign(year=pd.to_datetime((2000 + frame["year"]).astype(str)))


def as_texts(frame):
    return frame.assign(person="p" + frame["person"].astype(str))


@pytest.mark.parametrize("form", [pd.DataFrame, as_texts, as_dates])
def test_each_of_200_walks_is_predicted_from_its_own_last_label(wages, form):
    frame = form(wages)
    known, last = frame[:-PEOPLE], frame[-PEOPLE:]
    of_each = known.groupby("person")["wage"]
    steps = (of_each.last() - of_each.first()) / (of_each.size() - 1)
    naive = last["person"].map(of_each.last() + steps) - last["wage"]

    model = OnlineAutoMLRegressor(b=8, entity="person")
    model.learn_many(known.drop(columns="wage"), known["wage"])
    errors = model.forecast_many(last.drop(columns="wage")) - last["wage"]

    assert np.sqrt(np.mean(errors**2)) <= 1.01 * np.sqrt(np.mean(naive**2))
    n_dates = len(set(frame["year"].dt.day_of_week)) + 3 if frame["year"].dtype.kind == "M" else 0
    assert model._features.n_features <= 3 + n_dates + MOST_VALUES + BUCKETS + 2  # as of any text


def shops(n=60):
    rng = np.random.default_rng(3)
    return [({"shop": int(k), "heat": float(h)}, 10.0 * k + h)
            for k, h in zip(rng.integers(3, size=n), rng.normal(size=n), strict=True)]  # fmt: skip


def test_an_entity_that_was_never_seen_is_not_the_last_one():
    model = OnlineAutoMLRegressor(b=3, entity="shop")
    for x, label in shops(300):
        model.learn_one({"shop": x["shop"]}, label)
    model.learn_one({"shop": 9}, 1000.0)
    model.learn_one({"shop": 9}, 1000.0)

    new, missing = model.forecast_many(pd.DataFrame({"shop": [77, None]}, dtype=object))
    assert new == missing < 100


@pytest.mark.parametrize("call", ["predict_one", "learn_one"])
def test_an_example_without_the_column_is_refused_in_one_line(call):
    model = OnlineAutoMLRegressor(b=3, entity="shpo")
    with pytest.raises(UsageError, match=r"^.*'shpo'.*shop.*$"):
        getattr(model, call)({"shop": 1, "heat": 0.0}, *[1.0] * (call == "learn_one"))


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), named=st.booleans())
def test_forecasts_are_finite_and_within_the_range_of_labels(seed, named):
    rng = np.random.default_rng(seed)
    of_labels, of_feature, late = *10.0 ** rng.integers(-30, 30, 2), rng.integers(60, 200)
    model = OnlineAutoMLRegressor(b=3, entity="shop" if named else "")
    for t in range(300):
        shop = int(rng.integers(2 + (t > late)))
        x = {"heat": float(rng.normal() * of_feature), "often 0": float((t > late) * rng.normal())}
        label, odd = (shop + x["heat"] / of_feature) * of_labels, rng.random(3) < 0.03
        x |= {"late": float(10.0 ** rng.integers(-35, 35))} if t > late else {}
        x["heat"] = 1e38 * float(rng.choice([-1, 1])) if odd[0] else x["heat"]
        x["shop"] = None if odd[1] else shop if named else f"s{shop}"
        prediction = model.predict_one(x, id=t)
        if t > 10:
            low, high = model._race.ensemble.expansion.scale[[LOW, HIGH]]
            assert low <= prediction <= high
        if t > 2:
            model.learn_label(t - 3, -3e38 if odd[2] else label)

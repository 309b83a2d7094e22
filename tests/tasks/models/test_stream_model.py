"""A model that continues: several tables are one, though their columns seem of other kinds."""

import itertools

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.online_automl.late import Forecasts
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.columns import read_rows
from leaseboard.tasks.models.stream_model import StreamModel


def learned(folder, *tables, **new):
    """Return a model of the tables, each a csv's lines, one after the other."""
    model = None
    for number, lines in enumerate(tables):
        path = folder / f"{number}.csv"
        path.write_text("\n".join(lines))
        frame = read_rows(path, model.kinds if model else None)
        model = model or StreamModel.for_table(frame, **new)
        model.learn_table(frame)
    return model


def flags(n, flag, seed=0):
    """Return rows of a number, of what `flag` gives in turn, and of a target that both move."""
    random, flag = np.random.default_rng(seed), itertools.cycle(flag)
    rows = ((round(random.normal(), 3), next(flag)) for _ in range(n))
    return [f"{a},{f},{a + (f.lower() == 'true'):.3f}" for a, f in rows]


GAPS, WHOLE = ("true", "", "false"), ("true", "false")


@pytest.mark.parametrize("parts", [(GAPS, WHOLE), (WHOLE, GAPS), (GAPS, ("",), WHOLE)])
def test_booleans_are_numbers_with_gaps_and_without(tmp_path, parts):
    parts = [flags(15, part, seed) for seed, part in enumerate(parts)]
    head = ["a,flag,sold"]
    halves = learned(tmp_path, *(head + part for part in parts))
    whole = learned(tmp_path, head + list(itertools.chain(*parts)))

    assert halves.kinds == whole.kinds == {"a": "number", "flag": "number", "sold": "number"}
    rows = [{"a": a, "flag": flag} for a in (-1.0, 0.5) for flag in (0.0, 1.0, np.nan)]
    assert [*map(halves.model.predict_one, rows)] == [*map(whole.model.predict_one, rows)]


def days(sizes, seed=0):
    """Return a table of days of so many rows, each with a level of its own."""
    rng, n = np.random.default_rng(seed), sum(sizes)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.repeat(range(len(sizes)), sizes), "D")
    level = rng.normal(0, 10, len(sizes)).repeat(sizes)
    x = rng.normal(size=n)
    return pd.DataFrame({"day": day, "x": x, "y": level + x + rng.normal(0, 0.1, n)})


@pytest.mark.parametrize("labels", ["immediate", "after=7", "with=day", "end"])
@pytest.mark.parametrize("learns", [False, True], ids=["first", "later"])
def test_what_is_predicted_and_forecast_goes_by_no_label_that_is_not_known(labels, learns):
    """Where all labels come, before the last fifth or the whole days near it, is known, too."""
    table, before = days([9, 30, 17, 3, 25, 12, 30, 4]), days([20, 40], seed=1)

    def found(changed):
        model = StreamModel.new("y", "regression", settings={"b": 3}, labels=labels)
        if learns:
            model.learn_table(before.assign(day=before["day"] - pd.Timedelta(days=9)))
        given = table.assign(y=table["y"].where(table.index != changed, 500.0))
        return model.learn_table(given)

    plain, cuts = found(None), [59, 96] if labels == "with=day" else [78, 104]
    assert plain.forecast_rows == 130 - cuts[1]
    known = Arrival.parse(labels).known(130, table["day"].dt.day)
    for cut in cuts[learns:]:
        known[cut:] = np.maximum(known[cut:], cut)
    for row in (0, 8, 60, 83, 95, 97, 110, 129):
        moved = found(row)
        same = (moved.predictions == plain.predictions)["prediction"].to_numpy()
        assert same[known <= row].all()
        assert not same[known > row].all() or known.max() <= row


@pytest.mark.parametrize(
    ("day", "why"),
    [("2024-01-02", "row 20: day 2024-01-02.* comes again"), (None, "row 3: day is missing")],
)
def test_labels_come_with_values_whose_rows_follow_each_other(tmp_path, day, why):
    table = days([10, 10, 10]).assign(day=lambda rows: rows["day"].dt.date.astype(str))
    table.loc[18, "day"] = "2024-01-03"
    table.loc[19 if day else 2, "day"] = day
    table.to_csv(tmp_path / "days.csv", index=False)
    data, how = f"file:{tmp_path}/days.csv?target=y", {"labels": "with=day"}
    with pytest.raises(DataError, match=why):
        run_job(Job("running-mean", data, 0, 0, environment=how), tmp_path)
    model = StreamModel.for_table(table, "y", labels="with=day")
    with pytest.raises(DataError, match=why):
        model.learn_table(read_rows(tmp_path / "days.csv"))


def test_short_files_of_days_have_intervals_that_hold_their_share():
    held = []
    model = StreamModel.new("y", "regression", settings={"b": 3}, labels="with=day")
    for number, day in days([30] * 40, seed=2).groupby("day"):
        if number.day_of_year > 20:
            _, low, high = model.predict_interval(day.drop(columns="y"), 0.8).T
            held += ((low <= day["y"]) & (day["y"] <= high)).tolist()
        model.learn_table(day.reset_index(drop=True))
    assert 0.65 < np.mean(held) < 0.95


@pytest.mark.parametrize("labels", ["after=100", "end"])
def test_labels_that_come_late_are_no_advantage_over_the_baselines(labels):
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({"x": rng.normal(size=400), "y": 1000 + rng.normal(size=400)})
    found = StreamModel.new("y", "regression", labels=labels).learn_table(noise)
    assert found.measures["skill"] < 0.01


def test_a_column_may_be_called_self():
    table = days([9, 30, 25]).rename(columns={"day": "self"})
    table["self"] = table["self"].dt.strftime("%Y-%m-%d")
    model = StreamModel.for_table(table)
    model.learn_table(table)
    model.learn_table(table.assign(more=1.0))
    assert model.kinds["self"] == "date"
    assert len(model.predict(table.drop(columns="y").assign(more=1.0))) == 64


def test_a_model_that_knows_nothing_of_tables_is_refused_with_the_fix():
    model = OnlineAutoMLRegressor()
    model.about = {"target": "b"}

    with pytest.raises(UsageError, match="was not made by `leaseboard learn`: say which column"):
        StreamModel(model)


def test_numbers_are_not_classes_though_the_first_table_had_one_label():
    first = pd.DataFrame({"a": np.arange(30) + 0.5, "b": [7] * 30})
    model = StreamModel.for_table(first)
    model.learn_table(first)

    with pytest.raises(DataError, match=r"'b' now has 30 different .* --task regression"):
        model.learn_table(first.assign(b=first["a"]))
    model.learn_table(first.assign(b=[7, 8.5, 9] * 10))
    assert model.model.examples == 60


def test_classes_are_learned_and_raced_by_the_same_labels(tmp_path):
    """Where no label is pending, past labels count, and where one is, they do not."""
    random, n = np.random.default_rng(0), 300
    x, days = random.normal(size=n), pd.date_range("2024-01-01", periods=n // 3).repeat(3)
    kinds = np.array(["u", "v", "w"])[np.digitize(x + np.sin(np.arange(n) / 20), [-0.6, 0.6])]
    frame = pd.DataFrame({"day": days, "x": x, "kind": kinds})
    frame.to_csv(tmp_path / "kinds.csv", index=False)
    data, of = f"file:{tmp_path / 'kinds.csv'}", {"labels": "with=day"}

    learned = StreamModel.for_table(frame, settings={"b": 3}).learn_table(frame)
    raced = run_job(Job("online-automl", data, 0, 0, settings={"b": 3}, environment=of), tmp_path)

    assert learned.measures["error"] == raced.score
    assert learned.measures["log_loss"] == pytest.approx(raced.metrics["log_loss"], rel=1e-9)


@pytest.mark.parametrize("beyond", [0.0, 300.0])
def test_one_label_far_off_leaves_the_intervals_of_other_entities(beyond):
    rng, n = np.random.default_rng(0), 3000
    table = pd.DataFrame({"x": rng.normal(size=n), "of": rng.choice(["a", "b", "c"], n)})
    table["y"] = table["x"] + rng.normal(size=n)
    table.loc[table.index[2300:2500][table["of"][2300:2500] == "a"][0], "y"] += beyond
    model, last = StreamModel.for_table(table), table[2500:].reset_index(drop=True)
    model.learn_table(table[:2500])
    _, low, high = model.predict_interval(last.drop(columns="y"), 0.9).T
    held = ((low <= last["y"]) & (last["y"] <= high)).groupby(last["of"]).mean()
    assert held.between(0.75, 1.0).all()


def test_a_column_whose_entities_change_begins_anew():
    made = Forecasts()
    for step in range(40):
        made.measure(0.0, 10.0 if step % 2 else 1.0, 1 + step % 2, "shop")
    none, quiet, loud = made.halves(0.8, "shop")
    assert quiet < none < loud
    assert len(made.halves(0.8, "city")) == 1
    made.measure(0.0, 5.0, 1, "city")
    assert made.numbers.sum() == 1


def test_intervals_are_as_wide_as_the_forecasts_of_their_entity_err():
    """Of a curve that the entity's own regression misses, and of noise that differs."""
    rng, n = np.random.default_rng(0), 3000
    table = pd.DataFrame(
        {"x": rng.normal(size=n), "of": rng.choice(["curve", "line", "noise"], n)}
    )
    curve = 4 * np.sin(3 * table["x"]) * (table["of"] == "curve")
    table["y"] = table["x"] + curve + rng.normal(size=n) * np.where(table["of"] == "noise", 3, 0.3)
    model, last = StreamModel.for_table(table), table[2500:].reset_index(drop=True)
    model.learn_table(table[:2500])
    said, low, high = model.predict_interval(last.drop(columns="y"), 0.9).T
    last = last.assign(held=(low <= last["y"]) & (last["y"] <= high), half=high - said)
    last["error"] = (said - last["y"]).abs()
    of = last.groupby("of")[["held", "half", "error"]].mean()
    assert of["held"].between(0.75, 0.99).all()
    assert (of["half"] / of["error"]).between(1.3, 4.0).all()

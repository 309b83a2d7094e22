"""A csv with dates in any form is learned, predicted and raced as with ISO's."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaseboard import AutoMLRegressor, race
from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.models.model import load_file

ISO = "%Y-%m-%d %H:%M:%S"


def sales(form, rows=240):
    """Return a table whose target depends on the hour, with a gap among its dates."""
    times = pd.date_range("2024-01-02 00:47:36", periods=rows, freq="3h")
    sold = np.round(10 + 5 * np.sin(times.hour / 24 * 2 * np.pi) + times.day_of_week, 3)
    when = pd.Series(times.strftime(form)).mask(np.arange(rows) == 30, "-")
    return pd.DataFrame({"when": when, "x": np.arange(rows) % 7, "sold": sold})


def test_the_month_first_is_learned_predicted_and_raced_as_isos(call):
    printed = {}
    for each, form in (("iso", ISO), ("other", "%m/%d/%Y %I:%M:%S %p")):
        frame = sales(form)
        frame[:200].to_csv(f"{each}.csv", index=False)
        frame[200:203].drop(columns="sold").to_csv(f"{each}-next.csv", index=False)
        learned = call("learn", f"{each}.model", f"{each}.csv", "--target", "sold")
        predicted = call("predict", f"{each}.model", f"{each}-next.csv")
        raced = call("race", "online-ridge", f"{each}.csv", "--json")
        numbers = pd.read_csv(io.StringIO(predicted.out))
        assert numbers["when"].tolist() == frame["when"][200:203].tolist()
        assert "dates: when" in learned.out
        assert load_file(Path(f"{each}.model")).kinds["when"] == "date"
        score = json.loads(raced.out.splitlines()[-1])["score"]
        measures = [line for line in learned.out.splitlines() if "rmse" in line]
        printed[each] = measures, numbers["prediction"].tolist(), score
    assert printed["iso"] == printed["other"]
    assert printed["iso"][0]


def test_a_model_remembers_which_number_is_the_day(call):
    frame = sales("%d/%m/%Y %H:%M:%S")
    frame[:200].to_csv("first.csv", index=False)
    call("learn", "m", "first.csv", "--target", "sold")
    for form in ("%d/%m/%Y", "%Y-%m-%d"):
        next_one = pd.DataFrame({"when": [pd.Timestamp("2024-02-03").strftime(form)], "x": [1]})
        next_one.to_csv(f"{form[1]}.csv", index=False)
    said = [call("predict", "m", f"{name}.csv").out.split(",")[-1] for name in "dY"]
    assert said[0] == said[1]
    pd.DataFrame({"when": ["02/13/2024"], "x": [1]}).to_csv("wrong.csv", index=False)
    ended = call("predict", "m", "wrong.csv")
    assert ended.code != 0
    assert "column 'when' holds dates, such as 2024-02-29, and '02/13/2024' in row 1" in ended.err


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%d.%m.%y"])
def test_an_unsure_form_is_named_by_every_entrance(call, form):
    days = pd.date_range("2024-01-01", "2024-12-01", freq="MS").repeat(20).strftime(form)
    frame = pd.DataFrame({"when": days, "y": np.arange(240) % 11 + 0.5})
    frame.to_csv("t.csv", index=False)
    for ended in (call("learn", "m", "t.csv"), call("race", "online-ridge", "t.csv")):
        assert ended.code != 0
        (line,) = [line for line in ended.err.splitlines() if "'when'" in line]
        assert "write the year first, as in 2024-01-31" in line
    for way in (
        lambda: load("file:t.csv"),
        lambda: race("online-ridge", frame, target="y"),
        lambda: AutoMLRegressor(max_trials=20).fit(frame[["when"]], frame["y"]),
    ):
        with pytest.raises(
            DataError, match=r"'when' holds dates such as .* not sure: write the year"
        ):
            way()


def test_days_in_order_say_when_labels_arrive_in_any_form(call):
    times = pd.date_range("2024-01-20", periods=60).repeat(3)
    for form in ("%d/%m/%Y", "%Y-%m-%d"):
        frame = pd.DataFrame({"when": times.strftime(form), "x": np.arange(180) % 7})
        frame.assign(y=np.arange(180) % 11 / 3).to_csv("t.csv", index=False)
        call("learn", form[1], "t.csv")
        assert str(load_file(Path(form[1])).labels) == "with=when"


def test_numbers_stay_numbers(call):
    days = pd.date_range("2024-01-01", periods=60).strftime("%Y%m%d")
    pd.DataFrame({"when": days, "y": np.arange(60) / 7}).to_csv("t.csv", index=False)
    assert "numbers: when" in call("learn", "m", "t.csv").out
    assert load("file:t.csv").features["when"].dtype.kind == "i"

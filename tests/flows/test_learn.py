"""``leaseboard learn`` and ``predict``: a model's file continues exactly, after every error."""

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_equal

from leaseboard import AutoMLRegressor, race
from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.models.model import load_file
from leaseboard.tasks.models.stream_model import StreamModel
from tests.flows.sales import sales, wrong


def table(text, **options):
    return pd.read_csv(io.StringIO(text), **options)


@pytest.mark.parametrize(("suffix", "target"), [("csv", "sold"), ("parquet", "shop")])
def test_a_file_in_two_halves_is_learned_as_at_once(call, suffix, target):
    frame = sales()
    frame["shop"] = frame["shop"].map({"012": "north", "034": "south"})
    kinds = {
        "csv": lambda f, name: f.to_csv(name, index=False),
        "parquet": pd.DataFrame.to_parquet,
    }
    write = kinds[suffix]
    for rows, name in ((slice(None), "all"), (slice(110), "first"), (slice(110, None), "second")):
        write(frame.iloc[rows].reset_index(drop=True), f"{name}.{suffix}")
    given = ("--target", target)
    assert call("learn", "one", f"all.{suffix}", "--output", "all.out.csv", *given)[0] == 0
    assert call("learn", "two", f"first.{suffix}", "--output", "first.out.csv", *given)[0] == 0
    assert call("learn", "two", f"second.{suffix}", "--output", "second.out.parquet")[0] == 0

    states = [load_file(Path(name)).state() for name in ("one", "two")]
    for state in states:  # each file measures forecasts of its own last rows
        (state["late"] or {}).pop("ahead", None)
    assert_equal(*states)
    halves = pd.concat([pd.read_csv("first.out.csv"), pd.read_parquet("second.out.parquet")])
    whole = pd.read_csv("all.out.csv")
    if target == "sold":  # a csv has the fewest digits of the same 32 bits
        halves, whole = (table.astype({"prediction": "float32"}) for table in (halves, whole))
    assert halves["prediction"].tolist()[1:] == whole["prediction"].tolist()[1:]
    assert len(whole) == 300


def test_the_measures_of_the_predictions_are_printed(call):
    sales().to_csv("sales.csv", index=False)
    code, said, _ = call("learn", "sales.model", "sales.csv")
    assert code == 0
    assert "new model: online-automl, regression of 'sold'" in said
    assert "learned 300 rows of sold in " in said
    assert "; 300 in all" in said
    assert "labels with=day: each day is predicted before its labels are known" in said
    assert "measured, labels with=day: rmse " in said
    assert "on the last 60 rows without their labels: rmse " in said.splitlines()[-1]
    assert ", which has learned the same rows" in said
    assert re.search(r"^naive baselines: \d+\.\d{3} CPU s more$", said, re.MULTILINE)

    _, said, _ = call("learn", "sales.model", "sales.csv", "--json")
    row = json.loads(said.splitlines()[-1])
    assert (row["rows"], row["examples"], row["target"]) == (300, 600, "sold")
    assert row["metrics"].keys() == {"rmse", "mae", "r2", "skill"}
    assert row["forecast"].keys() == {"rmse", "mae", "r2"}
    assert len(row["members"]) == 6
    assert min(row["cpu_seconds"], row["baselines_cpu_seconds"]) > 0


def test_predict_learns_nothing_and_keeps_the_table(call):
    frame = sales()
    frame.to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    before = Path("sales.model").read_bytes()
    asked = frame.drop(columns="sold").assign(extra=1.0)[["day", "extra", "shop", "rain", "price"]]
    asked.to_csv("asked.csv", index=False)
    code, said, _ = call("predict", "sales.model", "asked.csv")
    predicted = table(said)
    call("predict", "sales.model", "sales.csv", "--output", "out.parquet")

    assert code == 0
    assert Path("sales.model").read_bytes() == before
    assert list(predicted) == [*asked, "prediction"]
    assert predicted["prediction"].to_numpy() == pytest.approx(
        pd.read_parquet("out.parquet")["prediction"]
    )
    assert np.abs(predicted["prediction"] - frame["sold"]).mean() < 1


def test_intervals_hold_their_share_of_labels(call):
    frame = sales(600)
    frame[:500].to_csv("sales.csv", index=False)
    frame[500:].to_csv("next.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    call("predict", "sales.model", "next.csv", "--level", "0.8", "--output", "out.csv")
    predicted = pd.read_csv("out.csv")
    held = (predicted["low"] <= predicted["sold"]) & (predicted["sold"] <= predicted["high"])

    assert 0.6 < held.mean() < 0.98
    code, _, complained = call("predict", "sales.model", "next.csv", "--level", "1.5")
    assert code == 64
    assert "1.5" in complained
    call("learn", "shops.model", "sales.csv", "--target", "shop", "--task", "classification")
    complained = call("predict", "shops.model", "next.csv", "--level", "0.8")[2]
    assert "classes have their probabilities" in complained
    predicted = table(call("predict", "shops.model", "next.csv").out)
    shares = predicted[[name for name in predicted if name.startswith("probability of ")]]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(1)


def test_what_was_text_stays_text_to_the_letter(call):
    frame = sales(120)
    frame["shop"] = ["012" if t % 2 else "x" for t in range(120)]
    frame.to_csv("mixed.csv", index=False)
    frame.assign(shop="012").to_csv("digits.csv", index=False)
    call("learn", "m", "mixed.csv")
    predictions = call("predict", "m", "digits.csv")[1]
    frame.assign(shop="0012").to_csv("others.csv", index=False)

    assert "012" in predictions
    assert call("predict", "m", "others.csv")[1] != predictions
    rows = table(predictions)["prediction"].to_numpy()
    both = table(call("predict", "m", "mixed.csv").out)
    assert rows[1::2] == pytest.approx(both["prediction"].to_numpy()[1::2])


BAD = {
    "a word": (lambda f: wrong(f, price=(3, "oops")), "column 'price' holds numbers, and 'oops'"),
    "no date": (lambda f: wrong(f, day=(3, "soon")), "such as 2024-02-29, and 'soon' in row 4"),
    "no label": (lambda f: wrong(f, sold=(3, np.nan)), "row 4 has no sold: leave out the 1 rows"),
    "a word for a label": (lambda f: wrong(f, sold=(3, "many")), "column 'sold' holds numbers,"),
    "an infinite label": (lambda f: wrong(f, sold=(3, 1e39)), "'sold' holds numbers that are"),
    "an infinite value": (lambda f: wrong(f, price=(3, 1e39)), "'price' holds numbers that"),
    "no target": (lambda f: f.drop(columns="sold"), "no column 'sold', which the model learns"),
    "a column less": (lambda f: f.drop(columns="rain"), "no column 'rain', which the model has"),
}  # fmt: skip


def test_what_is_wrong_is_named_and_the_model_stays_whole(call):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    before, wrongly = Path("sales.model").read_bytes(), {}
    for case, (change, words) in BAD.items():
        change(sales(60, seed=1)).to_csv("bad.csv", index=False)
        code, _, complained = call("learn", "sales.model", "bad.csv", "--output", "out.csv")
        if code != 64 or words not in complained or complained.count("\n") != 1:
            wrongly[case] = complained

    assert wrongly == {}
    assert Path("sales.model").read_bytes() == before
    assert not Path("out.csv").exists()


WRONG_USAGE = [
    (("learn", "old", "sales.csv", "--target", "rain"), 64, "--target is of a new model, and"),
    (("learn", "new", "sales.csv", "--target", "slod"), 64, "'slod': did you mean 'sold'"),
    (("learn", "new", "sales.csv", "--task", "both"), 64, "'both' is not one of 'regr"),
    (("learn", "new", "sales.csv", "--output", "x.txt"), 64, "must end in .csv or .parquet"),
    (("learn", "new", "sales.csv", "--output", "no/x.csv"), 64, "cannot write 'no/x.csv': name"),
    (("learn", "new", "sales.csv", "--output", "sales.csv"), 64, "would replace a file that is"),
    (("predict", "old", "sales.csv", "--output", "sales.csv"), 64, "would replace a file that"),
    (("learn", "no/new", "sales.csv"), 64, "cannot write 'no/new': name a file in"),
    (("learn", "folder", "sales.csv"), 64, "cannot write 'folder': name a file"),
    (("learn", "new", "header.csv"), 3, "header.csv: 0 rows: add rows"),
    (("learn", "new", "lone.csv"), 64, "1 column, 'a', and a table needs the target and at least"),
    (("learn", "sales.csv", "sales.csv"), 64, "is not a model of the format leaseboard-model"),
    (("learn", "new", "sales.csv", "--labels", "with=sold"), 64, "column of --labels 'sold'"),
    (("predict", "old", "header.csv"), 3, "header.csv: 0 rows: add rows"),
    (("predict", "folder", "sales.csv"), 64, "folder/model' cannot be read"),
    (("predict", "bare", "sales.csv"), 64, "was not made by `leaseboard learn`"),
]  # fmt: skip


def test_wrong_usage_is_reported_in_one_line(call):
    sales(40).to_csv("sales.csv", index=False)
    for name, text in (("header", "a,b\n"), ("lone", "a\n1\n2\n")):
        Path(f"{name}.csv").write_text(text)
    Path("folder").mkdir()
    OnlineAutoMLRegressor().save("bare")
    call("learn", "old", "sales.csv")
    wrongly = {}
    for arguments, code, words in WRONG_USAGE:
        ended = call(*arguments)
        lines = ended.err.count("\n")
        if (ended.code, lines) != (code, 1) or words not in ended.err or ended.out:
            wrongly[arguments] = ended

    assert wrongly == {}
    assert not Path("new").exists()


def test_two_commands_at_once_do_not_lose_what_one_learned(call, monkeypatch):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    learn = StreamModel.learn_table

    def meanwhile(self, *given):
        load_file(Path("sales.model")).model.save("sales.model")
        return learn(self, *given)

    monkeypatch.setattr(StreamModel, "learn_table", meanwhile)
    Path("out.csv").write_text("earlier")
    code, _, complained = call("learn", "sales.model", "sales.csv", "--output", "out.csv")

    assert code == 64
    assert Path("out.csv").read_text() == "earlier"
    assert not Path("out.csv.partial").exists()
    assert "was changed while 'sales.csv' was learned" in complained
    assert OnlineAutoMLRegressor.load("sales.model").examples == 60


def test_new_columns_are_learned_and_reported(call):
    sales(60).to_csv("sales.csv", index=False)
    sales(60).assign(wind=1.0).to_csv("wind.csv", index=False)
    call("learn", "sales.model", "sales.csv")

    assert "new columns: wind" in call("learn", "sales.model", "wind.csv")[1]
    assert "no column 'wind'" in call("predict", "sales.model", "sales.csv")[2]


def test_a_registered_model_predicts_from_its_name(call, tmp_path):
    frame = sales(200).drop(columns="day")
    frame.to_csv("sales.csv", index=False)
    assert call("race", "online-automl", "sales.csv", "--register", "shop")[0] == 0
    before = os.environ.get("MLFLOW_TRACKING_URI")
    code, said, _ = call("predict", "models:/shop@challenger", "sales.csv")
    assert os.environ.get("MLFLOW_TRACKING_URI") == before
    predicted = table(said)

    assert code == 0
    assert np.abs(predicted["prediction"] - frame["sold"]).mean() < 1
    frame.assign(prediction=1.0).to_csv("own.csv", index=False)
    code, _, complained = call("predict", "models:/shop@challenger", "own.csv")
    assert code == 64
    assert "the table has a column 'prediction' of its own: rename it" in complained
    for value, words in ((1e39, "finite in 32 bits, and 1e+39"), ("oops", "numbers, and 'oops'")):
        wrong(frame, price=(3, value)).to_csv("bad.csv", index=False)
        code, _, complained = call("predict", "models:/shop@challenger", "bad.csv")
        assert code == 64
        assert f"{words} in row 4 does not fit: fix that row" in complained
    code, _, complained = call("predict", "models:/shop@missing", "sales.csv")
    assert code == 64
    assert "'models:/shop@missing' cannot be loaded" in complained


PARCELS = """parcel,zip,land,weight,note,flag,when,y
8012345678901234567,01000,NA,1.50,"a, b",true,2024-01-01,4.5
8012345678901234568,01001,DE,2.50,NaN,True,,7.5
,01002,FR,0.10,1e5,FALSE,2024-01-02 10:00+02:00,0.3
8012345678901234569,01003,DE,1.00,"two
lines",,2024-01-03,3
"""


def test_what_passes_through_predict_comes_out_as_it_came_in(call, monkeypatch):
    """Ids beyond 53 bits, leading zeros, texts like gaps and passwords, zeros, line breaks."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:01000@db/x")
    Path("parcels.csv").write_text(PARCELS)
    call("learn", "y.model", "parcels.csv")
    for out in ("out.csv", "out.parquet"):
        assert call("predict", "y.model", "parcels.csv", "--output", out)[0] == 0
    asked = pd.read_csv("parcels.csv", dtype=str, keep_default_na=False)
    predicted = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    kept = pd.read_parquet("out.parquet")

    assert call("predict", "y.model", "parcels.csv").out == Path("out.csv").read_text()
    assert predicted.drop(columns="prediction").equals(asked)
    for name in ("parcel", "zip", "land", "weight", "note"):
        assert kept[name].fillna("").tolist() == asked[name].tolist()
    typed = kept.iloc[:, :-1].assign(number=pd.array([2**60 + 1, None, 2**60 + 3, 7], "Int64"))
    typed.loc[1, "land"] = None
    typed.astype({"land": "category"}).to_parquet("parcels.parquet")
    assert call("predict", "y.model", "parcels.parquet", "--output", "out.parquet")[0] == 0
    again = pd.read_parquet("out.parquet")
    assert again["land"].dtype == "category"
    assert again["land"].isna().tolist() == [False, True, False, False]
    assert again["number"].tolist() == typed["number"].tolist()


def test_an_index_that_does_not_occur_in_a_libsvm_file_is_zero(call):
    Path("a.libsvm").write_text("3.0 1:1 2:1\n5.0 1:2 3:1\n" * 5)
    Path("b.libsvm").write_text("3.0 1:1\n5.0 2:1\n")
    assert call("learn", "y.model", "a.libsvm", "--task", "regression")[0] == 0
    code, said, _ = call("predict", "y.model", "b.libsvm")
    assert code == 0
    assert len(said.splitlines()) == 3
    assert call("learn", "y.model", "b.libsvm")[0] == 0


def test_digits_of_a_named_column_are_names_from_the_first_file_on(call):
    random = np.random.default_rng(0)
    sold = {"7": 100.0, "07": 200.0, "007": 300.0}
    shops = random.choice([*sold], 120)
    noise = random.normal(size=120)
    rows = [f"{shop},{sold[shop] + more}" for shop, more in zip(shops, noise, strict=True)]
    Path("a.csv").write_text("\n".join(["shop,sold", *rows[:60]]) + "\n")
    Path("b.csv").write_text("\n".join(["shop,sold", *rows[60:]]) + "\n")
    assert call("learn", "m", "a.csv", "--set", "entity=shop")[0] == 0
    assert call("learn", "m", "b.csv")[0] == 0
    Path("c.csv").write_text("shop\n7\n07\n007\n")
    _, said, _ = call("predict", "m", "c.csv")
    assert table(said)["prediction"].to_numpy() == pytest.approx([100, 200, 300], abs=5)

    code, _, error = call("learn", "n", "a.csv", "--set", "entity=shpo")
    assert code == 64
    assert "shpo" in error
    assert "did you mean 'shop'" in error
    assert not Path("n").exists()


def first(**columns):
    """Return a first table, with more columns."""
    return sales(60).assign(**columns)


CLASSES = ("--task", "classification")
DAY = ("--target", "day")
FIRST = [
    (first(prediction=1.5), ("--target", "sold"), "'prediction' is called like one that"),
    (first().rename(columns={"sold": "prediction"}), (),
     "column 'prediction' is called like one that `leaseboard predict` adds"),
    (first(), DAY, "target 'day' holds dates, and is to be numbers or classes: make it"),
    (first(), (*DAY, *CLASSES), "target 'day' holds dates"),
    (first(y=[0.5, 1.5] * 30), ("--target", "y", *CLASSES), "'y' holds numbers with fractions"),
    (first(**{"probability of x": 0.5}), ("--target", "shop", *CLASSES),
     "column 'probability of x' is called like one that `leaseboard predict` adds: rename it"),
]  # fmt: skip


def test_an_error_in_a_first_table_is_reported_in_one_line(call):
    wrongly = []
    for frame, given, words in FIRST:
        frame.to_csv("first.csv", index=False)
        code, _, complained = call("learn", "new.model", "first.csv", *given)
        if code != 64 or words not in complained or complained.count("\n") != 1:
            wrongly.append((words, complained))

    assert wrongly == []
    assert not Path("new.model").exists()


def test_a_table_with_low_and_high_of_its_own_is_predicted_without_intervals(call):
    sales(60).assign(low=1.5, high=2.5)[["low", "price", "high", "sold"]].to_csv(
        "stock.csv", index=False
    )
    call("learn", "stock.model", "stock.csv")

    asked = ("predict", "stock.model", "stock.csv")
    call(*asked, code=0)
    complained = call(*asked, "--level", "0.9", code=64).err
    assert "the table has a column 'low' of its own: rename it" in complained


ISO = "%Y-%m-%d %H:%M:%S"


def dated(form, rows=240):
    """Return a table whose target depends on the hour, with a gap among its dates."""
    times = pd.date_range("2024-01-02 00:47:36", periods=rows, freq="3h")
    sold = np.round(10 + 5 * np.sin(times.hour / 24 * 2 * np.pi) + times.day_of_week, 3)
    when = pd.Series(times.strftime(form)).mask(np.arange(rows) == 30, "-")
    return pd.DataFrame({"when": when, "x": np.arange(rows) % 7, "sold": sold})


def test_the_month_first_is_learned_predicted_and_raced_as_isos(call):
    printed = {}
    for each, form in (("iso", ISO), ("other", "%m/%d/%Y %I:%M:%S %p")):
        frame = dated(form)
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
    frame = dated("%d/%m/%Y %H:%M:%S")
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
    frame[::-1].assign(y=1.5).to_csv("t.csv", index=False)
    assert (
        "when is not in order, or has gaps, so a row may be predicted by"
        in call("learn", "m", "t.csv").out
    )


def test_numbers_stay_numbers(call):
    days = pd.date_range("2024-01-01", periods=60).strftime("%Y%m%d")
    pd.DataFrame({"when": days, "y": np.arange(60) / 7}).to_csv("t.csv", index=False)
    assert "numbers: when" in call("learn", "m", "t.csv").out
    assert load("file:t.csv").features["when"].dtype.kind == "i"

"""``leaseboard learn`` and ``predict``: a model's file goes on exactly, whatever is wrong."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from mlflow.models import infer_signature
from sklearn.linear_model import LinearRegression

from leaseboard.algorithms import plain
from leaseboard.algorithms.chacha.streaming import ChaChaClassifier, ChaChaRegressor
from leaseboard.tasks.models.continued import Continued, read_rows
from leaseboard.tasks.models.logged import default_store
from tests.flows.sales import sales, wrong


@pytest.mark.parametrize(
    ("suffix", "target", "settings"),
    [
        ("csv", "sold", ()),
        ("parquet", "shop", ()),
        ("csv", "sold", ("--algorithm", "chacha-icml-eval", "--set", "b=3")),
    ],
)
def test_a_file_in_two_halves_is_learned_as_at_once(call, suffix, target, settings):
    frame = sales()
    frame["shop"] = frame["shop"].map({"012": "north", "034": "south"})
    kinds = {
        "csv": lambda f, name: f.to_csv(name, index=False),
        "parquet": pd.DataFrame.to_parquet,
    }
    write = kinds[suffix]
    for rows, name in ((slice(None), "all"), (slice(110), "first"), (slice(110, None), "second")):
        write(frame.iloc[rows].reset_index(drop=True), f"{name}.{suffix}")
    given = ("--target", target, *settings)
    assert call("learn", "one", f"all.{suffix}", "--out", "all.out.csv", *given)[0] == 0
    assert call("learn", "two", f"first.{suffix}", "--out", "first.out.csv", *given)[0] == 0
    assert call("learn", "two", f"second.{suffix}", "--out", "second.out.parquet")[0] == 0

    assert Path("one").read_bytes() == Path("two").read_bytes()
    halves = pd.concat([pd.read_csv("first.out.csv"), pd.read_parquet("second.out.parquet")])
    whole = pd.read_csv("all.out.csv")
    if target == "sold":  # a csv has the fewest digits of the same 32 bits
        halves, whole = (table.astype({"forecast": "float32"}) for table in (halves, whole))
    assert halves["forecast"].tolist()[1:] == whole["forecast"].tolist()[1:]
    assert len(whole) == 300


def test_of_a_first_file_with_one_label_is_told_what_that_comes_to(call):
    rows = [f"{a}.5,7" for a in range(5)]
    Path("first.csv").write_text("\n".join(["a,b", *rows]))

    code, said, _ = call("learn", "one", "first.csv")
    assert code == 0
    assert "all labels of this file are 7: so will all forecasts be" in said
    code, _, said = call("race", "vanilla", "first.csv")
    assert code != 0
    assert "is constant (always 7)" in said
    assert "let `leaseboard learn` make" in said


def test_what_is_learned_by_command_is_what_the_class_learns(call):
    sales().to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv", "--seed", "5", "--set", "b=4")
    model = ChaChaRegressor.load("sales.model")
    own = ChaChaRegressor(seed=5, b=4)
    frame = read_rows(Path("sales.csv"))
    own.learn_many(frame.drop(columns="sold"), frame["sold"])

    assert model.examples == own.examples == 300
    x = frame.drop(columns="sold").to_dict("records")[7]
    assert model.predict_one(x) == own.predict_one(x)


def test_how_the_forecasts_did_is_told(call):
    sales().to_csv("sales.csv", index=False)
    code, said, _ = call("learn", "sales.model", "sales.csv")
    assert code == 0
    assert "new model: chacha, regression of 'sold'" in said
    assert "learned 300 rows of sold in " in said
    assert "; 300 in all" in said
    assert "measured: rmse " in said
    assert ", which has learned the same rows" in said
    assert re.search(r"^naive baselines: \d+\.\d{3} CPU s more$", said, re.MULTILINE)

    _, said, _ = call("learn", "sales.model", "sales.csv", "--json")
    told = json.loads(said.splitlines()[-1])
    assert (told["rows"], told["examples"], told["target"]) == (300, 600, "sold")
    assert told["metrics"].keys() == {"rmse", "mae", "r2", "skill"}
    assert min(told["cpu_seconds"], told["baselines_cpu_seconds"]) > 0


def test_predict_learns_nothing_and_keeps_the_table(call):
    frame = sales()
    frame.to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    before = Path("sales.model").read_bytes()
    asked = frame.drop(columns="sold").assign(extra=1.0)[["day", "extra", "shop", "rain", "price"]]
    asked.to_csv("asked.csv", index=False)
    code, said, _ = call("predict", "sales.model", "asked.csv")
    told = pd.read_csv(pd.io.common.StringIO(said))
    call("predict", "sales.model", "sales.csv", "--out", "out.parquet")

    assert code == 0
    assert Path("sales.model").read_bytes() == before
    assert list(told) == [*asked, "forecast"]
    assert told["forecast"].to_numpy() == pytest.approx(pd.read_parquet("out.parquet")["forecast"])
    assert np.abs(told["forecast"] - frame["sold"]).mean() < 1


def test_intervals_hold_their_share_of_labels(call):
    frame = sales(600)
    frame[:500].to_csv("sales.csv", index=False)
    frame[500:].to_csv("next.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    call("predict", "sales.model", "next.csv", "--level", "0.8", "--out", "out.csv")
    told = pd.read_csv("out.csv")
    held = (told["low"] <= told["sold"]) & (told["sold"] <= told["high"])

    assert 0.6 < held.mean() < 0.98
    code, _, complained = call("predict", "sales.model", "next.csv", "--level", "0.123")
    assert code == 64
    assert "0.123" in complained
    call("learn", "shops.model", "sales.csv", "--target", "shop", "--task", "classification")
    complained = call("predict", "shops.model", "next.csv", "--level", "0.8")[2]
    assert "classes have their probabilities" in complained


def test_classes_have_their_probabilities(call):
    sales().to_csv("sales.csv", index=False)
    call("learn", "shops.model", "sales.csv", "--target", "shop", "--task", "classification")
    _, said, _ = call("predict", "shops.model", "sales.csv")
    told = pd.read_csv(pd.io.common.StringIO(said))

    assert isinstance(Continued.load(Path("shops.model")).model, ChaChaClassifier)
    shares = told[[name for name in told if name.startswith("probability of ")]]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(1)


def test_whole_numbers_taken_for_classes_are_told_of(call):
    sales().assign(grade=np.arange(300) % 2).to_csv("g.csv", index=False)

    assert "--task regression takes them as numbers" in call("learn", "g.model", "g.csv")[1]
    assert "regression of 'grade'" in call("learn", "h.model", "g.csv", "--task", "regression")[1]


def test_what_was_text_stays_text_to_the_letter(call):
    frame = sales(120)
    frame["shop"] = ["012" if t % 2 else "x" for t in range(120)]
    frame.to_csv("mixed.csv", index=False)
    frame.assign(shop="012").to_csv("digits.csv", index=False)
    call("learn", "m", "mixed.csv")
    forecasts = call("predict", "m", "digits.csv")[1]
    frame.assign(shop="0012").to_csv("others.csv", index=False)

    assert "012" in forecasts
    assert call("predict", "m", "others.csv")[1] != forecasts
    rows = pd.read_csv(pd.io.common.StringIO(forecasts))["forecast"].to_numpy()
    both = pd.read_csv(pd.io.common.StringIO(call("predict", "m", "mixed.csv")[1]))
    assert rows[1::2] == pytest.approx(both["forecast"].to_numpy()[1::2])


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


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_named_and_the_model_stays_whole(call, case):
    change, words = BAD[case]
    sales(60).to_csv("sales.csv", index=False)
    change(sales(60, seed=1)).to_csv("bad.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    before = Path("sales.model").read_bytes()
    code, _, complained = call("learn", "sales.model", "bad.csv", "--out", "out.csv")

    assert code == 64
    assert words in complained
    assert complained.count("\n") == 1
    assert Path("sales.model").read_bytes() == before
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("learn", "old", "sales.csv", "--target", "rain"), 64, "--target is of a new model, and"),
        (("learn", "old", "sales.csv", "--set", "b=3"), 64, "--set is of a new model, and 'old'"),
        (("learn", "new", "sales.csv", "--target", "slod"), 64, "'slod': did you mean 'sold'"),
        (("learn", "new", "sales.csv", "--task", "both"), 64, "--task 'both' must be regr"),
        (("learn", "new", "sales.csv", "--algorithm", "apple"), 64, "'apple' is no race"),
        (("learn", "new", "sales.csv", "--algorithm", "a.py:A"), 64, "one of chacha, chacha-p"),
        (("learn", "new", "sales.csv", "--set", "bb=3"), 64, "'bb': did you mean 'b'"),
        (("learn", "new", "sales.csv", "--out", "x.txt"), 64, "must end in .csv or .parquet"),
        (("learn", "new", "sales.csv", "--out", "no/x.csv"), 64, "no folder 'no': make it first"),
        (("learn", "new", "sales.csv", "--out", "d.csv"), 64, "--out 'd.csv' is a folder: name a"),
        (("learn", "new", "sales.csv", "--out", "sales.csv"), 64, "would replace a file that is"),
        (("learn", "m.csv", "sales.csv", "--out", "./m.csv"), 64, "would replace a file that is"),
        (("predict", "old", "sales.csv", "--out", "sales.csv"), 64, "would replace a file that"),
        (("learn", "no/new", "sales.csv"), 64, "no folder 'no': make it first"),
        (("learn", "folder", "sales.csv"), 64, "is a folder: name a model's file"),
        (("learn", "new", "none.csv"), 64, "none.csv: no such file"),
        (("learn", "new", "empty.csv"), 64, "empty.csv: 0 rows"),
        (("learn", "new", "header.csv"), 3, "header.csv: 0 rows: nothing to learn"),
        (("learn", "sales.csv", "sales.csv"), 64, "is no saved model of this version"),
        (("predict", "new", "sales.csv"), 64, "'new' cannot be read (No such file"),
        (("predict", "old", "header.csv"), 3, "header.csv: 0 rows: nothing to forecast"),
        (("predict", "folder", "sales.csv"), 64, "holds no model of this version"),
        (("predict", "bare", "sales.csv"), 64, "was not made by `leaseboard learn`"),
    ],
)  # fmt: skip
def test_wrong_usage_is_told_in_one_line(call, arguments, code, words):
    sales(40).to_csv("sales.csv", index=False)
    Path("empty.csv").touch()
    Path("header.csv").write_text("a,b\n")
    Path("folder").mkdir()
    Path("d.csv").mkdir()
    ChaChaRegressor().save("bare")
    call("learn", "old", "sales.csv")
    found, said, complained = call(*arguments)

    assert found == code
    assert words in complained
    assert complained.count("\n") == 1
    assert not Path("new").exists()
    assert "forecast" not in said


def test_a_write_that_breaks_off_leaves_the_old_model(call, monkeypatch):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    before = Path("sales.model").read_bytes()

    def half(path, *_):
        path.write_bytes(before[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(plain, "write", half)
    assert call("learn", "sales.model", "sales.csv", "--out", "out.csv")[0] == 130
    assert not list(Path().glob("out.csv*"))
    assert Path("sales.model").read_bytes() == before


def test_a_process_that_is_killed_leaves_the_old_model(call, tmp_path):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    before = Path("sales.model").read_bytes()
    code = (
        "import os, signal; from leaseboard.algorithms import plain\n"
        "from leaseboard.flows.cli import main\n"
        "def dies(path, *_):\n"
        "    path.write_bytes(b'half'); os.kill(os.getpid(), signal.SIGKILL)\n"
        "plain.write = dies\n"
        "main(['learn', 'sales.model', 'sales.csv'])"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)

    assert ended.returncode == -signal.SIGKILL
    assert Path("sales.model").read_bytes() == before
    assert call("learn", "sales.model", "sales.csv")[0] == 0
    assert ChaChaRegressor.load("sales.model").examples == 120


def test_two_commands_at_once_do_not_lose_what_one_learned(call, monkeypatch):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    learn = Continued.learn

    def meanwhile(self, frame):
        Continued.load(Path("sales.model")).model.save("sales.model")
        return learn(self, frame)

    monkeypatch.setattr(Continued, "learn", meanwhile)
    Path("out.csv").write_text("earlier")
    code, _, complained = call("learn", "sales.model", "sales.csv", "--out", "out.csv")

    assert code == 64
    assert Path("out.csv").read_text() == "earlier"
    assert not Path("out.csv.partial").exists()
    assert "was changed while 'sales.csv' was learned" in complained
    assert ChaChaRegressor.load("sales.model").examples == 60


def test_new_columns_join_and_are_told_of(call):
    sales(60).to_csv("sales.csv", index=False)
    sales(60).assign(wind=1.0).to_csv("wind.csv", index=False)
    call("learn", "sales.model", "sales.csv")

    assert "new columns: wind" in call("learn", "sales.model", "wind.csv")[1]
    assert "no column 'wind'" in call("predict", "sales.model", "sales.csv")[2]


def test_a_registered_model_forecasts_from_its_name(call, tmp_path):
    frame = sales(200).drop(columns="day")
    frame.to_csv("sales.csv", index=False)
    assert call("race", "chacha", "sales.csv", "--register", "shop")[0] == 0
    before = os.environ.get("MLFLOW_TRACKING_URI")
    code, said, _ = call("predict", "models:/shop@challenger", "sales.csv")
    assert os.environ.get("MLFLOW_TRACKING_URI") == before
    told = pd.read_csv(pd.io.common.StringIO(said))

    assert code == 0
    assert np.abs(told["forecast"] - frame["sold"]).mean() < 1
    frame.assign(forecast=1.0).to_csv("own.csv", index=False)
    code, _, complained = call("predict", "models:/shop@challenger", "own.csv")
    assert code == 64
    assert "the table has a column 'forecast' of its own: rename it" in complained
    for value, words in ((1e39, "finite in 32 bits, and 1e+39"), ("oops", "numbers, and 'oops'")):
        wrong(frame, price=(3, value)).to_csv("bad.csv", index=False)
        code, _, complained = call("predict", "models:/shop@challenger", "bad.csv")
        assert code == 64
        assert f"{words} in row 4 is none: mend that row" in complained
    code, _, complained = call("predict", "models:/shop@nobody", "sales.csv")
    assert code == 64
    assert "'models:/shop@nobody' cannot be loaded" in complained


@pytest.mark.parametrize("signed", [True, False])
def test_a_registered_model_of_another_library_forecasts_too(call, tmp_path, signed):
    frame = sales(60)[["price", "sold"]]
    fitted = LinearRegression().fit(frame[["price"]], frame["sold"])
    signature = infer_signature(frame[["price"]], frame["sold"]) if signed else None
    store = f"sqlite:///{tmp_path / 'store.db'}"
    with default_store(store):
        mlflow.sklearn.log_model(
            fitted, name="line", registered_model_name="line", signature=signature,
            pip_requirements=[],
        )  # fmt: skip
    predict = ("predict", "models:/line/1", "sales.csv", "--tracking-uri", store)
    frame[["price"]].to_csv("sales.csv", index=False)
    code, said, _ = call(*predict)

    assert code == 0
    assert np.allclose(
        pd.read_csv(pd.io.common.StringIO(said))["forecast"], fitted.predict(frame[["price"]])
    )
    frame[["sold"]].to_csv("sales.csv", index=False)
    code, _, complained = call(*predict)
    assert code == 64
    assert "'models:/line/1' cannot forecast the table: " in complained
    assert "price" in complained
    assert complained.count("\n") == 1


PARCELS = """parcel,zip,land,weight,note,flag,when,y
8012345678901234567,01000,NA,1.50,"a, b",true,2024-01-01,4.5
8012345678901234568,01001,DE,2.50,NaN,True,,7.5
,01002,FR,0.10,1e5,FALSE,2024-01-02 10:00+02:00,0.3
8012345678901234569,01003,DE,1.00,"two
lines",,2024-01-03,3
"""


def test_what_passes_through_predict_comes_out_as_it_came_in(call):
    """Ids beyond 53 bits, leading zeros, texts like gaps, trailing zeros, line breaks."""
    Path("parcels.csv").write_text(PARCELS)
    call("learn", "y.model", "parcels.csv")
    for out in ("out.csv", "out.parquet"):
        assert call("predict", "y.model", "parcels.csv", "--out", out)[0] == 0
    asked = pd.read_csv("parcels.csv", dtype=str, keep_default_na=False)
    told = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    kept = pd.read_parquet("out.parquet")

    assert told.drop(columns="forecast").equals(asked)
    for name in ("parcel", "zip", "land", "weight", "note"):
        assert kept[name].fillna("").tolist() == asked[name].tolist()


def test_the_parquet_that_predict_writes_is_read_as_its_csv(call):
    """A mark of a gap among numbers is a gap there, and dates are dates."""
    frame = sales(60)
    frame["rain"] = frame["rain"].astype(str)
    frame.loc[3, "rain"] = "NA"
    frame.to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv", "--target", "sold")
    call("predict", "sales.model", "sales.csv", "--out", "first.parquet")
    kept = pd.read_parquet("first.parquet").rename(columns={"forecast": "first"})
    assert kept["rain"].dtype == "float64"
    assert kept["rain"].isna()[3]
    kept.to_parquet("second.parquet")
    assert call("predict", "sales.model", "second.parquet", "--out", "out.csv")[0] == 0
    told = pd.read_csv("out.csv")
    assert told["forecast"].to_numpy() == pytest.approx(told["first"].to_numpy())


def test_types_of_a_parquet_pass_through_predict(call):
    frame = sales(60).convert_dtypes(dtype_backend="pyarrow")
    frame["id"] = pd.array([2**53 + 1 + i for i in range(59)] + [None], dtype="int64[pyarrow]")
    frame.to_parquet("sales.parquet")
    call("learn", "sales.model", "sales.parquet", "--target", "sold")
    call("predict", "sales.model", "sales.parquet", "--out", "out.parquet")
    told, asked = pq.read_table("out.parquet"), pq.read_table("sales.parquet")
    assert told.drop_columns("forecast").equals(asked)
    call("predict", "sales.model", "sales.parquet", "--out", "out.csv")
    assert f",{2**53 + 1}," in Path("out.csv").read_text()


def test_a_named_index_is_a_column(call):
    index = pd.date_range("2026-01-01", periods=200, name="stamp")
    days = pd.DataFrame({"x": np.arange(200) % 7.0}, index=index)
    days.assign(y=days["x"] * 2).to_parquet("days.parquet")
    said = call("learn", "y.model", "days.parquet", "--target", "y")[1]
    assert "dates: stamp" in said
    call("predict", "y.model", "days.parquet", "--out", "out.parquet")
    assert pd.read_parquet("out.parquet")["stamp"].tolist() == index.tolist()


def test_an_index_that_does_not_occur_in_a_libsvm_file_is_zero(call):
    Path("a.libsvm").write_text("3.0 1:1 2:1\n5.0 1:2 3:1\n" * 5)
    Path("b.libsvm").write_text("3.0 1:1\n5.0 2:1\n")
    assert call("learn", "y.model", "a.libsvm", "--task", "regression")[0] == 0
    code, said, _ = call("predict", "y.model", "b.libsvm")
    assert code == 0
    assert len(said.splitlines()) == 3
    assert call("learn", "y.model", "b.libsvm")[0] == 0


def test_the_schema_of_a_registered_model_reads_the_file(call):
    """A column of texts that holds only digits in a later file stays one of texts."""
    random = np.random.default_rng(0)
    ward = random.choice(["007", "008", "A1"], 200)
    frame = pd.DataFrame({"ward": ward, "x": random.normal(size=200)})
    frame["y"] = frame["x"] + np.where(ward == "007", 50.0, np.where(ward == "008", -50.0, 0.0))
    frame.to_csv("t.csv", index=False)
    Path("n.csv").write_text("ward,x\n007,0\n008,0\n")
    for algorithm in ("chacha", "rising-bandits-cost"):
        name = f"wards-{algorithm}"
        more = ("--budget", "8") if algorithm != "chacha" else ("--set", "log_target=false")
        code, *_ = call("race", algorithm, "t.csv", "--target", "y", "--register", name, *more)
        assert code == 0
        _, said, _ = call("predict", f"models:/{name}@challenger", "n.csv")
        told = pd.read_csv(pd.io.common.StringIO(said), dtype={"ward": str})
        assert told["ward"].tolist() == ["007", "008"]
        assert told["forecast"].to_numpy() == pytest.approx([50, -50], abs=15)

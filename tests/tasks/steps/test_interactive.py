"""`race`, as a notebook calls it."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from leaseboard import race
from leaseboard.algorithms.errors import UsageError

STREAM = "synthetic:fried?rows=400&seed=0"


@pytest.fixture
def table(tmp_path):
    """Return a small csv file whose target is not its last column."""
    features = np.random.default_rng(0).random((200, 3))
    frame = pd.DataFrame(features, columns=["a", "b", "rain"])
    frame.insert(0, "load", frame["a"] * frame["b"])
    frame.to_csv(tmp_path / "my.csv", index=False)
    return tmp_path / "my.csv"


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_file_by_its_path_and_target(table, kind):
    found = race(["vanilla", "online-automl"], kind(table), target="load", baselines=False)

    assert set(found.table.index) == {"vanilla", "online-automl"}
    assert found.best == (found.table.index[0],)
    assert found.table["score"].is_monotonic_increasing
    assert list(found.frame["status"]) == ["ok", "ok"]
    assert found.results[0].data.endswith("my.csv?target=load")
    assert "algorithm  " in str(found)
    assert "<table" in found._repr_html_()
    assert found.failures == ()


def test_a_race_on_a_stream_is_against_the_naive_baselines():
    found = race(["online-automl", "vanilla"], STREAM)
    alone = race(["online-automl", "vanilla"], STREAM, baselines=False)

    naive = {"running-mean", "last-label", "seasonal-last", "online-ridge"}
    assert set(found.table.index) == {"online-automl", "vanilla"} | naive
    for name in naive:
        assert name in str(found)
    assert set(alone.table.index) == {"online-automl", "vanilla"}
    assert "best naive" not in str(alone)
    scores = found.frame.set_index("name")["score"]
    assert (
        alone.frame.set_index("name")["score"].to_dict()
        == scores[["online-automl", "vanilla"]].to_dict()
    )


def test_one_that_fails_leaves_the_others(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "from leaseboard import Algorithm\n"
        "class Bad(Algorithm):\n"
        "    environment = 'stream'\n"
        "    def run(self, env, seed):\n"
        "        raise ZeroDivisionError('at the start')\n"
        "        yield\n"
    )
    found = race(["vanilla", f"{bad}:Bad", "online-automl"], STREAM)

    (line,) = found.failures
    assert f"crash: {bad}:5: ZeroDivisionError: at the start" in line
    assert line in str(found)
    assert "at the start" in found._repr_html_()
    assert found.table.loc[f"{bad}:Bad", "ok"] == 0


def test_what_is_wrong_is_said_in_one_line():
    table = pd.DataFrame({"a": [1]})
    for algorithms, data, more, rule in (
        ("chaca", STREAM, {}, "did you mean 'chacha'"),
        ("online-automl", "no.csv", {}, "no.csv: no such file"),
        ("online-automl", STREAM, {"repetitions": 0}, "repetitions=0: give at least 1"),
        ("online-automl", STREAM, {"budget": -1}, "budget must be greater than 0"),
        ({"algorithm": "online-automl", "setings": {}}, STREAM, {}, "algorithms.0.setings"),
        ([], STREAM, {}, "algorithms must have at least 1"),
        (["online-automl", "rising-bandits"], STREAM, {}, "which no leaderboard compares"),
        (["online-automl"], ["sklearn:iris", table], {}, "^data is a list: give a DataFrame"),
        (["online-automl"], np.zeros((2, 2)), {}, "^data is a ndarray: give"),
        (["online-automl"], {"train": "a.csv"}, {}, "^data is a dict: give"),
    ):
        with pytest.raises(UsageError, match=rule) as caught:
            race(algorithms, data, **more)
        assert "\n" not in str(caught.value)


def test_a_race_on_a_file_loads_neither_mlflow_nor_prefect_nor_statistics(table):
    code = (
        f"from leaseboard import race; found = race(['vanilla', 'online-automl'], {str(table)!r},"
        " target='load', baselines=False); str(found)\n"
        "import json, sys\nprint(json.dumps(sorted(sys.modules)))"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)

    heavy = {"mlflow", "prefect", "scipy.stats", "sklearn", "vowpalwabbit", "lightgbm", "openml"}
    assert not heavy & set(json.loads(printed))


def test_a_frame_is_raced_as_its_file(tmp_path):
    rng = np.random.default_rng(0)
    seconds = rng.integers(0, 9000, 200)
    days = pd.date_range("2024-01-01", periods=200, name="day")
    frame = pd.DataFrame({"y": 2.0 * seconds, "shop": rng.choice(["a", "b"], 200)})
    path = tmp_path / "t.parquet"
    frame.assign(stay=seconds / 1, day=days)[["day", "y", "shop", "stay"]].to_parquet(path)
    inside = frame.assign(stay=pd.to_timedelta(seconds, "s")).set_index(days)

    found, known = (race("vanilla", each, target="y", baselines=False) for each in (inside, path))

    assert not found.failures
    assert found.results[0].score == known.results[0].score
    assert found.results[0].environment_options["labels"] == "with=day"
    shuffled = {"algorithm": "vanilla", "environment": {"shuffle": True}}
    assert not race(shuffled, path, target="y", baselines=False).failures
    with pytest.raises(UsageError):
        race([{"name": "vanilla"}], path, target="y")

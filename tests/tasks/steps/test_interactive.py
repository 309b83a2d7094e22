"""`race`, as somebody in a notebook calls it."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from mlflow import MlflowClient

from leaseboard import race
from leaseboard.algorithms.errors import UsageError

STREAM = "synthetic:fried?rows=400&seed=0"


@pytest.fixture
def table(tmp_path):
    """A small csv file whose target is not its last column."""
    features = np.random.default_rng(0).random((200, 3))
    frame = pd.DataFrame(features, columns=["a", "b", "rain"])
    frame.insert(0, "load", frame["a"] * frame["b"])
    frame.to_csv(tmp_path / "my.csv", index=False)
    return tmp_path / "my.csv"


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_file_by_its_path_and_target(table, kind):
    found = race(["vanilla", "chacha"], kind(table), target="load", baselines=False)

    assert set(found.board.index) == {"vanilla", "chacha"}
    assert found.best == (found.board.index[0],)
    assert found.board["score"].is_monotonic_increasing
    assert list(found.frame["status"]) == ["ok", "ok"]
    assert found.results[0].data.endswith("my.csv?target=load")
    assert "algorithm  " in str(found)
    assert "<table" in found._repr_html_()
    assert found.failures == ()


def test_a_race_on_a_stream_is_against_the_naive_baselines():
    found = race(["chacha", "vanilla"], STREAM)
    alone = race(["chacha", "vanilla"], STREAM, baselines=False)

    naive = {"running-mean", "last-label", "seasonal-last", "online-ridge"}
    assert set(found.board.index) == {"chacha", "vanilla"} | naive
    said = next(line for line in str(found).splitlines() if "every baseline" in line)
    assert "vanilla" not in said
    for name in naive:
        assert name in str(found)
    assert set(alone.board.index) == {"chacha", "vanilla"}
    assert "baseline" not in str(alone)
    scores = found.frame.set_index("label")["score"]
    assert (
        alone.frame.set_index("label")["score"].to_dict()
        == scores[["chacha", "vanilla"]].to_dict()
    )


def test_it_scores_as_the_command_does(tmp_path):
    command = ["race", "chacha", STREAM, "--seed", "3", "--json", "--out", str(tmp_path)]
    told = subprocess.check_output([sys.executable, "-m", "leaseboard", *command], text=True)

    (result,) = race("chacha", STREAM, seed=3, baselines=False).results

    assert result.score == json.loads(told.splitlines()[-1])["score"]
    assert (result.seed, result.environment_seed) == (3, 3)


def test_settings_labels_and_repetitions_are_those_of_a_suite():
    wide = {"name": "chacha", "label": "wide", "settings": {"b": 8}}
    found = race([wide, "chacha"], STREAM, seed=1, repetitions=2, budget=300, baselines=False)

    assert [result.seed for result in found.results] == [1, 1, 2, 2]
    assert {result.budget for result in found.results} == {300}
    assert found.frame.set_index("label").loc["wide", "settings"].iloc[0]["b"] == 8
    assert list(found.board["jobs"]) == [2, 2]


def test_several_data_sets_make_one_board():
    found = race(["vanilla", "chacha"], [STREAM, "sklearn:diabetes"], baselines=False)

    assert len(found.results) == 4
    assert found.board["score"].between(0, 1).all()


def test_one_that_fails_leaves_the_others(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "from leaseboard import Algorithm\n"
        "class Bad(Algorithm):\n"
        "    bench = 'stream'\n"
        "    def run(self, bench, seed):\n"
        "        raise ZeroDivisionError('at the start')\n"
        "        yield\n"
    )
    found = race(["vanilla", f"{bad}:Bad", "chacha"], STREAM)

    (line,) = found.failures
    assert "crash: ZeroDivisionError: at the start" in line
    assert line in str(found)
    assert "at the start" in found._repr_html_()
    assert found.board.loc[f"{bad}:Bad", "ok"] == 0


def test_data_that_cannot_be_had_are_skipped_and_nobody_won():
    found = race("vanilla", "openml:1", baselines=False)

    assert found.best == ()
    assert "skipped: openml:1 is not available" in str(found)


@pytest.mark.parametrize(
    ("algorithms", "data", "more", "rule"),
    [
        ("chaca", STREAM, {}, "did you mean 'chacha'"),
        ("chacha", "no.csv", {}, "no.csv: no such file"),
        ("chacha", STREAM, {"repetitions": 0}, "repetitions=0: give at least 1"),
        ("chacha", STREAM, {"budget": -1}, "budget: .* greater than 0"),
        ({"name": "chacha", "setings": {}}, STREAM, {}, "algorithms.0.setings"),
        ([], STREAM, {}, "algorithms: .* at least 1"),
        (["chacha", "rising-bandits"], STREAM, {}, "which one board cannot compare"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(algorithms, data, more, rule):
    with pytest.raises(UsageError, match=rule) as caught:
        race(algorithms, data, **more)
    assert "\n" not in str(caught.value)


def test_mlflow_is_asked_only_if_named(tmp_path, empty_store):
    store = tmp_path / "mlflow.db"
    store.write_bytes(empty_store.read_bytes())

    (result,) = race("vanilla", STREAM, tracking_uri=f"sqlite:///{store}", baselines=False).results

    client = MlflowClient(f"sqlite:///{store}")
    experiment = client.get_experiment_by_name("race")
    runs = client.search_runs([experiment.experiment_id])
    assert result.score in [run.data.metrics.get("score") for run in runs]


def test_a_race_on_a_file_loads_neither_mlflow_nor_prefect_nor_statistics(table):
    code = (
        f"from leaseboard import race; found = race(['vanilla', 'chacha'], {str(table)!r},"
        " target='load', baselines=False); str(found)\n"
        "import json, sys\nprint(json.dumps(sorted(sys.modules)))"
    )
    told = subprocess.check_output([sys.executable, "-c", code], text=True)

    heavy = {"mlflow", "prefect", "scipy.stats", "sklearn", "vowpalwabbit", "lightgbm", "openml"}
    assert not heavy & set(json.loads(told))


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


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (["sklearn:iris", pd.DataFrame({"a": [1]})], "DataFrame"),
        (np.zeros((2, 2)), "ndarray"),
        ({"train": "a.csv"}, "dict"),
    ],
)
def test_a_table_in_memory_is_refused_with_the_mend(data, kind):
    with pytest.raises(UsageError, match=f"^data holds a {kind}: .*to_parquet"):
        race(["chacha"], data, target="bought")


@pytest.mark.parametrize("rows", [1, 200], ids=["the first row", "all rows"])
def test_rows_without_any_value_are_learned_by_every_stream_algorithm(rows):
    """Features grow with the values that come, so such a stream begins without one."""
    table = pd.DataFrame(
        {"a": np.arange(200.0) % 7, "y": np.arange(200.0) % 7 + np.arange(200) / 999}
    )
    table.loc[: rows - 1, "a"] = np.nan
    names = ["chacha", "chacha-paper", "chacha-flaml", "chacha-aggressive", "exhaustive"]
    for labels in (table["y"], table["y"].gt(3).map({True: "high", False: "low"})):
        raced = race(names, table.assign(y=labels), target="y")
        statuses = {result.label: result.status for result in raced.results}
        assert [statuses[name] for name in names] == ["ok"] * len(names)

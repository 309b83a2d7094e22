"""What must hold of any dataset: its task, target, sample, digest, and its copy for jobs."""

import numpy as np
import pandas as pd
import pytest

from leaseboard import race
from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch.dataset import (
    MOST_CLASSES,
    Options,
    RawTable,
    digest_of,
    finish,
    infer_task,
)
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.prepared import cache_dataset, load_mapped
from leaseboard.tasks.live.first_files import infer
from leaseboard.tasks.live.settings import DataSettings
from leaseboard.tasks.models.columns import read_rows
from leaseboard.tasks.models.stream_model import StreamModel

Y = [0.5, 1.5, 2.5]


def make(values, declared=None, **options):
    frame = pd.DataFrame({"a": range(len(values)), "y": values})
    return finish(RawTable(frame, "x", task=declared), Options(**options), "file:x.csv")


def test_the_task_follows_the_kind_of_target_unless_it_is_said():
    for values, task in (
        (["u", "v"], "classification"),
        ([True, False], "classification"),
        ([0.5, 1.0], "regression"),
        ([1.0, 2.0], "classification"),
        (range(MOST_CLASSES), "classification"),
        (range(MOST_CLASSES + 1), "regression"),
        ([np.inf, 1.0], "regression"),
    ):
        assert infer_task(pd.Series(values)) == task
    courses = [f"{i} {'CS' if i % 2 else 'MAT'}" for i in range(MOST_CLASSES + 1)]
    assert infer_task(pd.Series(courses)) == "classification"
    assert make([1, 2, 3], "regression").task == "regression"
    assert make([1, 2, 3], "regression", task="classification").task == "classification"


def test_targets_are_made_by_the_task_a_threshold_and_a_name():
    declared = pd.Categorical(["b", "c", "b"], categories=["c", "b", "a"])
    assert make([10, 9, 10]).target.cat.categories.tolist() == ["9", "10"]
    assert make([1.0, 2.0, 1.0]).target.cat.categories.tolist() == ["1", "2"]
    assert make(declared).target.cat.categories.tolist() == ["c", "b"]
    assert make(pd.Categorical(["3", "10"]), task="regression").target.tolist() == [3.0, 10.0]
    assert make(Y, threshold=1.5).target.tolist() == ["<1.5", ">=1.5", ">=1.5"]
    other = make(["u", "v", "u"], target="a", task="regression")
    assert (other.target.name, other.features["y"].tolist()) == ("a", ["u", "v", "u"])
    dropped = make([0.5, None, 1.5, 2.5], missing_target="drop")
    assert (dropped.target.tolist(), dropped.features["a"].tolist()) == (Y, [0, 2, 3])


@pytest.mark.parametrize(
    ("values", "options", "named"),
    [
        (Y, {"target": "z"}, "'z'"),
        (Y, {"threshold": "9"}, "'y' is constant at threshold 9 .always <9."),
        ([1, 1, 1], {}, "'y' is constant .always 1.: .*`leaseboard learn`"),
        ([0.5, None], {}, r"'y' is missing \(NaN\) in 1 of 2 rows: .*missing_target=drop"),
        ([0.5, None], {"missing_target": "drop"}, "1 row: at least two"),
        ([0.5, np.inf], {}, "'y' is not numeric.* finite in 32 bits, and inf in row 2"),
        (["u", "v"], {"task": "regression"}, "'y' is not numeric, as a regression's"),
        (["u", "v"], {"threshold": "1"}, "'y' is not numeric, as one with"),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), {}, "'y' holds dates"),
        (Y, {"rows": "4"}, "rows=4 of 3 rows: ask for at most 3"),
        (["u", "v", "w"], {"rows": "2"}, "rows=2 of 3 classes"),
        ([f"${i}.50" for i in range(MOST_CLASSES + 1)], {}, "'y' has .* such as '.0.50'"),
        ([f"{i}.50 EUR" for i in range(MOST_CLASSES + 1)], {}, "'y' has .* such as '0.50 EUR'"),
    ],
)
def test_what_cannot_be_learned_is_one_clear_line(values, options, named):
    with pytest.raises(DataError, match=named) as caught:
        make(values, **options)
    assert "\n" not in str(caught.value)


def test_a_sample_has_every_class_in_the_order_of_the_source():
    classes = ["u"] * 300 + ["v"] * 99 + ["w"]
    data = make(classes, rows=40)

    assert data.target.value_counts().to_dict() == {"u": 30, "v": 9, "w": 1}
    assert data.features["a"].is_monotonic_increasing
    assert data.features["a"].iloc[:30].max() > 100  # no first rows
    assert data.features.index.tolist() == data.target.index.tolist() == list(range(40))
    assert make(classes, first_rows=301).features["a"].tolist() == list(range(301))
    assert make(classes, rows=40).digest == data.digest != make(classes, rows=41).digest
    assert make([*range(25)] * 4, rows=10).task == "regression"  # that of the whole table


def digest(frame: pd.DataFrame, target=(1.5, 2.5), task: str = "regression") -> str:
    return digest_of(frame, pd.Series(target, name="y"), task)


def test_the_digest_is_pinned():
    frame = pd.DataFrame({
        "n": [1.5, np.nan], "i": [1, 2], "b": [True, False],
        "c": pd.Categorical(["u", None], categories=["v", "u"]),
        "t": pd.Series(["long", None], dtype=object),
    })  # fmt: skip

    assert digest(frame) == "b196d1cf83423047cb8f5781cf12538c"
    assert digest(frame.astype({"i": "float32"})) == digest(frame) != digest(frame[["n"]])


def rows_of_all_kinds():
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "whole": np.arange(60, dtype="int8"),
        "real": rng.normal(size=60).astype("float32"),
        "gap": pd.Series(rng.normal(size=60)).where(np.arange(60) > 9),
        "kind": pd.Categorical(rng.choice(["b", "a"], 60), categories=["c", "b", "a"]),
        "word": rng.choice(["u v", "ü"], 60),
        "text": ["long " * 60 + str(i) if i % 7 else None for i in range(60)],
        "day": pd.date_range("2024-03-30T09:00", periods=60).where(np.arange(60) > 3),
        "flag": np.arange(60) % 3 == 0,
        "y": rng.choice(["yes", "no"], 60),
    })  # fmt: skip


def hold(frame, name, place):
    return cache_dataset(finish(RawTable(frame, name), Options(), f"held:{name}"), place)


def test_every_job_maps_the_same_data_and_cannot_change_them(tmp_path):
    kept = hold(rows_of_all_kinds(), "all", tmp_path)
    data, strided = (
        load_mapped(kept.table),
        pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=list("abc")),
    )
    other = load_mapped(cache_dataset(data, tmp_path).table)
    pd.testing.assert_frame_equal(data.features, other.features)
    pd.testing.assert_series_equal(data.target, other.target)
    assert digest_of(other.features, other.target, other.task) == data.digest
    assert (data.reference, kept.digest) == ("held:all", data.digest)
    for each in (data, load_mapped(hold(strided, "s", tmp_path).table)):
        for name in each.features.select_dtypes("number"):
            values = each.features[name].array._ndarray  # to_numpy is read-only anyway
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1
    with pytest.raises(DataError, match="'1' occurs twice"):
        hold(pd.DataFrame({1: [1, 2, 3], "1": [4, 5, 6], "y": Y}), "t", tmp_path)


N = 60


def with_texts(**wrong):
    """Return a table with texts at places of columns."""
    frame = pd.DataFrame({
        "price": np.arange(N) / 4,
        "day": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
        "kind": ["a", "b", "c"] * (N // 3),
        "sold": np.arange(N) % 7 + 0.5,
    }).astype(object)  # fmt: skip
    for name, places in wrong.items():
        for row, text in places.items():
            frame.loc[row, name] = text
    return frame


def ways(path):
    """Return each way in which a table of a file comes."""
    frame = read_rows(path)
    return {
        "learn": lambda: StreamModel.for_table(frame, target="sold").learn_table(frame),
        "suites and race": lambda: load(f"file:{path}?target=sold"),
        "race of a frame": lambda: race("vanilla", pd.read_csv(path), target="sold"),
        "live": lambda: infer(frame, DataSettings(source=f"folder:{path}", target="sold")),
    }


def test_few_texts_among_numbers_or_dates_are_refused_everywhere_with_one_message(tmp_path):
    for wrong, said in (
        ({"price": {3: "n/k", 8: "tba"}}, "column 'price' holds numbers in 58 rows, and texts"),
        ({"day": {0: "someday"}}, "column 'day' holds dates in 59 rows, and texts in 1:"),
        ({"sold": {9: "closed"}}, "column 'sold' holds numbers in 59 rows"),
    ):
        with_texts(**wrong).to_csv(tmp_path / "table.csv", index=False)
        for way in ways(tmp_path / "table.csv").values():
            with pytest.raises(DataError) as found:
                way()
            assert str(found.value).startswith(said)
            assert "\n" not in str(found.value)

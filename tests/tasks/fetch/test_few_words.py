"""A column of numbers, or dates, with a few texts is refused with one message everywhere."""

import numpy as np
import pandas as pd
import pytest

from leaseboard import race
from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.fetch.columns import refuse_unclear
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.live.first_files import infer
from leaseboard.tasks.models.stream_model import StreamModel
from leaseboard.tasks.models.table_files import read_rows

N = 60


def table(**wrong):
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


WRONG = {
    "a number": (
        {"price": {3: "n/k", 8: "tba", 20: "n/k", 21: "soon"}},
        "column 'price' holds numbers in 56 rows, and texts in 4: 'n/k' in row 4, 'tba' in row 9",
    ),
    "a date": ({"day": {0: "someday"}}, "column 'day' holds dates in 59 rows, and texts in 1:"),
    "the target": ({"sold": {9: "closed"}}, "column 'sold' holds numbers in 59 rows"),
}


def ways(path):
    """Return each way in which a table of a file comes."""
    frame = read_rows(path)
    return {
        "learn": lambda: StreamModel.for_table(frame, target="sold").learn_table(frame),
        "suites and race": lambda: load(f"file:{path}?target=sold"),
        "race of a frame": lambda: race("vanilla", pd.read_csv(path), target="sold"),
        "live": lambda: infer(frame, target="sold"),
    }


def test_few_texts_are_refused_everywhere_with_one_message(tmp_path):
    for wrong, said in WRONG.values():
        table(**wrong).to_csv(tmp_path / "table.csv", index=False)
        for way in ways(tmp_path / "table.csv").values():
            with pytest.raises(DataError) as found:
                way()
            assert str(found.value).startswith(said)
            assert "\n" not in str(found.value)


def test_more_texts_are_categories_everywhere(tmp_path):
    wrong = {"price": dict.fromkeys(range(0, N, 5), "n/k")}
    table(**wrong).to_csv(tmp_path / "table.csv", index=False)
    found = ways(tmp_path / "table.csv")
    for way in ("learn", "live"):
        found[way]()
    features = found["suites and race"]().features
    assert isinstance(features["price"].dtype, pd.CategoricalDtype)


def test_at_the_share_they_are_refused_and_above_it_not():
    column = pd.Series([*map(str, range(90)), *["x"] * 10], name="x")
    with pytest.raises(DataError, match="texts in 10: 'x' in row 91"):
        refuse_unclear(column)
    refuse_unclear(pd.concat([column, pd.Series(["x"])], ignore_index=True))


def test_categories_that_are_declared_may_be_anything():
    refuse_unclear(table(price={3: "x"})["price"].astype(str).astype("category"))
    load_of_classes = table(sold={9: "closed"})
    model = StreamModel.for_table(load_of_classes, target="sold", task="classification")
    assert model.task == "classification"

"""``leaseboard learn`` of a first table: what its columns are taken for, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from tests.flows.sales import sales, wrong


def first(**columns):
    """Return a first table with one thing wrong: a row of 60 is another, or a column is new."""
    frame = sales(60)
    for name, value in columns.items():
        frame = wrong(frame, **{name: value}) if name in frame else frame.assign(**{name: value})
    return frame


CLASSES, NUMBERS = ("--task", "classification"), ("--task", "regression")
DAY = ("--target", "day")
FIRST = [
    (first(price=(3, "oops")), (),
     "'price' holds numbers in 59 rows, and texts in 1: 'oops' in row 4"),
    (first(day=(3, "soon")), (), "'day' holds dates in 59 rows, and texts in 1: 'soon' in row 4"),
    (first(day=(3, "2024-02-30")), (),
     "'day' holds dates in 59 rows, and texts in 1: '2024-02-30' in row 4"),
    (first(sold=(3, "oops")), (), "'sold' holds numbers in 59 rows, and texts in 1: 'oops' in"),
    (first(price=(3, "true")), (),
     "'price' holds numbers in 59 rows, and texts in 1: 'true' in row 4"),
    (first(sold=(3, "N/A")), (), "row 4 has no sold: leave out the 1 rows"),
    (first(price=(3, "inf")), (), "are finite in 32 bits, and inf in row 4 does not fit"),
    (first(prediction=1.5), ("--target", "sold"), "'prediction' is called like one that"),
    (first().rename(columns={"sold": "prediction"}), (),
     "column 'prediction' is called like one that `leaseboard predict` adds"),
    (first(), DAY, "target 'day' holds dates, and is to be numbers or classes: make it"),
    (first(), (*DAY, *NUMBERS), "target 'day' holds dates"),
    (first(), (*DAY, *CLASSES), "target 'day' holds dates"),
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


@pytest.mark.slow
def test_a_first_table_with_marks_of_gaps_is_as_one_that_has_gaps(call):
    frame = first(price=(3, None), day=(5, None))
    frame.to_csv("empty.csv", index=False)
    call("learn", "empty", "empty.csv")
    others = []
    for gap in ("N/A", "-", "?", "n/a", "None", "NULL", "--", "#N/A", "nan"):
        frame.to_csv("marked.csv", index=False, na_rep=gap)
        Path("marked").unlink(missing_ok=True)
        said = call("learn", "marked", "marked.csv")[1]
        alike = Path("empty").read_bytes() == Path("marked").read_bytes()
        if not alike or "columns taken as numbers: price, rain, shop; dates: day" not in said:
            others.append(gap)

    assert others == []


@pytest.mark.slow
def test_few_words_among_numbers_are_texts_where_that_is_declared_or_where_they_are_many(call):
    frame = first(shop=(3, "x"))
    frame.assign(shop=frame["shop"].astype("category")).to_parquet("declared.parquet")
    frame.assign(shop=np.where(np.arange(60) % 5, frame["shop"], "x")).to_csv(
        "many.csv", index=False
    )

    for file in ("declared.parquet", "many.csv"):
        assert "texts: shop" in call("learn", f"{file}.model", file)[1]


def test_an_infinite_value_is_not_predicted(call):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    for value in ("1e39", "-inf"):
        wrong(sales(60), price=(3, value)).to_csv("asked.csv", index=False)
        code, said, complained = call("predict", "sales.model", "asked.csv")

        assert (code, said, complained.count("\n")) == (64, "", 1)
        assert "column 'price' holds numbers that are finite in 32 bits, and" in complained
        assert "in row 4 does not fit: fix that row, or leave it out" in complained


@pytest.mark.slow
def test_a_model_of_classes_does_not_take_dates_for_some(call):
    sales(60).to_csv("sales.csv", index=False)
    given = ("--target", "shop", "--task", "classification")
    call("learn", "shops.model", "sales.csv", *given)
    frame = sales(60)
    frame.assign(shop=frame["day"]).to_csv("days.csv", index=False)

    assert "'shop' holds dates, and is to be" in call("learn", "shops.model", "days.csv")[2]


def test_what_predict_wrote_is_not_learned_as_features(call):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    call("predict", "sales.model", "sales.csv", "--output", "predicted.csv")

    complained = call("learn", "sales.model", "predicted.csv")[2]
    assert "column 'prediction' is called like one that `leaseboard predict` adds" in complained


@pytest.mark.slow
def test_any_level_has_intervals_and_what_is_no_level_is_reported(call):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    call("learn", "plain.model", "sales.csv", "--algorithm", "chacha")
    for model, level, words in (
        ("sales.model", "70", "--level 70.0 must be between 0 and 1, such as 0.9"),
        ("plain.model", "0.9", "learn a new model with --algorithm online-automl"),
    ):
        assert words in call("predict", model, "sales.csv", "--level", level, code=64).err
    call("predict", "sales.model", "sales.csv", "--level", "0.7", code=0)


def test_a_table_with_low_and_high_of_its_own_is_predicted_without_intervals(call):
    sales(60).assign(low=1.5, high=2.5)[["low", "price", "high", "sold"]].to_csv(
        "stock.csv", index=False
    )
    call("learn", "stock.model", "stock.csv")

    asked = ("predict", "stock.model", "stock.csv")
    call(*asked, code=0)
    complained = call(*asked, "--level", "0.9", code=64).err
    assert "--level adds a column 'low', and the model has learned one" in complained

"""``leaseboard learn`` of a first table: what its columns are taken for, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from tests.flows.sales import sales, wrong


def first(**columns):
    """A first table with one thing wrong: a row of 60 is another, or a column is new."""
    frame = sales(60)
    for name, value in columns.items():
        frame = wrong(frame, **{name: value}) if name in frame else frame.assign(**{name: value})
    return frame


CLASSES, NUMBERS = ("--task", "classification"), ("--task", "regression")
DAY = ("--target", "day")
TAKEN = first().rename(columns={"sold": "forecast"})
FIRST = {
    "a word": (
        first(price=(3, "oops")),
        (),
        "'price' holds numbers in 59 rows, and texts in 1: 'oops' in row 4",
    ),
    "no date": (
        first(day=(3, "soon")),
        (),
        "'day' holds dates in 59 rows, and texts in 1: 'soon' in row 4",
    ),
    "no such day": (
        first(day=(3, "2024-02-30")),
        (),
        "'day' holds dates in 59 rows, and texts in 1: '2024-02-30' in row 4",
    ),
    "a wordy label": (
        first(sold=(3, "oops")),
        (),
        "'sold' holds numbers in 59 rows, and texts in 1: 'oops' in",
    ),
    "a flag": (
        first(price=(3, "true")),
        (),
        "'price' holds numbers, and true or false in row 4: write",
    ),
    "no label": (first(sold=(3, "N/A")), (), "row 4 has no sold: leave out the 1 rows"),
    "infinite": (first(price=(3, "inf")), (), "are finite in 32 bits, and inf in row 4 is none"),
    "forecast": (first(forecast=1.5), ("--target", "sold"), "'forecast' is called like one that"),
    "the target": (
        TAKEN,
        (),
        "column 'forecast' is called like one that `leaseboard predict` adds",
    ),
    "dates": (first(), DAY, "target 'day' holds dates, and is to be numbers or classes: make it"),
    "dates as numbers": (first(), (*DAY, *NUMBERS), "target 'day' holds dates"),
    "dates as classes": (first(), (*DAY, *CLASSES), "target 'day' holds dates"),
    "probability": (
        first(**{"probability of x": 0.5}),
        ("--target", "shop", *CLASSES),
        "column 'probability of x' is called like one that `leaseboard predict` adds: rename it",
    ),
}


@pytest.mark.parametrize("case", FIRST)
def test_what_is_wrong_with_a_first_table_is_told_in_one_line(call, case):
    frame, given, words = FIRST[case]
    frame.to_csv("first.csv", index=False)
    code, _, complained = call("learn", "new.model", "first.csv", *given)

    assert code == 64
    assert words in complained
    assert complained.count("\n") == 1
    assert not Path("new.model").exists()


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


def test_few_words_among_numbers_are_texts_where_that_is_declared_or_where_they_are_many(call):
    frame = first(shop=(3, "x"))
    frame.assign(shop=frame["shop"].astype("category")).to_parquet("declared.parquet")
    frame.assign(shop=np.where(np.arange(60) % 5, frame["shop"], "x")).to_csv(
        "many.csv", index=False
    )

    for file in ("declared.parquet", "many.csv"):
        assert "texts: shop" in call("learn", f"{file}.model", file)[1]


def test_an_infinite_value_is_not_forecast(call):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    for value in ("1e39", "-inf"):
        wrong(sales(60), price=(3, value)).to_csv("asked.csv", index=False)
        code, said, complained = call("predict", "sales.model", "asked.csv")

        assert (code, said, complained.count("\n")) == (64, "", 1)
        assert "column 'price' holds numbers that are finite in 32 bits, and" in complained
        assert "in row 4 is none: mend that row, or leave it out" in complained


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
    call("predict", "sales.model", "sales.csv", "--out", "told.csv")

    complained = call("learn", "sales.model", "told.csv")[2]
    assert "column 'forecast' is called like one that `leaseboard predict` adds" in complained


def test_a_level_that_is_not_kept_is_told_with_the_option_that_keeps_it(call):
    sales(60).to_csv("sales.csv", index=False)
    call("learn", "sales.model", "sales.csv")
    call("learn", "plain.model", "sales.csv", "--algorithm", "chacha-icml-eval")
    told = {
        (
            "sales.model",
            "0.7",
        ): "--level 0.7 is none of 0.5, 0.8, 0.9, 0.95, 0.99, which this"
        " model keeps: name one of them, or learn a new model with --set levels=[0.7]",
        ("sales.model", "70"): "--level 70.0 must be between 0 and 1, such as 0.9",
        (
            "plain.model",
            "0.9",
        ): "--level 0.9: 'chacha-icml-eval' keeps no prediction intervals:"
        " learn a new model with --algorithm chacha",
    }
    for (model, level), words in told.items():
        code, _, complained = call("predict", model, "sales.csv", "--level", level)
        assert code == 64
        assert words in complained

    assert call("learn", "wide.model", "sales.csv", "--set", "levels=[0.7]")[0] == 0
    assert call("predict", "wide.model", "sales.csv", "--level", "0.7")[0] == 0


def test_a_table_with_low_and_high_of_its_own_is_forecast_without_intervals(call):
    sales(60).assign(low=1.5, high=2.5)[["low", "price", "high", "sold"]].to_csv(
        "stock.csv", index=False
    )
    call("learn", "stock.model", "stock.csv")

    assert call("predict", "stock.model", "stock.csv")[0] == 0
    code, _, complained = call("predict", "stock.model", "stock.csv", "--level", "0.9")
    assert code == 64
    assert (
        "--level adds a column 'low', and the model has learned one: leave --level" in complained
    )

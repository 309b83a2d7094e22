"""``leaseboard learn`` of a first table: what its columns are taken for, and what is refused."""

from pathlib import Path

from tests.flows.sales import sales


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
    assert "--level adds a column 'low', and the model has learned one" in complained

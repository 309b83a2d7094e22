"""``leaseboard learn`` of a first table: what its columns are taken for, and what is refused."""

from pathlib import Path

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
    (first(day=(3, "2024-02-30")), (),
     "'day' holds dates in 59 rows, and texts in 1: '2024-02-30' in row 4"),
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


def test_a_table_with_low_and_high_of_its_own_is_predicted_without_intervals(call):
    sales(60).assign(low=1.5, high=2.5)[["low", "price", "high", "sold"]].to_csv(
        "stock.csv", index=False
    )
    call("learn", "stock.model", "stock.csv")

    asked = ("predict", "stock.model", "stock.csv")
    call(*asked, code=0)
    complained = call(*asked, "--level", "0.9", code=64).err
    assert "--level adds a column 'low', and the model has learned one" in complained

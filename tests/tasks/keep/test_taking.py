"""What a batch brings: every row once, every label once, and nothing dropped in silence."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.keep.rows import RELABELLED, UNKNOWN, sort_rows
from leaseboard.tasks.keep.settings import DataSettings
from leaseboard.tasks.store.live_tables import KeptRow

DATA = DataSettings(source="folder:in/*.csv", id="order", time="day", target="y")


def frame(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def taken(table: pd.DataFrame, known: dict[str, KeptRow] | None = None):
    return sort_rows(
        table, [str(each) for each in table["order"]], known or {}, DATA, "2026-01-09"
    )


def kept(found) -> dict[str, KeptRow]:
    """As the state would give them back."""
    return {row.id: replace(row, number=i) for i, row in enumerate(found.new, 1)}


def test_new_rows_with_and_without_labels():
    found = taken(
        frame(order=[1, 2], day=["2026-01-01", None], a=[0.5, 1.5], y=[3.0, float("nan")])
    )
    first, second = found.new
    assert (first.id, first.day, first.label, first.is_settled) == ("1", "2026-01-01", "3.0", True)
    assert first.features == '{"a":0.5,"day":"2026-01-01"}'
    assert (second.day, second.label) == ("2026-01-09", None)
    assert found.counts() == {"new": 2, "labels": 1, "repeated": 0, "aside": 0}


def test_a_label_comes_with_the_row_again_or_alone():
    known = kept(taken(frame(order=[1, 2], a=[0.5, 1.5], y=[None, None])))
    again = taken(frame(order=[1], a=[0.5], y=[7.0]), known)
    alone = taken(frame(order=[2], y=[8.0]), known)
    assert [(r.number, r.label) for r in again.labelled + alone.labelled] == [
        (1, "7.0"),
        (2, "8.0"),
    ]
    assert again.new == alone.new == []


def test_an_id_reused_a_label_changed_and_a_label_for_nobody_are_set_aside():
    known = kept(taken(frame(order=[1, 2], a=[0.5, 1.5], y=[1.0, None])))
    reused = taken(frame(order=[2], a=[9.0], y=[1.0]), known)
    changed = taken(frame(order=[1], a=[0.5], y=[2.0]), known)
    nobody = taken(frame(order=[3], y=[2.0]), known)
    assert [each[1] for each in reused.aside] == [
        "its order is that of an earlier row with other values"
    ]
    assert changed.aside == [("1", RELABELLED, '{"y":2.0}')]
    assert nobody.aside == [("3", UNKNOWN, '{"y":2.0}')]


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 1), st.sampled_from([None, 1.0])), max_size=12
    )
)
def test_every_row_is_counted_once(rows):
    table = pd.DataFrame(rows, columns=["order", "a", "y"])
    first, second = table.iloc[: len(table) // 2], table.iloc[len(table) // 2 :]
    before = taken(first)
    after = taken(second, kept(before))
    for part, found in ((first, before), (second, after)):
        # A row that comes twice in a batch, the second time with its label, is one row.
        merged = len(part) - len(found.new) - len(found.labelled) - len(found.aside)
        assert 0 <= merged - found.repeated <= len(found.new)
    ids = [row.id for row in before.new + after.new]
    assert len(ids) == len(set(ids))


def test_rows_of_days_that_are_forgotten_may_have_been_learned():
    frame = pd.DataFrame({"when": ["2026-01-01", "2026-01-02", "2026-01-04"], "y": [1.0, 2, 3]})
    frame = frame.assign(order=["a", "b", "c"], a=0.5)
    data = DataSettings(source="folder:*.csv", time="when", id="order", target="y")
    taken = sort_rows(frame, list("abc"), {}, data, "", ("2026-01-02", "2026-01-03"))
    assert [row.id for row in taken.new] == ["a", "c"]
    assert (taken.repeated, taken.old) == (1, 1)


def test_the_same_id_twice_in_one_batch():
    found = taken(frame(order=[1, 1, 2, 2], a=[0.5, 0.5, 1.0, 2.0], y=[None, 4.0, 1.0, 1.0]))
    assert [(row.id, row.label) for row in found.new] == [("1", "4.0"), ("2", "1.0")]
    assert [(each[0], each[1]) for each in found.aside] == [
        ("2", "its order stands in the batch twice, with other values")
    ]

"""Rows: their identity, what they hold, what a batch brings, what a caller sends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.live.contract_check import CheckedRow
from leaseboard.tasks.live.rows import RELABELLED, identify, sort_rows
from leaseboard.tasks.live.settings import ColumnRule, DataSettings
from leaseboard.tasks.store.live_tables import StoredRow

DATA = DataSettings(source="folder:*.csv", target="y")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = {
    "a": ColumnRule(kind="number", missing=1),
    "b": ColumnRule(kind="text", missing=1),
    "day": ColumnRule(kind="date", missing=1),
    "y": ColumnRule(kind="number", missing=1, required=False),
}
ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, None]), st.sampled_from(["u", "v", None])), max_size=30
)


def checked(rows):
    return [
        CheckedRow({"a": a, "b": b, "y": None}, {"day": datetime(2026, 1, 1)}) for a, b in rows
    ]


@given(ROWS)
def test_no_two_rows_of_a_batch_are_taken_for_one(rows):
    found = identify(checked(rows), DATA)
    assert len(set(found)) == len(found)


@given(ROWS, ROWS)
def test_a_file_that_grows_brings_the_rows_that_it_had(rows, more):
    assert identify(checked(rows + more), DATA)[: len(rows)] == identify(checked(rows), DATA)


BY_ORDER = DataSettings(source="folder:in/*.csv", id="order", time="day", target="y")


def table_of(**columns: list[object]) -> list[dict[str, object]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def taken(table, known: dict[str, StoredRow] | None = None):
    alone = bool(table) and "a" not in table[0]
    rows = [(str(row["order"]), "2026-01-09", row) for row in table]
    return sort_rows(rows, known or {}, BY_ORDER, alone=alone)


def kept(found) -> dict[str, StoredRow]:
    """Return rows in the form in which the state gives them back."""
    return {row.id: replace(row, number=i) for i, row in enumerate(found.new, 1)}


def test_an_id_reused_a_label_changed_and_a_label_without_its_row_are_quarantined():
    known = kept(taken(table_of(order=[1, 2], a=[0.5, 1.5], y=[1.0, None])))
    reused = taken(table_of(order=[2], a=[9.0], y=[1.0]), known)
    changed = taken(table_of(order=[1], a=[0.5], y=[2.0]), known)
    unknown = taken(table_of(order=[3], y=[2.0]), known)
    assert [each[1] for each in reused.quarantined] == [
        "its order is that of an earlier row with other values"
    ]
    assert changed.quarantined == [("1", RELABELLED, '{"y":2.0}')]
    assert (unknown.quarantined, unknown.early) == ([], {"3": "2.0"})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), st.sampled_from([None, 1.0])),
                max_size=12))  # fmt: skip
def test_every_row_is_counted_once(rows):
    table = [{"order": order, "a": a, "y": y} for order, a, y in rows]
    first, second = table[: len(table) // 2], table[len(table) // 2 :]
    before = taken(first)
    after = taken(second, kept(before))
    for part, found in ((first, before), (second, after)):
        # A row that comes twice in a batch, the second time with its label, is one row.
        merged = len(part) - len(found.new) - len(found.labelled) - len(found.quarantined)
        assert 0 <= merged - found.repeated <= len(found.new)
    ids = [row.id for row in before.new + after.new]
    assert len(ids) == len(set(ids))


def test_rows_of_days_that_are_forgotten_may_have_been_learned():
    days = {"a": "2026-01-01", "b": "2026-01-02", "c": "2026-01-04"}
    rows = [(order, day, {"order": order, "a": 0.5, "y": 1.0}) for order, day in days.items()]
    taken = sort_rows(rows, {}, BY_ORDER, forgotten=("2026-01-02", "2026-01-03"))
    assert [row.id for row in taken.new] == ["a", "c"]
    assert (taken.repeated, taken.old) == (1, 1)

"""Rows: their identity, what they hold, what a batch brings, what a caller sends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.live.contract import ColumnRule, Contract
from leaseboard.tasks.live.contract_check import check, row_check
from leaseboard.tasks.live.rows import (
    RELABELLED,
    features_of,
    identify,
    row_reader,
    sort_rows,
    values_in,
)
from leaseboard.tasks.live.settings import DataSettings
from leaseboard.tasks.store.live_tables import StoredRow
from tests.tasks.live.test_contract_check import NOW as CHECKED_AT
from tests.tasks.live.test_contract_check import RULES, VALUES

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


def frame(rows):
    made = pd.DataFrame(rows, columns=["a", "b"]).astype({"a": float, "b": object})
    return made.assign(day=pd.Timestamp("2026-01-01"))


@given(ROWS)
def test_no_two_rows_of_a_batch_are_taken_for_one(rows):
    assert identify(frame(rows), DATA).is_unique


@given(ROWS, ROWS)
def test_a_file_that_grows_brings_the_rows_that_it_had(rows, more):
    before = identify(frame(rows), DATA)

    assert identify(frame(rows + more), DATA).tolist()[: len(rows)] == before.tolist()


BY_ORDER = DataSettings(source="folder:in/*.csv", id="order", time="day", target="y")


def table_of(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def taken(table: pd.DataFrame, known: dict[str, StoredRow] | None = None):
    return sort_rows(
        table, [str(each) for each in table["order"]], known or {}, BY_ORDER, "2026-01-09",
        alone="a" not in table,
    )  # fmt: skip


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
    table = pd.DataFrame(rows, columns=["order", "a", "y"])
    first, second = table.iloc[: len(table) // 2], table.iloc[len(table) // 2 :]
    before = taken(first)
    after = taken(second, kept(before))
    for part, found in ((first, before), (second, after)):
        # A row that comes twice in a batch, the second time with its label, is one row.
        merged = len(part) - len(found.new) - len(found.labelled) - len(found.quarantined)
        assert 0 <= merged - found.repeated <= len(found.new)
    ids = [row.id for row in before.new + after.new]
    assert len(ids) == len(set(ids))


def test_rows_of_days_that_are_forgotten_may_have_been_learned():
    frame = pd.DataFrame({"when": ["2026-01-01", "2026-01-02", "2026-01-04"], "y": [1.0, 2, 3]})
    frame = frame.assign(order=["a", "b", "c"], a=0.5)
    data = DataSettings(source="folder:*.csv", time="when", id="order", target="y")
    taken = sort_rows(
        frame, list("abc"), {}, data, "", times=pd.to_datetime(frame["when"]),
        forgotten=("2026-01-02", "2026-01-03"),
    )  # fmt: skip
    assert [row.id for row in taken.new] == ["a", "c"]
    assert (taken.repeated, taken.old) == (1, 1)


@given(st.sampled_from([*RULES]), VALUES)
def test_what_keeps_the_contract_is_read_alike(name, value):
    contract = Contract(columns={name: RULES[name]})
    frame = pd.DataFrame({name: pd.Series([value], dtype=object)})
    if row_check(contract)({name: value}) is not None:
        return
    (taken,) = values_in(check(contract, frame, now=CHECKED_AT).rows)
    assert row_reader(features_of(contract, DATA, {}))({name: value}) == taken

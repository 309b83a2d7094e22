"""Files of rows, and rows as a person gives them and as candidates get them."""

import os
import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.tasks.live import rows
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


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "in[box]"
    folder.mkdir()
    return folder


@pytest.fixture
def update(inbox):
    """Return a function that takes in all that is pending, and returns its batches."""
    pattern = str(inbox / "**" / "*.csv").replace("[", "[[]", 1)
    data, taken = DataSettings(source=f"folder:{pattern}", target="y"), set()

    def update():
        batches = []
        for batch in rows.pending(data, taken.__contains__):
            batches.append(batch)
            if batch.frame is not None:
                taken.add(batch.digest)
        return batches

    return update


def names(batches):
    return [batch.name for batch in batches]


def test_each_file_comes_once_in_the_order_of_names(inbox, update):
    for name in ("b.csv", "a.csv", "late/c.csv"):
        (inbox / name).parent.mkdir(exist_ok=True)
        (inbox / name).write_text(f"x,y\n1,{len(name)}\n{name},2\n")

    assert names(update()) == ["a.csv", "b.csv", "late/c.csv"]
    assert update() == []


def test_a_repeated_file_is_not_a_batch_and_one_that_grew_is_a_new_one(inbox, update):
    (inbox / "a.csv").write_text("x,y\n1,2\n")
    update()
    (inbox / "again.csv").write_text("x,y\n1,2\n")
    with (inbox / "a.csv").open("a") as file:
        file.write("3,4\n")

    batches = update()

    assert names(batches) == ["a.csv"]
    assert batches[0].frame["x"].tolist() == [1, 3]


def test_what_cannot_be_read_is_reported_and_the_others_go_on(inbox, update):
    (inbox / "a.csv").write_text("x,y\n1,2\n3\n")
    (inbox / "b.csv").write_text("x,y\n1,2\n3,4")
    (inbox / "c.csv").write_text("")
    (inbox / "d.csv").write_text("x,y\n1,2\n")

    *broken, whole = update()

    assert names([whole]) == ["d.csv"]
    assert [batch.name for batch in broken] == ["a.csv", "b.csv", "c.csv"]
    for batch, reason in zip(
        broken, ("malformed csv", "last line has no end", "0 rows"), strict=True
    ):
        assert batch.frame is None
        assert reason in batch.fault
        assert "\n" not in batch.fault


def test_what_is_not_a_file_is_reported_and_the_others_are_taken_in(inbox, update):
    (inbox / "loop.csv").symlink_to("loop.csv")
    (inbox / "deep.csv" / "in").mkdir(parents=True)
    (inbox / "way").symlink_to(".")
    os.mkfifo(inbox / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(inbox / "socket.csv"))
    (inbox / os.fsdecode(b"na\xefve.csv")).write_text("x,y\n1,2\n")
    (inbox / "z.csv").write_text("x,y\n1,2\n")

    *broken, whole = update()

    assert names([whole]) == ["z.csv"]
    assert {each.name: each.fault.removeprefix(f"{inbox}/") for each in broken} == {
        "deep.csv": "deep.csv: is not a file: remove it, or narrow data.source",
        "loop.csv": "loop.csv: is not a file: remove it, or narrow data.source",
        "na\\xefve.csv": "na\\xefve.csv: its name is not UTF-8: rename it",
        "pipe.csv": "pipe.csv: is not a file: remove it, or narrow data.source",
        "socket.csv": "socket.csv: is not a file: remove it, or narrow data.source",
    }


@pytest.mark.parametrize("at", ["file_digest", "read"])
def test_a_file_that_vanishes_while_it_is_listed_or_read_is_passed_over(
    inbox, update, monkeypatch, at
):
    for name in ("a.csv", "b.csv"):
        (inbox / name).write_text(f"x,y\n1,{len(name)}\n{name},1\n")
    owner = rows.dataset if at == "file_digest" else rows.files
    known = getattr(owner, at)

    def vanish(path, **given):
        if str(path).endswith("a.csv"):
            Path(path).unlink()
        return known(path, **given)

    monkeypatch.setattr(owner, at, vanish)
    assert names(update()) == ["b.csv"]

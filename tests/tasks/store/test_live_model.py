"""The state of a live model: whole batches, once, in SQLite and PostgreSQL."""

import sqlite3
import threading
import uuid
from dataclasses import replace

import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import (
    BatchRows,
    Changes,
    HistoryEntry,
    ModelCandidate,
    StoredRow,
    digest_of,
)
from tests.tasks.live.world import logged

AT = "2026-01-01T00:00:00+00:00"
CHAMPION = ModelCandidate(1, "champion", "online-automl", digest_of(b"one"), 3, AT, "the first")


def row(name: str, *, day: str = "2026-01-01", label: str | None = None) -> StoredRow:
    return StoredRow(name, 7, day, '{"a":1}', '{"1":2.0}', label, is_labelled=label is not None)


def batch(name: str, *new: StoredRow, **given: object) -> Changes:
    return Changes(AT, (name, name * 4), BatchRows([*new]), window=10, **given)  # type: ignore[arg-type]


@pytest.fixture
def file_state(tmp_path):
    return State(tmp_path / "deep" / "state.sqlite", "sales")


def test_a_batch_is_read_back_unchanged(state):
    changes = batch(
        "a",
        row("x", label="3.5"),
        row("y"),
        candidates=[CHAMPION],
        models={digest_of(b"one"): b"one"},
        days={("2026-01-01", 1): {"rows": 1.0, "loss": 2.25}},
        lifecycle={"clock": AT},
        history=[HistoryEntry(AT, "created", "1", "the first")],
        outbox=[("http://x", {"id": "1"})],
    )
    changes.rows.quarantined = [("z", "too hot", "{}")]
    state.commit(changes)
    assert state.knows("aaaa")
    assert not state.knows("bbbb")
    x, y = state.rows_of(["x", "y", "no"]).values()
    assert x == replace(row("x", label="3.5"), number=1)
    assert y == replace(row("y"), number=2)
    assert state.labelled_rows(5) == [x]
    assert state.candidates() == [CHAMPION]
    assert state.model(digest_of(b"one")) == b"one"
    assert state.days() == [
        {"day": "2026-01-01", "candidate": 1, "sums": {"rows": 1.0, "loss": 2.25}}
    ]
    assert state.lifecycle() == {"clock": AT}
    assert state.history() == changes.history
    assert [each["reason"] for each in state.quarantined_rows()] == ["too hot"]
    assert state.outbox() == {1: ("http://x", {"id": "1"})}
    state.remove_sent(1)
    assert state.outbox() == {}


def test_what_is_written_is_one_transaction(state):
    state.commit(batch("a", row("x")))
    with pytest.raises(LeaseboardError, match=r"(?i)cannot be used: .*unique.*update again"):
        state.commit(batch("b", row("new"), row("x"), lifecycle={"clock": "later"}))
    assert not state.knows("bbbb")
    assert list(state.rows_of(["new"])) == []
    assert state.lifecycle() == {}


def test_what_no_one_asks_for_is_forgotten(state):
    for i in range(30):
        day = f"2026-01-{i + 1:02}"
        changes = batch(f"b{i:03}", row(f"r{i}", day=day, label="1.0"))
        changes.horizon = f"2026-01-{max(1, i - 19):02}"
        state.commit(changes)
    assert [each.id for each in state.labelled_rows(99)] == [f"r{i}" for i in range(20, 30)]
    known = state.rows_of([f"r{i}" for i in range(30)])
    assert len(known) == 21, "an identity is known until its day is before the horizon"
    assert known["r12"].features == "", "what it holds is not"
    assert known["r12"].is_labelled


def test_a_damaged_model_is_never_used(file_state):
    file_state.commit(batch("a", candidates=[CHAMPION], models={digest_of(b"one"): b"one"}))
    with sqlite3.connect(file_state.place) as connection:
        connection.execute("update live_sales_models set content = ?", (b"other",))
    with pytest.raises(LeaseboardError, match="is not what was written"):
        file_state.model(digest_of(b"one"))


def test_the_log_is_forgotten_up_to_the_horizon(state):
    log = {"id": "x", "at": AT, "snapshot": "sales/1", "prediction": "2"}
    state.log_served([{**log, "at": f"2026-01-{day:02}T01"} for day in range(1, 21)])
    for horizon, kept in (("2026-01-01", 20), ("2026-01-12", 9), ("2026-01-12", 9), ("2027", 0)):
        changes = batch(f"{horizon}{kept}"[:16])
        changes.batch = "a", f"{uuid.uuid4()}"
        changes.served_horizon = horizon
        state.commit(changes)
        assert len(logged(state)) == kept


def test_anyone_who_comes_first_makes_the_tables(state):
    found = []

    def look():
        found.append(len(State(state.place, "sales").labelled_rows(9)))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [0] * 8


def test_a_state_of_another_version_is_refused_and_not_touched(state):
    state.commit(Changes(AT, lifecycle={"clock": AT}))
    with state.connected() as connection:  # as version 1 left it, which wrote down none
        connection.exec_driver_sql("drop table leaseboard_versions")
    later = State(state.place, "sales")
    for _ in range(2):
        with pytest.raises(
            LeaseboardError,
            match=r"has format 1 of 'live sales', and this version of Leaseboard reads 17:"
            r" install the version that wrote it, or move it away, and the next update learns",
        ):
            later.lifecycle()
    assert state.lifecycle() == {"clock": AT}

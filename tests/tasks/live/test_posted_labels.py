"""Labels that come by another way than files: each meets its row once."""

from __future__ import annotations

import pytest

from leaseboard.tasks.live.rows import UNKNOWN
from leaseboard.tasks.live.update import Update

pytestmark = pytest.mark.usefixtures("without_pages")


def post(world, rows, at="2026-01-04T00:00:00+00:00"):
    world.state.post([
        {"id": row.order, "at": at, "label": str(row.revenue)} for row in rows.itertuples()
    ])  # fmt: skip


def test_a_label_that_is_posted_before_its_row_waits_for_it(world):
    world.live(0, 2)
    frame = world.day(3)
    post(world, frame)
    assert world.update(2).batches == 0
    world.deliver(3, frame.assign(revenue=None))
    assert world.update(3).counts["labels"] == 20
    assert world.state.posted() == []
    assert world.state.quarantined_rows() == []


def test_a_label_whose_row_never_comes_is_quarantined_after_a_week(world):
    world.live(0, 2)
    post(world, world.day(3).head(1))
    world.update(4)
    assert len(world.state.posted()) == 1
    world.update(11)
    assert world.state.posted() == []
    assert [each["reason"] for each in world.state.quarantined_rows()] == [UNKNOWN]


def test_a_label_that_comes_during_an_update_is_not_lost(world, monkeypatch):
    world.live(0, 2)
    frame = world.day(3)
    world.deliver(3, frame.assign(revenue=None))
    world.update(3)
    post(world, frame.head(1))
    # On a server numbers are given before they are seen: a smaller one may come later.
    with world.state.connected() as connection:
        connection.exec_driver_sql("update live_sales_posted set number = 9")
    commit = Update.commit

    def meanwhile(*given):
        if world.state.posted() == [(9, "3-0", str(frame["revenue"][0]))]:
            with world.state.connected() as connection:
                connection.exec_driver_sql(
                    "insert into live_sales_posted values (8, '3-1', '2026-01-04', '7.0')"
                )
        commit(*given)

    monkeypatch.setattr(Update, "commit", meanwhile)
    world.update(3)
    taken = world.state.rows_of(["3-1"])["3-1"]
    assert taken.label == "7.0" or world.state.posted() == [(8, "3-1", "7.0")]

"""An update that is killed at any step gives the same rows, incidents and notifications."""

from __future__ import annotations

import json
import os
import shutil
import signal
import traceback
from itertools import count

import pytest

from leaseboard.flows import live_update as flow
from leaseboard.tasks.live import cycle, notification
from leaseboard.tasks.store import live_tables
from leaseboard.tasks.store.live_model import State
from tests.tasks.live.world import KEEP, World

STEPS = [
    (State, "begin_update"), (State, "commit"), (live_tables, "write"),
    (State, "save_fingerprints"), (State, "mark_published"), (cycle, "publish"), (flow, "build"),
    (notification, "_post"), (State, "remove_sent"), (State, "end_update"),
]  # fmt: skip
"""Places before and after which an update is killed."""


def update_of(world, number, place=None, **given):
    """Update in another process, which is killed at its `place`; return whether it was."""
    child = os.fork()
    if not child:
        places = count()

        def pass_by():
            if next(places) == place:
                os.kill(os.getpid(), signal.SIGKILL)

        def post(_client, _address, body):
            with (world.home / "sent").open("a") as file:
                file.write(json.dumps(body) + "\n")

        def watched(step):
            def call(*args, **named):
                pass_by()
                found = step(*args, **named)
                pass_by()
                return found

            return call

        code = 1
        try:
            notification._post = post
            for owner, name in STEPS:
                setattr(owner, name, watched(getattr(owner, name)))
            world.update(number, **given)
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert found in (0, -signal.SIGKILL)
    return found != 0


def outcome(world):
    """Return rows, quarantine, days, models, incidents and notifications, but for the kill's."""
    with world.state.connected() as connection:
        rows, quarantined, days, models = (
            list(map(tuple, connection.exec_driver_sql(f"select {what} order by 1, 2")))
            for what in (
                "id, day, label_batch from live_sales_rows",
                "id, reason, row from live_sales_rejected",
                "day, candidate, rows, sums from live_sales_days",
                "number, role, learned, model from live_sales_candidate",
            )
        )  # fmt: skip
    lines = [json.loads(line) for line in (world.home / "sent").read_text().splitlines()]
    sent = {(line["id"], line["status"]): line for line in lines if line["kind"] != "update"}
    cases = [
        each for each in world.state.lifecycle()["cases"] if each["incident"]["kind"] != "update"
    ]
    pages = str(world.home)
    return json.loads(json.dumps([rows, quarantined, days, models, sorted(sent.values(), key=str),
                                  cases]).replace(pages, ""))  # fmt: skip


def trouble(world):
    """Deliver files with all that an update can find wrong."""
    broken = world.day(1)
    broken.loc[:2, "a"] = 1e6
    world.deliver(1, broken)
    world.deliver(2, world.day(2))
    (world.inbox / "002b.csv").write_text("order,when\n1\n")
    world.deliver(3, world.day(3).drop(columns="a"))
    again = world.day(4)
    again.loc[:1, "order"] = ["1-7", "1-8"]
    again.loc[3, "a"] = -1e6
    world.deliver(4, again)


def swept(folder, places):
    """Check that a kill at any of the places of an update changes nothing."""
    first = World(folder / "first", KEEP + "alerts: ['http://127.0.0.1:9/']\n")
    update_of(first, 0)
    trouble(first)

    def live(name, place):
        home = folder / name
        world = first.copied(home)
        was_killed = update_of(world, 4, place)
        if was_killed:
            update_of(world, 4)
        world.deliver(3, world.day(3))
        (world.inbox / "002b.csv").unlink()
        update_of(world, 7)
        found = outcome(world)
        shutil.rmtree(home, ignore_errors=True)  # SQLite may remove a file meanwhile
        return was_killed, found

    whole = live("whole", None)[1]
    assert {each["status"] for each in whole[4]} == {"opened", "resolved"}
    assert {each["kind"] for each in whole[4]} == {
        "quarantined rows", "ids", "broken file", "contract", "stale",
    }  # fmt: skip
    for place in places:
        was_killed, found = live(f"killed-{place}", place)
        assert found == whole, f"killed at place {place}"
        if not was_killed:
            return
    assert len(places) < 9


@pytest.fixture(autouse=True)
def _without_pages(monkeypatch):
    monkeypatch.setattr(flow, "build", lambda *_: None)


def test_a_killed_update_loses_and_doubles_nothing(tmp_path):
    swept(tmp_path, [3, 12, 20])


@pytest.mark.slow
def test_an_update_killed_at_any_step_loses_and_doubles_nothing(tmp_path):
    swept(tmp_path, range(1000))

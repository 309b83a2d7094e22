"""A turn that is killed at any step comes to the same rows, incidents and messages."""

from __future__ import annotations

import json
import os
import shutil
import signal
import traceback
from itertools import count

import pytest

from leaseboard.flows import keep as flow
from leaseboard.tasks.keep import cycle, notification
from leaseboard.tasks.store import live_tables
from leaseboard.tasks.store.live_model import State
from tests.tasks.keep.world import KEEP, World

STEPS = [
    (State, "begin_turn"), (State, "commit"), (live_tables, "write"), (State, "keep_stamps"),
    (State, "keep_published"), (cycle, "publish"), (flow, "build"), (notification, "_post"),
    (State, "strike_out"), (State, "end_turn"),
]  # fmt: skip
"""Each is a place before and after which a turn is killed."""


def turn_of(world, number, place=None, **given):
    """Take a turn in a process of its own, which is killed at its `place`; whether it was."""
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
            world.turn(number, **given)
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert found in (0, -signal.SIGKILL)
    return found != 0


def outcome(world):
    """Rows, rows that were set aside, incidents and messages, but for that of the kill."""
    with world.state.begun() as connection:
        rows, aside, days, models = (
            list(map(tuple, connection.exec_driver_sql(f"select {what} order by 1, 2")))
            for what in (
                "id, day, settled from keep_sales_rows", "id, reason, row from keep_sales_aside",
                "day, lineage, rows, sums from keep_sales_days",
                "number, role, learned, model from keep_sales_lineages",
            )
        )  # fmt: skip
    lines = [json.loads(line) for line in (world.home / "sent").read_text().splitlines()]
    sent = {(line["id"], line["status"]): line for line in lines if line["kind"] != "turn"}
    cases = [each for each in world.state.memory()["cases"] if each["incident"]["kind"] != "turn"]
    pages = str(world.home)
    return json.loads(json.dumps([rows, aside, days, models, sorted(sent.values(), key=str),
                                  cases]).replace(pages, ""))  # fmt: skip


def trouble(world):
    """Files with all that a turn can find wrong."""
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


def swept(folder, places, store=None):
    """Check that a kill at any of the places of a turn changes nothing; all places were passed."""
    first = World(folder / "first", KEEP + "alerts: {webhook: 'http://127.0.0.1:9/'}\n")
    turn_of(first, 0)
    trouble(first)

    def live(name, place):
        home = folder / name
        shutil.copytree(first.home, home)
        world = World.__new__(World)
        world.home, world.inbox, world.rows = home, home / "inbox", 20
        given = {}
        if store is not None:
            shutil.copy(store, home / "mlflow.db")
            given = {"file": home / "sales.yaml", "tracking_uri": f"sqlite:///{home}/mlflow.db"}
        was_killed = turn_of(world, 4, place, **given)
        if was_killed:
            turn_of(world, 4, **given)
        world.deliver(3, world.day(3))
        (world.inbox / "002b.csv").unlink()
        turn_of(world, 7, **given)
        found = outcome(world)
        shutil.rmtree(home)
        return was_killed, found

    whole = live("whole", None)[1]
    assert {each["status"] for each in whole[4]} == {"opened", "resolved"}
    assert {each["kind"] for each in whole[4]} == {
        "rows set aside", "ids", "broken file", "contract", "stale",
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


def test_a_turn_that_is_killed_loses_and_doubles_nothing(tmp_path):
    swept(tmp_path, [3, 12, 20])


@pytest.mark.slow
def test_a_turn_that_is_killed_at_any_step_loses_and_doubles_nothing(tmp_path):
    swept(tmp_path, range(1000))


@pytest.mark.slow
def test_nor_does_one_that_publishes(tmp_path, empty_store):
    swept(tmp_path, range(1, 1000, 4), empty_store)

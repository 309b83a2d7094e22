"""Rows that are deleted, by age or by id: nothing of them stays, and the record says so."""

import re
from datetime import timedelta

import pytest

from leaseboard.tasks.live.model import LiveModel, erase
from leaseboard.tasks.store.live_tables import BatchRows, Changes
from tests.tasks.live.world import BEGIN, KEEP, logged

pytestmark = pytest.mark.usefixtures("without_pages")
NOW = BEGIN + timedelta(days=30)


def live_of(world):
    return LiveModel.read(world.settings, world.state, world.home / "sales.yaml")


def has(identity, state):
    """Return whether an id is anywhere in the state."""
    return re.search(rf"(?<![\d-]){identity}(?![\d-])", texts(state)) is not None


def texts(state):
    """Return all texts and models in the state."""
    found = []
    with state.connected() as connection:
        for table in state.tables.values():
            for row in connection.execute(table.select()):
                found += [str(value) for value in row]
    return "\n".join(found)


def serve(world, *ids, day=NOW):
    world.state.log_served([
        {"id": each, "at": day.isoformat(), "snapshot": "a/1", "prediction": "1"}
        for each in ids
    ])  # fmt: skip


def test_nothing_of_an_id_stays_and_it_is_not_learned_again(make_world):
    worlds = [make_world(name) for name in ("with", "without")]
    for world in worlds:
        world.live(0, 0)
        frame = world.day(1)
        late = frame["revenue"].where(frame["order"] != "1-3")
        world.deliver(1, frame.assign(revenue=late))
        world.update(1)
    world, control = worlds
    champion = world.state.candidates()[0].model
    broken = world.day(2).assign(order="1-3", a="broken")[:1]
    world.deliver(2, broken, "broken")
    world.update(2)
    serve(world, "1-3", "1-4")
    world.state.commit(Changes(NOW.isoformat(), rows=BatchRows(early={"9-9": "1.0"})))
    assert has("1-3", world.state)
    assert b"1-3" in world.state.model(champion), "its prediction waits for its label"

    said = erase(live_of(world), ["1-3", "0-5", "9-9"], "a customer asked", NOW)
    assert said.startswith(
        "2 rows, 1 quarantined rows, 1 logged predictions, 1 labels without a row deleted by id: a"
        " customer asked, by "
    )
    assert [has(each, world.state) for each in ("1-3", "0-5", "9-9", "1-4")] == [False] * 3 + [
        True
    ]
    assert b"1-3" not in world.state.model(world.state.candidates()[0].model)

    again = world.day(1)  # with the label that was missing
    for each in worlds:
        each.deliver(3, again if each is world else again[again["order"] != "1-3"], "again")
    world.deliver(3, broken.assign(shop="x"), "broken")
    assert world.update(11).counts["erased"] == 1
    control.update(11)
    assert not has("1-3", world.state)
    learned = [each.state.candidates()[0].learned for each in worlds]
    assert learned[0] == learned[1] == 79

    assert said in [each.what for each in world.state.history()]


def test_old_rows_are_deleted_by_retention_and_the_rest_goes_on(make_world):
    world = make_world("with", keep=KEEP + "retention: 3d\n", rows=8)
    for number in range(7):
        world.live(number, number)
        serve(world, f"{number}-1", day=BEGIN + timedelta(days=number))
    assert min(row.day for row in world.state.labelled_rows(1000)) == "2026-01-05"
    assert len(logged(world.state)) == 3
    assert world.state.candidates()[0].learned == 60 + 6 * 8
    deleted = [each.what for each in world.state.history() if each.kind == "deleted by age"]
    assert len(deleted) >= 3
    assert deleted[0].startswith("60 rows")
    assert "deleted before 2026-01-02: retention 3d, by " in deleted[0]
    world.deliver(9, world.day(0, 60), "again")
    found = world.update(9)
    assert found.counts["new"] == 0, "a deleted day that arrives again is not learned again"


def test_an_id_that_never_came_is_not_learned_later(world):
    world.live(0, 0)
    assert erase(live_of(world), ["1-1"], "why", NOW).startswith("nothing deleted by id: why")
    world.deliver(1, world.day(1))
    counts = world.update(1).counts
    assert (counts["new"], counts["labels"], counts["erased"]) == (19, 19, 1)

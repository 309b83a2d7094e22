"""FILE.yaml and the contract are edited between turns, the clock is set, a turn fails."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pandas as pd
import pytest

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows import keep as flow
from leaseboard.flows.keep import run_turn
from leaseboard.tasks.keep import notification
from leaseboard.tasks.keep.notification import Receipt
from leaseboard.tasks.store.live_tables import Changes, digest_of
from tests.tasks.keep.world import BEGIN, KEEP, World


@pytest.fixture(autouse=True)
def _without_pages(monkeypatch):
    monkeypatch.setattr(flow, "build", lambda *_: None)


@pytest.fixture
def world(tmp_path):
    """A world with a champion."""
    world = World(tmp_path)
    world.live(0, 0)
    return world


def edit(world, old, new, name="sales.yaml"):
    path = world.home / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def rule(world, column, line):
    """Have the contract say something else of a column."""
    path = world.home / "contract.yaml"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line if each.startswith(f"  {column}:") else each for each in lines))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("target: revenue", "target: a", "data.target: the model that lives was made for revenue"),
        ("id: order, ", "", "data.id: .* made for order, not for None"),
        ("time: when, ", "", "data.time: .* another keep"),
        ("chacha, settings: {b: 3}", "rising-bandits-cost", "model.algorithm: .* of streams"),
    ],
)
def test_what_a_model_was_made_for_lasts(world, old, new, said):
    edit(world, old, new)
    world.deliver(1, world.day(1))
    with pytest.raises(UsageError, match=said):
        world.turn(1)
    assert world.state.holds()["rows"] == 60
    edit(world, *((new, old) if new else ("target:", f"{old}target:")))
    assert world.turn(1).counts["new"] == 20


def test_a_column_that_the_model_knows_keeps_its_sort(world):
    rule(world, "a", "")
    world.deliver(1, world.day(1))
    assert world.turn(1).counts["new"] == 20
    edit(world, "columns:\n", "columns:\n  a: {kind: text}\n", "contract.yaml")
    world.deliver(2, world.day(2))
    with pytest.raises(UsageError, match=r"column 'a' held numbers .* and holds words now"):
        world.turn(2)
    edit(world, "  a: {kind: text}", "  a: {kind: integer, required: false, missing: 1}",
         "contract.yaml")  # fmt: skip
    world.deliver(2, world.day(2).drop(columns="a"))
    assert world.turn(2).counts["new"] == 20


def test_a_contract_may_be_mended_before_there_is_a_model(tmp_path):
    world = World(tmp_path, first=5)
    rule(world, "a", "  a: {kind: text}")
    world.turn(0)
    rule(world, "a", "  a: {kind: number}")
    world.deliver(1, world.day(1))
    assert world.turn(1).counts["new"] == 20


def test_two_keeps_of_one_name_have_no_state_in_common(world):
    file, other = world.home / "sales.yaml", world.home / "again.yaml"
    world.turn(1, file=file)
    other.write_text(file.read_text())
    with pytest.raises(UsageError, match=r"again.yaml: a keep of this name, in .*sales.yaml"):
        world.turn(2, file=other)
    file.unlink()
    now = BEGIN + timedelta(days=3)
    keep = world.keep_of(other)
    assert run_turn(keep, world.home, now, local=True, file=other).batches == 0, "it was renamed"


@pytest.mark.parametrize("values", [range(60), [f"{n % 28 + 1:02}.01.2026" for n in range(60)]])
def test_a_time_is_a_date(tmp_path, values):
    world = World(tmp_path)
    (world.home / "contract.yaml").unlink()
    world.deliver(0, world.day(0, 60).assign(when=values))
    with pytest.raises(UsageError, match=r"time: column 'when' is of kind .*ISO dates"):
        world.begin()
    assert not (world.home / "contract.yaml").exists()


def test_a_turn_that_fails_is_told_once_and_raised(world, monkeypatch):
    edit(world, "contract: contract.yaml", "contract: contract.yaml\nalerts: {webhook: http://x/}")
    sent = []
    monkeypatch.setattr(
        notification, "deliver",
        lambda outbox: [sent.append(b) or Receipt(n, a) for n, (a, b) in outbox.items()],
    )  # fmt: skip
    monkeypatch.setattr(flow.cycle, "train", lambda *_: 1 / 0)
    world.deliver(1, world.day(1))
    for number in (1, 2):
        with pytest.raises(ZeroDivisionError):
            world.turn(number)
    assert [(each["kind"], each["status"]) for each in sent] == [("turn", "opened")]
    assert "internal error: ZeroDivisionError" in sent[0]["what"]
    monkeypatch.undo()
    monkeypatch.setattr(flow, "build", lambda *_: None)
    assert world.turn(3).counts["new"] == 20


def test_what_waits_for_an_address_that_was_mended_goes_to_the_new_one(world, monkeypatch):
    edit(world, "contract: contract.yaml", "contract: contract.yaml\nalerts: {webhook: http://x/}")
    asked = []

    def deliver(outbox):
        for number, (address, _) in outbox.items():
            asked.append(address)
            yield Receipt(number, address, "is down" if "x" in address else "")

    monkeypatch.setattr(notification, "deliver", deliver)
    world.deliver(1, world.day(1).drop(columns="a"))
    world.turn(1)
    edit(world, "http://x/", "http://y/")
    world.turn(2)
    world.turn(3)
    assert asked == ["http://x/", "http://y/"]


def test_a_failure_that_cannot_be_written_down_is_told_at_once(world, monkeypatch):
    edit(world, "contract: contract.yaml", "contract: contract.yaml\nalerts: {webhook: http://x/}")
    sent = []
    monkeypatch.setattr(notification, "deliver", lambda outbox: sent.extend(outbox.values()) or [])

    def full(*_):
        raise LeaseboardError("the disk is full")

    monkeypatch.setattr("leaseboard.tasks.store.live_model.State.commit", full)
    world.deliver(1, world.day(1))
    with pytest.raises(LeaseboardError, match="full"):
        world.turn(1)
    assert [body["status"] for _, body in sent] == ["opened"]


def test_a_clock_that_was_ahead_once_is_set_back(world):
    world.turn(9999)
    assert world.turn(1).open_incidents
    assert world.lifecycle.last_update.year == 2053
    world.turn(2)
    assert str(world.lifecycle.last_update).startswith("2026-01-04")
    assert {case.seen.year for case in world.lifecycle.cases} == {2026}
    for number in range(3, 7):
        world.deliver(number, world.day(number))
        turned = world.turn(number)
    assert turned.open_incidents == 0


def test_labels_that_come_before_their_rows_wait(world):
    frame = world.day(1)
    world.deliver(1, frame[["order", "revenue"]], "-a")
    world.deliver(1, frame.assign(revenue=None), "-b")
    assert world.turn(1).counts == {"new": 20, "labels": 20, "repeated": 0, "aside": 0,
                                    "early": 20}  # fmt: skip
    assert world.state.lineages()[0].learned == 80
    assert world.state.holds()["posted"] == 0


def test_a_file_of_another_kind_is_one_incident(world):
    wide = pd.DataFrame({f"c{n}": range(20) for n in range(300)})
    world.deliver(1, wide)
    world.deliver(2, pd.concat([world.day(2), wide], axis=1))
    assert world.turn(2).open_incidents == 2


def test_a_past_that_drifts_is_no_news(tmp_path):
    world = World(tmp_path)
    frames = [world.day(n).assign(revenue=lambda t, n=n: t.revenue * (1 + n)) for n in range(40)]
    world.deliver(0, pd.concat(frames))
    world.turn(40)
    assert [each.what for each in world.state.history() if each.kind == "drift"] == []


def test_what_shows_an_incident_names_the_file(world):
    file = world.home / "of the shop.yaml"
    file.write_text(KEEP)
    world.deliver(1, world.day(1).drop(columns="a"))
    world.turn(1, file=file)
    (case,) = world.lifecycle.cases
    assert case.incident.command == f"leaseboard keep '{file}' --status"


def test_models_of_another_version_are_refused_in_one_line(world):
    world.turn(0)
    content = b"what another version wrote"
    champion = replace(world.state.lineages()[0], model=digest_of(content))
    changes = Changes("2026-01-02", lineages=[champion], models={champion.model: content})
    world.state.commit(changes)
    world.deliver(1, world.day(1))
    with pytest.raises(UsageError, match="has models of another version of Leaseboard: install"):
        world.turn(1)

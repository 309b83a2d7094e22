"""FILE.yaml and the contract are edited between updates, the clock is set, an update fails."""

from collections import Counter
from datetime import timedelta

import pytest

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows.live_update import run_update
from leaseboard.tasks.live import incidents
from leaseboard.tasks.live import update as updates
from tests.tasks.live.world import BEGIN, World


@pytest.fixture(autouse=True)
def _without_pages(monkeypatch):
    monkeypatch.setattr(updates, "build", lambda *_: None)


@pytest.fixture
def world(tmp_path):
    """Return a world with a champion."""
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
        ("target: revenue", "target: a", "data.target: this live model was made for revenue"),
        ("id: order, ", "", "data.id: .* made for order, not for None"),
        ("time: when, ", "", "it is the age of the newest time: set data.time"),
        (
            "online-automl, settings: {b: 3}",
            "rising-bandits-cost",
            "model.algorithm: .* of streams",
        ),
    ],
)
def test_what_a_model_was_made_for_lasts(world, old, new, said):
    edit(world, old, new)
    world.deliver(1, world.day(1))
    with pytest.raises(UsageError, match=said):
        world.update(1)
    assert len(world.state.labelled_rows(99)) == 60
    edit(world, *((new, old) if new else ("target:", f"{old}target:")))
    assert world.update(1).counts["new"] == 20


def test_a_column_that_the_model_knows_keeps_its_sort(world):
    rule(world, "a", "")
    world.deliver(1, world.day(1))
    assert world.update(1).counts["new"] == 20
    edit(world, "columns:\n", "columns:\n  a: {kind: text}\n", "contract.yaml")
    world.deliver(2, world.day(2))
    with pytest.raises(UsageError, match=r"column 'a': .* for numbers, not for words: write it"):
        world.update(2)
    edit(world, "  a: {kind: text}", "  a: {kind: integer, required: false, missing: 1}",
         "contract.yaml")  # fmt: skip
    world.deliver(2, world.day(2).drop(columns="a"))
    assert world.update(2).counts["new"] == 20


def test_two_keeps_of_one_name_have_no_state_in_common(world):
    file, other = world.home / "sales.yaml", world.home / "again.yaml"
    world.update(1, file=file)
    other.write_text(file.read_text())
    with pytest.raises(
        UsageError, match=r"again.yaml: another live model of this name, in .*sales.yaml"
    ):
        world.update(2, file=other)
    file.unlink()
    now = BEGIN + timedelta(days=3)
    keep = world.settings_of(other)
    assert run_update(keep, world.home, now, local=True, file=other).batches == 0, "it was renamed"


def test_an_update_that_fails_is_reported_once_and_raised(world, monkeypatch):
    edit(world, "contract: contract.yaml", "contract: contract.yaml\nalerts: [http://x/]")
    sent = []
    monkeypatch.setattr(
        incidents, "deliver",
        lambda outbox: [sent.append(b) or (n, a, "") for n, (a, b) in outbox.items()],
    )  # fmt: skip
    monkeypatch.setattr(updates.Update, "train", lambda *_: 1 / 0)
    world.deliver(1, world.day(1))
    for number in (1, 2):
        with pytest.raises(ZeroDivisionError):
            world.update(number)
    assert [(each["kind"], each["status"]) for each in sent] == [("update", "opened")]
    assert "internal error: ZeroDivisionError" in sent[0]["what"]
    monkeypatch.undo()
    monkeypatch.setattr(updates, "build", lambda *_: None)
    assert world.update(3).counts["new"] == 20


def test_a_failure_that_cannot_be_written_down_is_reported_at_once(world, monkeypatch):
    edit(world, "contract: contract.yaml", "contract: contract.yaml\nalerts: [http://x/]")
    sent = []
    monkeypatch.setattr(incidents, "deliver", lambda outbox: sent.extend(outbox.values()) or [])

    def full(*_):
        raise LeaseboardError("the disk is full")

    monkeypatch.setattr("leaseboard.tasks.store.live_model.State.commit", full)
    world.deliver(1, world.day(1))
    with pytest.raises(LeaseboardError, match="full"):
        world.update(1)
    assert [body["status"] for _, body in sent] == ["opened"]


@pytest.mark.parametrize(
    ("batches", "rejected", "n_open", "said"),
    [
        (0, 0, 0, "nothing new"),
        (1, 0, 0, "1 batch: 8 learned"),
        (2, 3, 0, "2 batches: 8 learned; 3 rejected"),
        (0, 1, 1, "nothing new; 1 rejected; open incident: alarm: day 0: show 0"),
        (1, 0, 3, "1 batch: 8 learned; open incident (and 2 more): alarm: day 2: show 2"),
    ],
)
def test_the_last_line_names_what_deserves_attention(batches, rejected, n_open, said):
    still_open = [
        incidents.Incident("alarm", "labels", f"day {k}", BEGIN + timedelta(k), f"show {k}")
        for k in reversed(range(n_open))
    ]
    counts = Counter({"learned": 8}) if batches else Counter()
    result = updates.UpdateResult(batches, rejected, counts, still_open)
    assert result.summary() == said

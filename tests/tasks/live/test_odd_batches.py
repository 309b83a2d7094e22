"""Files that repeat, contradict the contract, or come from another time."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.live.page import build
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.live.update import Update
from tests.tasks.live.world import BEGIN, KEEP, models, opened

pytestmark = pytest.mark.usefixtures("without_pages")


def edit(contract, column, line):
    """Have a contract say something else of a column."""
    lines = contract.read_text().splitlines()
    contract.write_text("\n".join(line if x.startswith(f"  {column}:") else x for x in lines))


def test_a_batch_that_breaks_the_contract_touches_nothing_and_is_reported_until_fixed(world):
    world.live(0, 2)
    before = models(world)
    path = world.deliver(3, world.day(3).rename(columns={"a": "A new"}))
    assert world.update(3).rejected == 1
    assert models(world) == before
    (what,) = (each for each in opened(world) if "003.csv" in each)
    assert "no column 'a'" in what
    assert "'A new'" in what
    path.unlink()
    world.deliver(3, world.day(3), "-fixed")
    assert world.update(4).counts["new"] == 20
    assert models(world)[1][1] == 60 + 60


def test_a_row_of_the_far_future_forgets_no_other_and_is_not_the_newest(make_world):
    world = make_world("far", keep=KEEP.replace("every: 5d, window: 200", "window: 10"))
    world.live(0, 0)
    frame = world.day(1)
    frame.loc[7, "when"] = "2099-01-01T00:00:00"
    world.deliver(1, frame)
    world.update(1)
    world.deliver(2, pd.concat([frame, world.day(2)]))
    assert world.update(2).counts == {"new": 20, "labels": 20, "repeated": 20, "quarantined": 0}
    assert world.state.lifecycle()["newest_row"] < "2026-01-04"
    assert world.state.forgotten() is None


MARK = "Anna Example 1957"


def no_mark(world):
    """Return whether nothing that is sent or shown quotes a cell; the state keeps the row."""
    state = world.state
    memory = {k: v for k, v in state.lifecycle().items() if k in ("cases", "last_update")}
    reasons = [each["reason"] for each in state.quarantined_rows()]
    sent = str([state.history(), state.outbox(), memory, reasons])
    assert "opened" in sent
    return MARK not in sent


def test_values_that_break_the_contract_are_not_quoted(world):
    edit(world.settings.contract, "shop",
         "  shop: {kind: category, categories: [x, y], closed: true}")  # fmt: skip
    world.live(0, 0)
    for number, column in enumerate(["order", "when", "a", "shop", "revenue"], 3):
        for rows in (1, 20):
            frame = world.day(number).astype(object)
            frame.loc[: rows - 1, column] = MARK
            frame.loc[0, "a"] = -1e9
            world.deliver(number, frame, f"-{rows}")
    world.update(9)
    assert no_mark(world)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ValueError, "internal error: ValueError in "),
        (
            DataError,
            "the data of this update cannot be used; run `leaseboard live update FILE.yaml`",
        ),
    ],
)
def test_an_error_of_a_model_is_not_quoted(world, monkeypatch, kind, said):
    (world.home / "sales.yaml").write_text(KEEP + "alerts: ['http://127.0.0.1:9/']\n")
    monkeypatch.setattr(Update, "train", _raising(kind(f"cannot read {MARK!r}")))
    world.deliver(3, world.day(3))
    with pytest.raises(kind):
        world.update(3)
    assert no_mark(world)
    assert said in opened(world)[-1]


def _raising(error):
    def step(*_):
        raise error

    return step


def timed(world, zone=""):
    """Have the world's contract say how fresh times are, and of which zone."""
    path = world.settings.contract
    text = path.read_text().replace("fresh: 2d", "fresh: 3h").replace("fresh: 1d", "fresh: 3h")
    path.write_text(text.replace("rows: {", f"rows: {{zone: {zone}, " if zone else "rows: {"))


@pytest.mark.parametrize(
    ("zone", "when", "is_stale"),
    [
        ("", "2026-01-02T19:50:00-08:00", False),
        ("", "2026-01-02T19:50:00", True),
        ("America/Los_Angeles", "2026-01-02T19:50:00", False),
        ("America/Los_Angeles", "2026-01-03T03:50:00Z", False),
        ("Europe/Berlin", "2026-01-03T01:30:00", True),
    ],
)
def test_times_are_aged_in_utc(world, zone, when, is_stale):
    timed(world, zone)
    assert "fresh: 3h" in world.settings.contract.read_text()
    world.deliver(1, world.day(1).assign(when=when))
    world.update(1)
    assert any("ago: at most 3h is fresh" in each for each in opened(world)) == is_stale


def test_a_category_that_never_came_is_reported_once_and_not_quoted(world):
    world.live(0, 1)
    for number in (2, 3):
        frame = world.day(number)
        world.deliver(number, frame.assign(shop=frame["shop"].replace("y", MARK)))
        world.update(number)
    reported = [each for each in opened(world) if "that never came before" in each]
    assert len(reported) == 1
    assert "rows hold a category of 'shop'" in reported[0]
    assert no_mark(world)
    # The page is the operator's own: it names what no message quotes.
    record = ModelRecord(world.settings, world.state, BEGIN + timedelta(days=4))
    page = build(record, world.home).read_text()
    shown = page[page.index("Categories that the contract does not name") :]
    assert MARK in shown.partition("</table>")[0]


@pytest.mark.slow
def test_a_day_whose_loss_is_far_above_is_reported_and_learned(make_world):
    world = make_world("worse", rows=30, first=300)
    world.live(0, 20)
    learned, frame = models(world)[1][1], world.day(21)
    revenue = frame["revenue"] + 9 * (frame["shop"] == "y")
    world.deliver(21, frame.assign(shop=frame["shop"].replace("y", "z"), revenue=revenue))
    world.update(21)
    assert any(each.startswith("2026-01-22: ") for each in opened(world))
    assert models(world)[1][1] >= learned


@pytest.mark.parametrize("break_it", [lambda text: text + "9-1\n", lambda text: "x" + text])
def test_a_header_alone_does_not_close_what_its_rows_opened(world, break_it):
    world.live(0, 0)
    path = world.deliver(1, world.day(1))
    whole = path.read_text()
    path.write_text(break_it(whole))
    assert world.update(1).open_incidents == 1
    path.write_text(whole.partition("\n")[0] + "\n")
    for number in (2, 5):
        turned = world.update(number)
        assert turned.rejected == 1
        assert "resolved" not in {each.kind for each in world.state.history()}
    path.write_text(whole)
    assert world.update(6).counts["new"] == 20
    assert "resolved" in {each.kind for each in world.state.history()}


def test_a_batch_that_raises_costs_none_of_its_group(world, make_world, monkeypatch, capsys):
    """The other batches of the group are taken in as if the batch had never come."""
    world.live(0, 0)
    other = make_world("without")
    other.live(0, 0)
    for number in (1, 2, 3, 4):
        frame = world.day(number).drop(columns="a") if number == 2 else world.day(number)
        world.deliver(number, frame)
        if number != 3:
            other.deliver(number, frame)
    train = Update.train

    def step(update, work):
        if work.batch.name == "003.csv":
            update.lifecycle.rows_since_challenger = 10_000
            update.incident("data", "b", "of a batch that is not taken in")
            raise ValueError("of a batch")
        train(update, work)

    monkeypatch.setattr(Update, "train", step)
    capsys.readouterr()
    with pytest.raises(ValueError, match="of a batch"):
        world.update(4)
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said] == ["001.csv", "rejected", "004.csv"]
    monkeypatch.setattr(Update, "train", train)
    path = world.inbox / "003.csv"
    path.rename(world.home / path.name)
    assert world.update(5).counts == {}
    other.update(4)
    other.update(5)
    assert models(world) == models(other)
    assert world.lifecycle.rows_since_challenger == other.lifecycle.rows_since_challenger
    (world.home / path.name).rename(path)
    assert world.update(6).counts["new"] == 20


def test_ids_that_begin_again_are_reported_how_to_be_fixed_and_close_with_the_next_good_batch(
    world,
):
    world.live(0, 1)
    again = world.day(2).assign(order=world.day(1)["order"].tolist())
    world.deliver(2, again)
    assert world.update(2).open_incidents == 1
    (said,) = [each for each in opened(world) if "quarantined" in each]
    assert f"{len(again)} of {len(again)} rows quarantined: its order is that of an" in said
    assert "join the time to it at the source, such as 2026-02-17, and deliver the file" in said

    assert world.update(2).open_incidents == 1  # nothing new came, which is not a fix
    world.deliver(2, again.assign(order="2026-02-" + again["order"].astype(str)), name="fixed")
    assert world.update(2).open_incidents == 0
    assert world.state.lifecycle()["over"] == []

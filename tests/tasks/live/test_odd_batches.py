"""Files that repeat, contradict the contract, or come from another time."""

import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.live.update import Update
from tests.tasks.live.world import KEEP, models, opened

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
    counts = {name: n for name, n in world.update(2).counts.items() if n}
    assert counts == {"new": 20, "labels": 20, "repeated": 20}
    assert world.state.lifecycle()["newest_row"] < "2026-01-04"
    assert world.state.forgotten() is None


MARK = "Anna Example 1957"


def no_mark(world):
    """Return whether nothing that is sent or shown quotes a cell; the state keeps the row."""
    state = world.state
    memory = {k: v for k, v in state.lifecycle().items() if k == "incidents"}
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
        (ValueError, "internal error: ValueError"),
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
        ("America/Los_Angeles", "2026-01-02T19:50:00", False),
        ("Europe/Berlin", "2026-01-03T01:30:00", True),
    ],
)
def test_times_are_aged_in_utc(world, zone, when, is_stale):
    timed(world, zone)
    assert "fresh: 3h" in world.settings.contract.read_text()
    world.deliver(1, world.day(1).assign(when=when))
    world.update(1)
    assert any("ago: at most 3h is fresh" in each for each in opened(world)) == is_stale


def test_ids_that_begin_again_are_reported_with_how_to_fix_them(world):
    world.live(0, 1)
    again = world.day(2).assign(order=world.day(1)["order"].tolist())
    world.deliver(2, again)
    assert len(world.update(2).incidents) == 1
    (said,) = [each for each in opened(world) if "quarantined" in each]
    assert f"{len(again)} of {len(again)} rows quarantined: its order is that of an" in said
    assert "join the time to it, such as 2026-02-17, and deliver it again" in said
    world.deliver(2, again.assign(order="2026-02-" + again["order"].astype(str)), name="fixed")
    assert world.update(2).counts["new"] == 20
    assert "ids" not in {each.kind for each in world.update(4).incidents}

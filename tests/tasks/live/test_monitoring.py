"""What is wrong with a day or a file: reported as one incident, and not learned."""

import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.live import update as updates
from leaseboard.tasks.live.candidates import rows_to_learn
from leaseboard.tasks.live.incidents import DoubtfulDay
from leaseboard.tasks.live.update import Update, Work
from tests.tasks.live.world import KEEP, World, models, opened

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture(scope="module")
def three_weeks(tmp_path_factory):
    """Return a world with a large first file and three weeks of days."""
    world = World(tmp_path_factory.mktemp("weeks") / "world", first=300)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(updates, "build", lambda *_: None)
        world.live(0, 20)
    return world


@pytest.fixture
def lived(three_weeks, tmp_path):
    """Return that world, to go on with."""
    return three_weeks.copied(tmp_path / "lived")


def test_wrong_labels_of_a_day_are_reported_and_not_learned(lived):
    learned = models(lived)[1][1]
    wrong = lived.day(21)
    lived.deliver(21, wrong.assign(revenue=1.5 * wrong["revenue"] - 90))
    lived.update(21)
    assert any(each.startswith("2026-01-22") for each in opened(lived))
    assert models(lived)[1][1] == learned, "they wait"
    lived.live(22, 22)
    assert models(lived)[1][1] == learned + 20, "the next day's alone"
    assert [each.kind for each in lived.state.history()].count("left out") == 1


def test_a_challenger_does_not_learn_what_was_left_out(lived):
    wrong = lived.day(21)
    lived.deliver(21, wrong.assign(revenue=1.5 * wrong["revenue"] - 90))
    lived.update(21)
    lived.live(22, 26)
    (happened,) = [each for each in lived.state.history() if each.kind == "left out"]
    created = [each for each in lived.state.candidates() if each.created > happened.at][-1]
    with lived.state.update_lock():
        left = set(lived.lifecycle.left_out)
    assert left == {f"21-{i}" for i in range(20)}
    labelled = lived.state.labelled_rows(200)
    window = [row.id for row in labelled if row.day < created.created[:10]]
    assert left & set(window), "the window reaches so far"
    assert created.learned <= len(labelled) - 20


def test_a_world_that_has_changed_is_learned_a_day_later(lived):
    learned = models(lived)[1][1]
    due = {21: 0, 22: 40, 23: 60, 24: 80, 25: 100}
    for number, more in due.items():
        frame = lived.day(number)
        lived.deliver(number, frame.assign(revenue=200 - frame["revenue"] + 40))
        lived.update(number)
        assert models(lived)[1][1] == learned + more
    assert "left out" not in {each.kind for each in lived.state.history()}


def test_a_past_that_is_odd_raises_no_alarm(make_world):
    world = make_world("past")
    frames = [world.day(n) for n in range(1, 25)]
    frames[20]["revenue"] *= 2
    world.deliver(0, pd.concat(frames))
    world.update(24)
    assert opened(world) == []


def test_held_rows_that_the_window_has_left_stop_nothing(make_world):
    text = KEEP.replace("window: 200", "window: 30").replace("every: 5d, ", "")
    world = make_world("narrow", first=300, keep=text)
    world.live(0, 1)
    with world.state.update_lock():
        update = world.open_update(world.state)
        update.lifecycle.doubtful = DoubtfulDay("2026-01-01", ["0-0", "1-18"])
        work = Work(None, None, doubtful={"2026-01-02": True})  # the second of such days
        work.labelled = update.state.labelled_rows(1)
        assert [row.id for row in rows_to_learn(update, work)] == ["1-18", "1-19"]


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

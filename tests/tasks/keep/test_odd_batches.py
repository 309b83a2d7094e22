"""Files that repeat, contradict the contract, or come from another time."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.keep import cycle
from leaseboard.tasks.keep.page import render
from leaseboard.tasks.keep.page.intake import waiting
from leaseboard.tasks.keep.page.story import read_story
from tests.tasks.keep.world import BEGIN, KEEP, models, opened

pytestmark = pytest.mark.usefixtures("without_pages")


def test_a_day_far_ahead_has_nothing_forgotten(world):
    world.live(0, 1)
    log = {"id": "x", "at": "2026-01-02", "snapshot": "sales/1", "level": 0.9, "forecast": "2"}
    world.state.log_served([log])
    before = world.state.holds()
    frame = world.day(2)
    frame.loc[3, "when"] = "2099-01-01T00:00:00"
    world.deliver(2, frame)
    world.turn(2)
    assert world.state.holds()["rows"] == before["rows"] + 20
    assert world.state.holds()["served"] == 1


def edit(contract, column, line):
    """Have a contract say something else of a column."""
    lines = contract.read_text().splitlines()
    contract.write_text("\n".join(line if x.startswith(f"  {column}:") else x for x in lines))


def test_a_column_that_is_not_required_may_be_left_out(make_world):
    world = make_world("optional")
    edit(world.keep.contract, "shop", "  shop: {kind: category, missing: 1, required: false}")
    world.live(0, 1)
    whole = world.day(2)
    world.deliver(2, whole.drop(columns="shop"))
    assert world.turn(2).counts["new"] == 20
    world.deliver(3, whole.assign(shop=None), "-again")
    assert world.turn(3).counts["repeated"] == 20, "to lack it is to have none in it"


def test_a_batch_that_breaks_the_contract_touches_nothing_and_is_told_until_mended(world):
    world.live(0, 2)
    before = models(world)
    path = world.deliver(3, world.day(3).rename(columns={"a": "A new"}))
    assert world.turn(3).held_back == 1
    assert models(world) == before
    (what,) = (each for each in opened(world) if "003.csv" in each)
    assert "no column 'a'" in what
    assert "'A new'" in what
    path.unlink()
    world.deliver(3, world.day(3), "-mended")
    assert world.turn(4).counts["new"] == 20
    assert models(world)[1][1] == 60 + 60


def test_a_row_that_breaks_the_contract_is_set_aside_with_its_reason(world):
    world.live(0, 1)
    frame = world.day(2)
    frame.loc[3, "a"] = 1e6
    world.deliver(2, frame)
    assert world.turn(2).counts == {"new": 19, "labels": 19, "repeated": 0, "aside": 1}
    (aside,) = world.state.asides()
    assert aside["id"] == "2-3"
    assert "a" in aside["reason"]


def test_a_day_that_comes_twice_is_learned_once_and_told(world):
    world.live(0, 2)
    world.deliver(3, world.day(2)[::-1], "-again")
    turned = world.turn(3)
    assert turned.counts["repeated"] == 20
    assert models(world)[1][1] == 60 + 40
    assert any("had come before" in each for each in opened(world))


def test_a_file_to_which_each_day_is_added_is_no_news(world):
    world.live(0, 0)
    for number in (1, 2):
        world.deliver(0, pd.concat([world.day(0, 60), *map(world.day, range(1, number + 1))]))
        assert world.turn(number).counts["new"] == 20
    assert opened(world) == []


def test_an_export_of_all_days_is_learned_once_however_far_back_it_goes(make_world):
    world = make_world("export", keep=KEEP.replace("every: 5d, window: 200", "window: 30"), rows=3)
    days = [world.day(number) for number in range(110)]
    for number in (109, 110):
        world.deliver(0, pd.concat([*days, world.day(110)][: number + 1]))
        counts = world.turn(number).counts
    assert (counts["new"], counts["repeated"]) == (3, 330)
    assert opened(world) == []
    assert (world.state.forgotten() or [""])[0] == "2026-01-01"
    world.deliver(0, world.day(5).assign(order=["x", "y", "z"]), "-late")
    assert world.turn(110).counts["repeated"] == 3
    assert ["may have been learned" in each for each in opened(world)] == [True]


def test_a_row_of_the_far_future_forgets_no_other_and_is_not_the_newest(make_world):
    world = make_world("far", keep=KEEP.replace("every: 5d, window: 200", "window: 10"))
    world.live(0, 0)
    frame = world.day(1)
    frame.loc[7, "when"] = "2099-01-01T00:00:00"
    world.deliver(1, frame)
    world.turn(1)
    world.deliver(2, pd.concat([frame, world.day(2)]))
    assert world.turn(2).counts == {"new": 20, "labels": 20, "repeated": 20, "aside": 0}
    assert world.state.memory()["newest_row"] < "2026-01-04"
    assert world.state.forgotten() is None


def test_without_days_of_their_own_rows_are_known_for_ever(make_world):
    keep = KEEP.replace("time: when, ", "").replace("every: 5d, window: 200", "window: 10")
    world = make_world("timeless", keep=keep)
    world.turn(0)
    world.deliver(1, world.day(1))
    world.turn(200)
    world.deliver(2, pd.concat([world.day(0, 60), world.day(2)]))
    assert world.turn(201).counts["repeated"] == 60


def test_a_gap_in_a_column_of_integers_changes_no_other_row(world):
    text = (world.home / "contract.yaml").read_text()
    (world.home / "contract.yaml").write_text(
        text.replace("columns:\n", "columns:\n  n: {kind: integer, missing: 0.5}\n")
    )
    for number, n in enumerate(([7] * 60, [7] * 60 + [None] * 20)):
        frame = pd.concat([world.day(0, 60), world.day(1)])[: len(n)]
        world.deliver(0, frame.assign(n=pd.array(n, dtype="Int64")))
        counts = world.turn(number).counts
    assert counts == {"new": 20, "labels": 20, "repeated": 60, "aside": 0}


def test_a_contract_that_contradicts_the_data_holds_everything_back(world):
    path = world.home / "contract.yaml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join("  shop: {kind: number}\n" if "  shop:" in each else each for each in lines)
    )
    assert world.turn(0).held_back == 1
    (told,) = opened(world)
    assert "shop" in told
    assert "\n" not in told


def test_what_is_wrong_once_does_not_stop_the_days_after(world):
    world.live(0, 1)
    world.deliver(2, world.day(2).drop(columns="shop"))
    world.deliver(3, world.day(3))
    turned = world.turn(3)
    assert (turned.batches, turned.held_back) == (1, 1)
    assert models(world)[1][1] == 60 + 40


MARK = "Anna Example 1957"


def no_mark(world):
    """Whether nothing that is sent or shown quotes a cell; a row itself stays in the state."""
    state = world.state
    memory = {k: v for k, v in state.memory().items() if k in ("cases", "last_update")}
    told = [state.history(), state.letters(), memory, [each["reason"] for each in state.asides()]]
    assert "opened" in str(told)
    return MARK not in str(told)


HARMS = {
    "cut off": lambda text: text + f"9-1,{MARK}",
    "a value more": lambda text: text + f"9-1,2026-01-03,1,x,5,{MARK}\n",
    "a value less": lambda text: text + f"9-1,{MARK}\n",
    "no header": lambda text: text.partition("\n")[2].replace("3-0,", f"{MARK},", 1),
    "no UTF-8": lambda text: text + f"9-1,2026-01-03,1,{MARK} \udcff,5\n",
    "a quote without an end": lambda text: text + f'9-1,2026-01-03,1,"{MARK},5\n',
    "flags": lambda text: text.replace("order,", "x,order,").replace("\n3-", f"\n{MARK},3-"),
    "a zero": lambda text: text + f"9-1,2026-01-03,1,{MARK}\0,5\n",
}


@pytest.mark.parametrize("harm", [*HARMS])
def test_a_broken_file_is_not_quoted(world, harm):
    edit(world.keep.contract, "x", "")
    world.live(0, 0)
    path = world.deliver(3, world.day(3))
    text = HARMS[harm](path.read_text())
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    world.turn(3)
    assert no_mark(world)


@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("column", ["order", "when", "a", "shop", "revenue"])
def test_a_value_that_breaks_the_contract_is_not_quoted(world, column, rows):
    edit(world.keep.contract, "shop",
         "  shop: {kind: category, categories: [x, y], closed: true}")  # fmt: skip
    world.live(0, 0)
    frame = world.day(3).astype(object)
    frame.loc[: rows - 1, column] = MARK
    frame.loc[0, "a"] = -1e9
    world.deliver(3, frame)
    world.turn(3)
    assert no_mark(world)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ValueError, "internal error: ValueError in "),
        (DataError, "the data of this update cannot be used; run `leaseboard keep FILE.yaml`"),
    ],
)
def test_an_error_of_a_model_is_not_quoted(world, monkeypatch, kind, said):
    (world.home / "sales.yaml").write_text(KEEP + "alerts: {webhook: 'http://127.0.0.1:9/'}\n")
    monkeypatch.setattr(cycle, "train", _raising(kind(f"cannot read {MARK!r}")))
    world.deliver(3, world.day(3))
    with pytest.raises(kind):
        world.turn(3)
    assert no_mark(world)
    assert said in opened(world)[-1]


def _raising(error):
    def step(*_):
        raise error

    return step


TIMED = KEEP.replace("id: order, ", "").replace("every: 5d, window: 200", "window: 50")


def timed(world, zone=""):
    """Have the world's contract say how fresh times are, and of which zone."""
    path = world.keep.contract
    text = path.read_text().replace("fresh: 2d", "fresh: 3h").replace("fresh: 1d", "fresh: 3h")
    path.write_text(text.replace("rows: {", f"rows: {{zone: {zone}, " if zone else "rows: {"))


def test_two_hours_of_one_clock_are_two_moments_in_their_order(make_world):
    world = make_world("clock", keep=TIMED)
    world.turn(0)
    row = world.day(1, 1)
    for name, offset in (("a", "+02:00"), ("b", "+01:00")):
        frame = row.assign(when=f"2026-01-02T02:00:00{offset}", revenue=100 if name == "a" else 90)
        world.deliver(1, frame, name)
    both = pd.concat([row.assign(when=f"2026-01-02T02:{m}:00{o}")
                      for o in ("+02:00", "+01:00") for m in ("10", "40")])  # fmt: skip
    world.deliver(1, both, "c")
    assert world.turn(1).counts == {"new": 6, "labels": 6, "repeated": 0, "aside": 0}
    assert not any("before that of the row above" in each for each in opened(world))


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
    assert "fresh: 3h" in world.keep.contract.read_text()
    world.deliver(1, world.day(1).assign(when=when))
    world.turn(1)
    assert any("ago: at most 3h is fresh" in each for each in opened(world)) == is_stale


def test_an_hour_that_a_zone_shows_twice_is_in_order_and_another_is_not(world):
    timed(world, "Europe/Berlin")
    frame = world.day(1, 4)
    for number, (clocks, told) in enumerate(
        (
            (("01:50", "02:40", "02:10", "03:00"), False),
            (("00:50", "01:40", "01:10", "03:00"), True),
        )
    ):
        name = {"order": [f"{number}-{i}" for i in range(100, 104)]}
        world.deliver(
            1, frame.assign(**name, when=[f"2025-10-26T{c}:00" for c in clocks]), name="ab"[number]
        )
        world.turn(1)
        assert any("before that of the row above" in each for each in opened(world)) == told


def test_a_category_that_never_came_is_told_once_and_not_quoted(world):
    world.live(0, 1)
    for number in (2, 3):
        frame = world.day(number)
        world.deliver(number, frame.assign(shop=frame["shop"].replace("y", MARK)))
        world.turn(number)
    told = [each for each in opened(world) if "that never came before" in each]
    assert len(told) == 1
    assert "rows hold a category of 'shop'" in told[0]
    assert no_mark(world)
    # The page is the operator's own: it names what no message quotes.
    page = render(read_story(world.state, world.keep, BEGIN + timedelta(days=4)))
    shown = page[page.index("Categories that the contract does not name") :]
    assert MARK in shown.partition("</table>")[0]


def test_a_day_whose_loss_is_far_above_is_told_and_learned(make_world):
    world = make_world("worse", rows=30, first=300)
    world.live(0, 20)
    learned, frame = models(world)[1][1], world.day(21)
    revenue = frame["revenue"] + 9 * (frame["shop"] == "y")
    world.deliver(21, frame.assign(shop=frame["shop"].replace("y", "z"), revenue=revenue))
    world.turn(21)
    assert any(each.startswith("2026-01-22: ") for each in opened(world))
    assert models(world)[1][1] >= learned


@pytest.mark.parametrize("break_it", [lambda text: text + "9-1\n", lambda text: "x" + text])
def test_a_header_alone_does_not_close_what_its_rows_opened(world, break_it):
    world.live(0, 0)
    path = world.deliver(1, world.day(1))
    whole = path.read_text()
    path.write_text(break_it(whole))
    assert world.turn(1).open_incidents == 1
    path.write_text(whole.partition("\n")[0] + "\n")
    for number in (2, 5):
        turned = world.turn(number)
        assert turned.held_back == 1
        assert "resolved" not in {each.kind for each in world.state.history()}
    path.write_text(whole)
    assert world.turn(6).counts["new"] == 20
    assert "resolved" in {each.kind for each in world.state.history()}


def test_rows_far_ahead_are_told_while_they_wait_and_stretch_no_axis(world):
    world.live(0, 1)
    frame = world.day(2)
    frame.loc[:11, "when"] = "2026-03-01T00:00:00"
    world.deliver(2, frame.assign(revenue=None))
    for number in range(2, 12):
        world.turn(number)
        assert any(
            case.is_open and case.incident.subject == "future when"
            for case in world.lifecycle.cases
        )
    story = read_story(world.state, world.keep, BEGIN + timedelta(days=12))
    assert "2026-03-01" not in str(vars(story.days))
    assert "2026-03-01" not in world.lifecycle.monitored.inputs.days
    assert "2026-03" not in repr(waiting(story).figures)
    world.deliver(3, world.day(2)[["order", "revenue"]], "-labels")
    world.turn(12)
    world.turn(15)
    cases = {each.incident.subject: each for each in world.lifecycle.cases}
    assert not cases["future when"].is_open


def test_a_batch_that_raises_costs_none_of_its_group(world, make_world, monkeypatch, capsys):
    """What else is taken in with it is as if the batch had never come."""
    world.live(0, 0)
    other = make_world("without")
    other.live(0, 0)
    for number in (1, 2, 3, 4):
        frame = world.day(number).drop(columns="a") if number == 2 else world.day(number)
        world.deliver(number, frame)
        if number != 3:
            other.deliver(number, frame)
    train = cycle.train

    def step(update, work):
        if work.batch.name == "003.csv":
            update.lifecycle.rows_since_challenger = 10_000
            update.incident("data", "b", "of a batch that is not taken in")
            raise ValueError("of a batch")
        train(update, work)

    monkeypatch.setattr(cycle, "train", step)
    capsys.readouterr()
    with pytest.raises(ValueError, match="of a batch"):
        world.turn(4)
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said] == ["001.csv", "held back", "004.csv"]
    monkeypatch.setattr(cycle, "train", train)
    path = world.inbox / "003.csv"
    path.rename(world.home / path.name)
    assert world.turn(5).counts == {}
    other.turn(4)
    other.turn(5)
    assert models(world) == models(other)
    assert world.lifecycle.rows_since_challenger == other.lifecycle.rows_since_challenger
    (world.home / path.name).rename(path)
    assert world.turn(6).counts["new"] == 20


def test_ids_that_begin_again_are_told_how_to_be_fixed_and_close_with_the_next_good_batch(world):
    world.live(0, 1)
    again = world.day(2).assign(order=world.day(1)["order"].tolist())
    world.deliver(2, again)
    assert world.turn(2).open_incidents == 1
    (said,) = [each for each in opened(world) if "set aside" in each]
    assert f"{len(again)} of {len(again)} rows set aside: its order is that of an" in said
    assert "join the time to it at the source, such as 2026-02-17, and deliver the file" in said

    assert world.turn(2).open_incidents == 1  # nothing new came: that is no fix
    world.deliver(2, again.assign(order="2026-02-" + again["order"].astype(str)), name="fixed")
    assert world.turn(2).open_incidents == 0
    assert world.state.memory()["over"] == []


def test_a_column_that_the_contract_names_no_more_is_missing_from_then_on(make_world):
    world = make_world("fewer")
    world.live(0, 1)
    edit(world.keep.contract, "shop", "")
    world.deliver(2, world.day(2))
    assert world.turn(2).counts["new"] == 20

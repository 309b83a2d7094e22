"""Turns of a keep: every row once, in order, whatever happens; and what is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from algorithms.errors import UsageError
from flows import keep as flow
from tasks.keep import comparing, ending, opening, taking, turn
from tasks.keep.beginning import write_contract
from tests.tasks.keep.world import BEGIN, KEEP, World


@pytest.fixture
def world(tmp_path):
    """A world at its first day."""
    return World(tmp_path)


@pytest.fixture
def make_world(tmp_path):
    """Worlds, each in a folder of its own."""
    return lambda name, **given: World(tmp_path / name, **given)


@pytest.fixture(autouse=True)
def _without_pages(monkeypatch):
    """They have tests of their own, and take most of a turn."""
    monkeypatch.setattr(flow, "build", lambda *_: None)


def models(world):
    """What each lineage has learned, by number."""
    return {each.number: (each.role, each.learned, each.model) for each in world.state.lineages()}


def opened(world):
    """What was told when it opened, by kind."""
    return [each.what for each in world.state.history() if each.kind == "opened"]


def test_a_week_of_a_stream(make_world):
    world = make_world("week", first=600)
    world.live(0, 7)
    lineages = world.state.lineages()
    assert [(each.role, each.name) for each in lineages[:3]] == [
        ("champion", "chacha"),
        ("reference", "running-mean"),
        ("reference", "last-label"),
    ]
    assert lineages[0].learned == 600 + 7 * 20
    assert lineages[3].role == "challenger", "five days are over"
    days = world.state.days()
    assert {each["day"] for each in days} == {f"2026-01-{n:02}" for n in range(2, 9)}
    losses = {n: sum(e["sums"]["loss"] for e in days if e["lineage"] == n) for n in (1, 2, 3)}
    assert losses[1] < 0.5 * losses[2]
    assert opened(world) == []


def test_flags_are_forecast_as_the_classes_that_they_are(world):
    for number in range(3):
        frame = world.day(number, 100)
        world.deliver(number, frame.assign(revenue=frame["a"] > 0))
    (world.home / "contract.yaml").unlink()
    write_contract(world.keep, BEGIN + timedelta(days=1))
    world.turn(3)
    wrong = {e["day"]: e["sums"]["error"] for e in world.state.days() if e["lineage"] == 1}
    assert wrong["2026-01-03"] < 40, "of 100"
    assert set(json.loads(world.state.settled(1)[0].forecasts)["1"]) == {"True", "False"}


def test_a_turn_with_nothing_new_changes_nothing(world):
    world.live(0, 3)
    before = models(world)
    turned = world.turn(3)
    assert (turned.batches, turned.counts) == (0, {})
    assert models(world) == before


def test_the_same_world_twice_learns_the_same(make_world):
    first, second = make_world("first"), make_world("second")
    for each in (first, second):
        each.live(0, 6)
    assert models(first) == models(second)
    assert first.state.days() == second.state.days()


@pytest.mark.parametrize("step", ["checked", "settle", "learn", "commit", "compare", "close"])
def test_a_turn_that_dies_anywhere_is_made_good(make_world, monkeypatch, step):
    whole, broken = make_world("whole"), make_world("broken")
    room = comparing if step == "compare" else ending if step == "close" else turn
    for number in range(7):
        for each in (whole, broken):
            if number:
                each.deliver(number, each.day(number))
        whole.turn(number)
        with monkeypatch.context() as patch:
            patch.setattr(room, step, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                broken.turn(number)
        broken.turn(number)
    assert models(broken) == models(whole)
    assert broken.state.days() == whole.state.days()
    assert any("the turn failed" in each for each in opened(broken))
    assert opened(whole) == []


def test_many_batches_at_once_are_as_one_after_the_other(make_world):
    daily, late = make_world("daily"), make_world("late")
    daily.live(0, 4)
    for number in range(1, 5):
        late.deliver(number, late.day(number))
    late.turn(4)
    assert models(late)[1] == models(daily)[1]


def test_labels_that_come_later_meet_their_forecasts(make_world):
    world = make_world("late")
    world.live(0, 2)
    frame = world.day(3)
    world.deliver(3, frame.assign(revenue=None))
    world.turn(3)
    assert world.state.lineages()[0].learned == 60 + 40
    assert len(world.state.unsettled()) == 20
    world.deliver(4, frame[["order", "revenue"]], "-labels")
    world.turn(4)
    assert world.state.unsettled() == []
    assert world.state.lineages()[0].learned == 60 + 60
    assert {each["day"] for each in world.state.days()} >= {"2026-01-04"}


def test_wrong_labels_of_a_day_are_told_and_not_learned(make_world):
    world = make_world("wrong", first=300)
    world.live(0, 20)
    learned = models(world)[1][1]
    wrong = world.day(21)
    world.deliver(21, wrong.assign(revenue=1.5 * wrong["revenue"] - 90))
    world.turn(21)
    assert any(each.startswith("2026-01-22") for each in opened(world))
    assert models(world)[1][1] == learned, "they wait"
    world.live(22, 22)
    assert models(world)[1][1] == learned + 20, "the next day's alone"
    assert [each.kind for each in world.state.history()].count("left out") == 1


def test_flags_are_watched_by_their_shares(make_world):
    world = make_world("flags")
    for number in range(4):
        frame = world.day(number)
        flags = (frame["a"] > 0).astype(object)
        flags[0] = None
        world.deliver(number, frame.assign(flag=flags))
        if not number:
            path = world.home / "contract.yaml"
            rule = "columns:\n  flag: {kind: flag, missing: 0.5}\n"
            path.write_text(path.read_text().replace("columns:\n", rule))
        world.turn(number)
    seen = world.state.memory()["watch"]["inputs"]["values"]
    assert [name for name in seen if name.startswith("flag: ")] == [
        "flag: missing", "flag: commonest", "flag: other",
    ]  # fmt: skip


def in_two(frame):
    """A day's rows in two batches."""
    return frame.iloc[::2], frame.iloc[1::2]


def test_an_incident_names_the_file_that_was_given(world):
    for file, told in ((world.home / "my sales.yml", f"'{world.home}/my sales.yml'"),
                       (None, "sales.yaml")):  # fmt: skip
        with world.state.turn():
            keeping = opening.opened(world.keep, world.state, datetime.now(UTC), file)
        keeping.incident("alarm", "labels", "odd")
        assert keeping.found[-1].command == f"leaseboard keep {told} --status"


def test_a_day_in_many_batches_is_one_point_of_the_watch(make_world):
    whole, split = make_world("whole"), make_world("split")
    for number in range(22):
        frame = whole.day(number)
        if number:
            whole.deliver(number, frame)
            for part, rows in zip("ab", in_two(frame), strict=True):
                split.deliver(number, rows, part)
        whole.turn(number)
        split.turn(number)
    seen, alike = (each.state.memory()["watch"] for each in (split, whole))
    assert seen["inputs"]["days"] == alike["inputs"]["days"]
    assert seen["outcomes"]["rows"][-10:] == [20] * 10
    for name in ("a: middle", "shop: commonest"):
        assert seen["inputs"]["values"][name] == pytest.approx(alike["inputs"]["values"][name])


def test_wrong_labels_of_a_day_in_two_batches_are_not_learned_either(make_world):
    world = make_world("wrong", first=300)
    world.live(0, 20)
    learned = models(world)[1][1]
    wrong = world.day(21)
    wrong["revenue"] = 1.5 * wrong["revenue"] - 90
    for part, rows in zip("ab", in_two(wrong), strict=True):
        world.deliver(21, rows, part)
    world.turn(21)
    assert models(world)[1][1] == learned, "a day that goes on confirms nothing"
    world.live(22, 22)
    assert models(world)[1][1] == learned + 20, "the next day's alone"


def test_a_challenger_does_not_learn_what_was_left_out(make_world):
    world = make_world("left out", first=300)
    world.live(0, 20)
    wrong = world.day(21)
    world.deliver(21, wrong.assign(revenue=1.5 * wrong["revenue"] - 90))
    world.turn(21)
    world.live(22, 26)
    (happened,) = [each for each in world.state.history() if each.kind == "left out"]
    born = [each for each in world.state.lineages() if each.born > happened.at][-1]
    with world.state.turn():
        left = set(turn_of(world, world.state).memory[turn.LEFT_OUT])
    assert left == {f"21-{i}" for i in range(20)}
    settled = world.state.settled(200)
    window = [row.id for row in settled if row.day < born.born[:10]]
    assert left & set(window), "the window reaches so far"
    assert born.learned <= len(settled) - 20


def test_a_world_that_has_changed_is_learned_a_day_later(make_world):
    world = make_world("changed", first=300)
    world.live(0, 20)
    learned = models(world)[1][1]
    for number in (21, 22):
        frame = world.day(number)
        world.deliver(number, frame.assign(revenue=200 - frame["revenue"] + 40))
        world.turn(number)
    assert models(world)[1][1] == learned + 40


def test_labels_that_were_posted_are_taken_in_once(world):
    world.live(0, 2)
    frame = world.day(3)
    world.deliver(3, frame.assign(revenue=None))
    world.turn(3)
    posted = zip(frame["order"], frame["revenue"], strict=True)
    world.state.post([{"id": name, "at": "now", "label": str(y)} for name, y in posted])
    assert world.turn(3).counts["labels"] == 20
    assert world.state.posted() == []
    assert world.state.unsettled() == []
    assert world.state.lineages()[0].learned == 60 + 60


def post(world, rows, at="2026-01-04T00:00:00+00:00"):
    world.state.post([
        {"id": row.order, "at": at, "label": str(row.revenue)} for row in rows.itertuples()
    ])  # fmt: skip


def test_labels_may_be_posted_again_and_again(make_world, state_place):
    world = make_world("posted", keep=f"{KEEP}state: {state_place}\n")
    world.live(0, 2)
    for number in (3, 4):
        frame = world.day(number)
        world.deliver(number, frame.assign(revenue=None))
        world.turn(number)
        post(world, frame)
        assert world.turn(number).counts["labels"] == 20
        assert world.state.posted() == []
    assert world.state.lineages()[0].learned == 60 + 80


def test_a_label_that_is_posted_before_its_row_waits_for_it(world):
    world.live(0, 2)
    frame = world.day(3)
    post(world, frame)
    assert world.turn(2).batches == 0
    world.deliver(3, frame.assign(revenue=None))
    assert world.turn(3).counts["labels"] == 20
    assert world.state.posted() == []
    assert world.state.asides() == []


def test_a_label_whose_row_never_comes_is_set_aside_after_a_week(world):
    world.live(0, 2)
    post(world, world.day(3).head(1))
    world.turn(4)
    assert len(world.state.posted()) == 1
    world.turn(11)
    assert world.state.posted() == []
    assert [each["reason"] for each in world.state.asides()] == [taking.UNKNOWN]


def test_a_label_that_comes_while_a_turn_goes_on_is_not_lost(world, monkeypatch):
    world.live(0, 2)
    frame = world.day(3)
    world.deliver(3, frame.assign(revenue=None))
    world.turn(3)
    post(world, frame.head(1))
    # On a server numbers are given before they are seen: a smaller one may come later.
    with world.state.begun() as connection:
        connection.exec_driver_sql("update keep_sales_posted set number = 9")
    commit = turn.commit

    def meanwhile(*given):
        if world.state.posted() == [(9, "3-0", str(frame["revenue"][0]))]:
            with world.state.begun() as connection:
                connection.exec_driver_sql(
                    "insert into keep_sales_posted values (8, '3-1', '2026-01-04', '7.0')"
                )
        commit(*given)

    monkeypatch.setattr(turn, "commit", meanwhile)
    world.turn(3)
    taken = world.state.rows_of(["3-1"])["3-1"]
    assert taken.label == "7.0" or world.state.posted() == [(8, "3-1", "7.0")]


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


def test_a_column_that_the_contract_names_no_more_is_missing_from_then_on(make_world):
    world = make_world("fewer")
    world.live(0, 1)
    edit(world.keep.contract, "shop", "")
    world.deliver(2, world.day(2))
    assert world.turn(2).counts["new"] == 20


def test_a_past_that_is_odd_raises_no_alarm(make_world):
    world = make_world("past")
    frames = [world.day(n) for n in range(1, 25)]
    frames[20]["revenue"] *= 2
    world.deliver(0, pd.concat(frames))
    world.turn(24)
    assert opened(world) == []


def test_held_rows_that_the_window_has_left_stop_nothing(make_world):
    text = KEEP.replace("window: 200", "window: 30").replace("every: 5d, ", "")
    world = make_world("narrow", first=300, keep=text)
    world.live(0, 1)
    with world.state.turn():
        keeping = turn_of(world, world.state)
        keeping.memory[turn.HELD] = {"day": "2026-01-01", "rows": ["0-0", "1-18"]}
        work = turn.Work(None, None, doubtful={"2026-01-02": True})  # the second of such days
        work.settled = keeping.state.settled(1)
        assert [row.id for row in turn._believed(keeping, work)] == ["1-18", "1-19"]


def test_labels_that_do_not_come_are_told_once(world):
    world.live(0, 1)
    world.deliver(2, world.day(2).assign(revenue=None))
    world.turn(2)
    for number in (3, 4, 5):
        world.deliver(number, world.day(number))
        world.turn(number)
    told = [each for each in opened(world) if "wait for their 'revenue'" in each]
    assert len(told) == 1


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
    assert world.state.memory()["newest"] < "2026-01-04"
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


def test_an_id_that_is_used_again_is_set_aside(world):
    world.live(0, 1)
    world.deliver(2, world.day(2).assign(order=world.day(1)["order"]))
    assert world.turn(2).counts["aside"] == 20
    assert models(world)[1][1] == 60 + 20


def test_a_clock_that_goes_back_is_told_and_not_followed(world):
    world.live(0, 3)
    world.deliver(4, world.day(4))
    world.turn(-30)
    assert any("its clock says 2025-12" in each for each in opened(world))
    assert world.state.memory()["clock"].startswith("2026-01-05")
    assert models(world)[1][1] == 60 + 80


def test_two_turns_at_once_are_one_line(world):
    with world.state.turn(), pytest.raises(UsageError, match="another turn"):
        world.turn(0)


class RankWorld(World):
    """The same days, of which it is asked whether revenue was high; at first it never is."""

    def day(self, number, rows=None):
        """The rows of a day."""
        frame = super().day(number, rows)
        high = (frame["revenue"] > 102) & (number > 0)
        return frame.assign(revenue=high.map({True: "high", False: "low"}))


ABC = KEEP.replace(
    "{algorithm: chacha, settings: {b: 3}}",
    """
  algorithm: abc
  settings:
    configurations:
      - {learner: LogisticRegression, C: 0.1}
      - {learner: LogisticRegression, C: 10.0}
""",
).replace("every: 5d", "rows: 40")


APPLE = KEEP.replace("chacha, settings: {b: 3}", "apple").replace("every: 5d", "rows: 40")


@pytest.mark.parametrize("keep", [ABC, APPLE])
def test_what_is_made_on_a_window_begins_with_two_classes_and_is_made_anew(tmp_path, keep):
    world = RankWorld(tmp_path / "ranks", keep=keep, first=60)
    world.live(0, 0)
    assert world.state.lineages() == [], "all are low: there is nothing to learn"
    contract = world.home / "contract.yaml"
    text = contract.read_text().replace("categories: [low]", "categories: [high, low]")
    contract.write_text(text)
    world.live(1, 4)
    lineages = world.state.lineages()
    assert (lineages[0].role, lineages[0].learned) == ("champion", 80)
    assert any(each.role == "challenger" for each in lineages)
    days = world.state.days()
    error = {n: sum(e["sums"]["error"] for e in days if e["lineage"] == n) for n in (1, 2)}
    assert error[1] < error[2]


def test_abc_of_numbers_is_one_line_at_each_turn(make_world):
    world = make_world("numbers")
    file = world.home / "sales.yaml"
    file.write_text(ABC)
    with pytest.raises(UsageError, match="'revenue' holds numbers, and abc selects"):
        world.turn(0)


def test_an_empty_inbox_is_no_error(world):
    (world.inbox / "000.csv").unlink()
    assert world.turn(0).batches == 0


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


class TestRoles:
    """Who takes whose place."""

    @pytest.fixture
    def keeping(self, world):
        world.live(0, 6)
        state = world.state
        with state.turn():
            keeping = turn_of(world, state)
            keeping.memory[comparing.DUELS] = {}
            yield keeping

    def test_a_better_challenger_takes_the_place_and_the_champion_watches(self, keeping):
        settle(keeping, champion=4.0, challenger=1.0)
        roles = {each.number: each.role for each in keeping.shadow.alive}
        assert (roles[1], roles[4]) == ("previous", "champion")
        assert comparing.duel_of(keeping, "previous").rows == 0

    def test_a_new_champion_that_is_worse_gives_the_place_back(self, keeping):
        settle(keeping, champion=4.0, challenger=1.0)
        settle(keeping, champion=9.0, previous=1.0)
        roles = {each.number: each.role for each in keeping.shadow.lineages.values()}
        assert (roles[1], roles[4]) == ("champion", "retired")
        assert [each.kind for each in keeping.found] == ["rolled back"]

    def test_a_worse_challenger_is_retired(self, keeping):
        settle(keeping, champion=1.0, challenger=4.0)
        assert keeping.shadow.of_role("challenger") is None
        assert keeping.shadow.of_role("champion").number == 1

    def test_alike_is_undecided(self, keeping):
        settle(keeping, champion=2.0, challenger=2.0)
        assert keeping.shadow.of_role("challenger") is not None


def turn_of(world, state):
    return opening.opened(world.keep, state, world_now(world))


def world_now(world):
    return datetime.fromisoformat(world.state.memory()["clock"]) + timedelta(days=1)


def settle(keeping, **losses):
    """Labels, by which roles have these losses, one unit to and fro."""
    work = turn.Work(None, None)
    numbers = {keeping.shadow.of_role(role).number: loss for role, loss in losses.items()}
    work.losses = [
        {number: {"loss": loss + 0.1 * (i % 3)} for number, loss in numbers.items()}
        for i in range(150)
    ]
    comparing.compare(keeping, work)
    comparing.promote(keeping, work)


def test_words_of_a_batch():
    assert flow.told({"new": 3, "labels": 0, "aside": 1}) == "3 new, 1 aside"
    assert flow.told({}) == "nothing new"


def test_what_happened_is_announced_once_and_in_flow_runs_alone(world, monkeypatch):
    from flows import announcing

    told = []
    monkeypatch.setattr(announcing, "announce", lambda _, news, __: told.append(len(news)))
    world.live(0, 1)
    assert told == [], "no flow run: nobody is told"
    monkeypatch.setattr(flow, "_flow_run", lambda: "f-1")
    world.deliver(2, world.day(2).drop(columns="a"))
    world.turn(2)
    assert told == [1], "what happened before was nobody's to be told"
    world.turn(2)
    assert told == [1]

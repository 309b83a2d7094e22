"""Updates of a live model: every row once, in order, after any failure; and what is reported."""

import pandas as pd
import pytest

from leaseboard.flows import live_update as flow
from tests.repeated import REPEATED, assert_flat
from tests.tasks.live.world import KEEP, World, opened

pytestmark = pytest.mark.usefixtures("without_pages")


def test_a_week_of_a_stream(make_world):
    world = make_world("week", first=600)
    world.live(0, 7)
    candidates = world.state.candidates()
    assert [(each.role, each.name) for each in candidates[:3]] == [
        ("champion", "online-automl"),
        ("reference", "running-mean"),
        ("reference", "last-label"),
    ]
    assert candidates[0].learned == 600 + 7 * 20
    assert candidates[3].role == "challenger", "five days are over"
    days = world.state.days()
    assert {each["day"] for each in days} == {f"2026-01-{n:02}" for n in range(2, 9)}
    losses = {n: sum(e["sums"]["loss"] for e in days if e["candidate"] == n) for n in (1, 2, 3)}
    assert losses[1] < 0.5 * losses[2]
    assert opened(world) == []


def test_labels_that_come_later_meet_their_predictions(make_world):
    world = make_world("late")
    world.live(0, 2)
    frame = world.day(3)
    world.deliver(3, frame.assign(revenue=None))
    world.update(3)
    assert world.state.candidates()[0].learned == 60 + 40
    assert sum(world.state.waiting().values()) == 20
    world.deliver(4, frame[["order", "revenue"]], "-labels")
    world.update(4)
    assert world.state.waiting() == {}
    assert world.state.candidates()[0].learned == 60 + 60
    assert {each["day"] for each in world.state.days()} >= {"2026-01-04"}


def test_a_label_that_comes_before_its_row_waits_a_week_for_it(world):
    world.live(0, 1)
    frame = world.day(2)
    never = pd.DataFrame({"order": ["never"], "revenue": [1.0]})
    world.deliver(2, pd.concat([frame[["order", "revenue"]], never]), "-labels")
    assert world.update(1).counts["early"] == 21
    assert len(world.state.early()) == 21
    world.deliver(2, frame.assign(revenue=None))
    assert world.update(2).counts["labels"] == 20
    assert world.state.waiting() == {}
    assert world.state.early().keys() == {"never"}
    world.update(9)
    assert world.state.early() == {}
    assert any("labels are dropped" in each for each in opened(world))


class RankWorld(World):
    """The same days, of which it is asked whether revenue was high; at first it never is."""

    def day(self, number, rows=None):
        """Return the rows of a day."""
        frame = super().day(number, rows)
        high = (frame["revenue"] > 102) & (number > 0)
        return frame.assign(revenue=high.map({True: "high", False: "low"}))


SEARCHED = KEEP.replace(
    "{algorithm: online-automl, settings: {b: 3}}",
    "{algorithm: rising-bandits-cost, settings: {max_trials: 1, arms: [logistic_regression]}}",
).replace("every: 5d", "rows: 40")


def test_what_is_made_on_a_window_begins_with_two_classes_and_is_made_again(tmp_path):
    world = RankWorld(tmp_path / "ranks", keep=SEARCHED, first=60)
    world.live(0, 0)
    assert world.state.candidates() == [], "all are low: there is nothing to learn"
    contract = world.home / "contract.yaml"
    text = contract.read_text().replace("categories: [low]", "categories: [high, low]")
    contract.write_text(text)
    world.live(1, 4)
    candidates = world.state.candidates()
    assert (candidates[0].role, candidates[0].learned) == ("champion", 80)
    assert any(each.role == "challenger" for each in candidates)
    days = world.state.days()
    error = {n: sum(e["sums"]["error"] for e in days if e["candidate"] == n) for n in (1, 2)}
    assert error[1] < error[2]


def test_what_happened_is_announced_once_and_in_flow_runs_alone(world, monkeypatch):
    reported = []
    monkeypatch.setattr(flow, "emit", lambda event, *_: reported.append(event))
    world.live(0, 1)
    assert reported == [], "no flow run: nothing is reported"
    monkeypatch.setattr(flow, "current_run", lambda: "f-1")
    world.deliver(2, world.day(2).drop(columns="a"))
    world.update(2)
    assert len(reported) == 1, "what happened before was not to be reported"
    world.update(2)
    assert len(reported) == 1


@REPEATED
def test_updates_leave_no_file_open_and_no_memory(world, times):
    assert_flat(lambda number: world.live(number, number), times, warm=7)  # with a challenger

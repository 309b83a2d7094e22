"""What is wrong with a day: reported as one incident, and not learned."""

import pandas as pd
import pytest

from leaseboard.tasks.live import update as updates
from leaseboard.tasks.live.candidates import rows_to_learn
from leaseboard.tasks.live.incidents import DoubtfulDay
from leaseboard.tasks.live.update import Work
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

"""The loss of days whose labels have not come: estimated once, and set beside what came."""

from __future__ import annotations

import numpy as np
import pytest

from leaseboard.flows import keep as flow
from leaseboard.tasks.keep import expecting, watching
from leaseboard.tasks.keep.expecting import Expected, expected
from tests.tasks.keep.world import KEEP, World

LATE = 3


class HardWorld(World):
    """Days whose revenue is noise where a flag says so, on some days more; labels come later."""

    def day(self, number, rows=None):
        """The rows of a day."""
        frame = super().day(number, rows)
        random = np.random.default_rng([number, 1])
        hard = random.random(len(frame)) < (0.9 if number % 5 == 0 else 0.1)
        noise = hard * 40 * random.normal(size=len(frame))
        return frame.assign(hard=np.where(hard, "yes", "no"), revenue=frame["revenue"] + noise)

    def late(self, first, last):
        """Days whose labels come `LATE` days after their rows."""
        for number in range(first, last + 1):
            self.deliver(number, self.day(number).assign(revenue=None))
            if number - LATE >= first:
                labels = self.day(number - LATE)[["order", "revenue"]]
                self.deliver(number, labels, "-labels")
            self.turn(number)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """One with three weeks of labels behind it."""
    monkeypatch.setattr(flow, "build", lambda *_: None)
    monkeypatch.setattr(watching, "watch", lambda *_: None)
    text = KEEP.replace("every: 5d, ", "").replace("label_delay: 1d", f"label_delay: {LATE}d")
    world = HardWorld(tmp_path, keep=text.replace("window: 200", "window: 2000"), first=60)
    for number in range(1, 21):
        world.deliver(number, world.day(number))
    world.turn(20)
    return world


def test_days_that_wait_are_estimated_and_then_said_what_they_came_to(world):
    assert expected(world.state.memory()) == [], "no row waits"
    world.late(21, 29)
    found = expected(world.state.memory())
    assert [each.day for each in found] == [f"2026-01-{n}" for n in range(22, 31)]
    assert [each.came is None for each in found] == [False] * 6 + [True] * 3
    hard, others = found[4], [each for each in found if each is not found[4]]
    assert hard.loss > 2 * max(each.loss for each in others), "before any of its labels came"
    days = world.state.days()
    (day,) = (e for e in days if e["day"] == found[0].day and e["lineage"] == found[0].lineage)
    assert found[0].came == day["sums"]["absolute"] / day["rows"]


def test_an_estimate_stays_as_it_was_told(world):
    world.late(21, 22)
    before = expected(world.state.memory())
    world.turn(22)
    assert expected(world.state.memory()) == before
    more = world.day(22).assign(revenue=None)
    more["order"] += "-more"
    world.deliver(22, more, "-more")
    world.turn(22)
    assert expected(world.state.memory())[1].rows == 2 * before[1].rows, "unless rows come"


def test_few_settled_days_are_not_learned_from(tmp_path, monkeypatch):
    monkeypatch.setattr(flow, "build", lambda *_: None)
    world = HardWorld(tmp_path)
    world.live(0, 5)
    world.late(6, 7)
    assert expected(world.state.memory()) == []


def test_labels_of_a_part_of_a_day_say_nothing_yet(world):
    world.late(21, 21)
    world.deliver(22, world.day(21)[["order", "revenue"]].head(10), "-labels")
    world.turn(22)
    assert expected(world.state.memory())[0].came is None


def test_the_loss_of_classes_is_the_brier_score():
    assert expecting.unit_loss({"a": 0.5, "b": 0.5}, "b") == 0.5
    assert not Expected("2026-01-01", 1, 20, 1.0, 0.5, 1.5, 1.0).held

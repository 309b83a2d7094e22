"""Bounds of a champion and of its challengers, and what is decided at the end of a round."""

import numpy as np
import pytest

from leaseboard.algorithms.events import BoundsUpdated, Eliminated, LeaseGranted, Paused
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.online_automl.online_automl import OnlineAutoML
from leaseboard.algorithms.online_automl.race import EMPTY
from leaseboard.algorithms.online_automl.safe.safe_race import Candidates
from leaseboard.algorithms.online_automl.safe.windows import critical_value

CHAMPION = np.array([1.0, 3.0, 1.0, 3.0])
CHALLENGER = np.array([2.0, 4.0, 2.0, 4.0])


@pytest.fixture
def race():
    """Return a race whose slots 0 to 4 are live, at the end of its first round of four."""
    schema = Schema(("a", "b"), ((0,), (1,)), ("0", "1"))
    race = OnlineAutoML(b=5, round_length=4).race(schema, 0, "regression")
    list(race.open())
    race.at, race._log_point = 4, 99
    return race


def set_windows(race, advantages, squares=9.0):
    race.sums[:5] = 0.0
    race.sums[:5, 0], race.sums[:5, 1] = advantages, squares


def bounds(race, losses):
    """Return configuration, examples, mean loss and bounds of the first two slots."""
    gains = CHAMPION - losses
    race.sums[1] = gains.sum(), (gains**2).sum(), losses.sum(), (losses**2).sum()
    race.sums[0] = 0.0, 0.0, CHAMPION.sum(), (CHAMPION**2).sum()
    return list(race._report([0, 1]))


def test_a_challengers_radius_is_that_of_its_difference(race):
    z = critical_value(race._n_compared, 1, 0.1)
    champion, challenger = bounds(race, CHALLENGER)

    assert (challenger.value, challenger.units) == (3.0, 4)
    assert challenger.upper - 3.0 == pytest.approx(z * np.sqrt(4 * 1.0) / 4)
    assert challenger.lower == pytest.approx(max(6.0 - challenger.upper, 0.0))
    # A champion's is that of its own loss around its mean.
    assert champion.value == 2.0
    assert champion.upper - 2.0 == pytest.approx(z * np.sqrt(4 * 1.0) / 4)
    # Each is reported once after an example.
    assert bounds(race, CHALLENGER) == []


def test_ended_leases_are_doubled_or_make_room(race):
    """Slot 0 is the initial configuration and the champion."""
    set_windows(race, (0.0, 5.0, -1.0, 2.0, 1.0))
    first, second, too_large = race.candidates.pending[:3]
    race.sizes[first] = race.sizes[second] = 1.0
    race.sizes[too_large] = 1e9
    race.candidates.pending = [too_large, first, second]
    paused, extended = race.holders[[2, 3]].tolist()
    race.lease_of[2] = race.lease_of[3] = 4
    made = list(race.decide())

    assert [type(each) for each in made] == [
        BoundsUpdated, BoundsUpdated, Paused, LeaseGranted, LeaseGranted,
    ]  # fmt: skip
    assert [each.configuration for each in made] == [paused, extended, paused, extended, first]
    assert (made[3].amount, made[4].slot, made[2].units) == (8, 2, 4)
    assert race.holders[2] == first
    assert race.candidates.pending == [too_large, second, paused]
    assert race.candidates.leases == {paused: 8}


def test_what_is_worse_leaves_for_good_while_others_wait(race):
    set_windows(race, (0.0, -90.0, 0.0, 0.0, 0.0))
    waiting, race.candidates.pending = race.candidates.pending, []
    worse = int(race.holders[1])
    assert list(race.decide()) == []
    race.candidates.pending = waiting[:1]
    race.sizes[waiting[0]] = 1.0
    made = list(race.decide())

    assert [type(each) for each in made] == [
        BoundsUpdated, BoundsUpdated, Eliminated, LeaseGranted,
    ]  # fmt: skip
    assert [each.configuration for each in made] == [worse, 0, worse, waiting[0]]
    race.candidates.join([worse], race.holders.tolist())
    assert race.candidates.pending == []


def test_candidates_go_on_from_their_state():
    candidates, other = Candidates(), Candidates()
    candidates.join([3, 1, 4, 3], [EMPTY, 4])
    candidates.eliminated.add(2)
    candidates.pause(2, 40)
    candidates.pause(4, 20)
    candidates.join([5], [])
    other.fill(candidates.state())

    assert candidates.pending == [3, 1, 5, 4]
    assert other.state() == candidates.state()

"""Which part of the race is trusted with forecasts that wait."""

import numpy as np
import pytest

from leaseboard.algorithms.chacha.safe.intervals import N_PARTS, Waited

PARTS = np.arange(N_PARTS, dtype=float)


def test_before_the_first_answer_it_is_the_race_that_is_trusted():
    forecast, said = Waited(()).say(PARTS + 5)

    assert forecast == 5.0
    assert said[:N_PARTS].tolist() == (PARTS + 5).tolist()


def test_parts_are_weighed_by_what_they_said_when_it_was_said():
    waited = Waited(())
    forecast, said = waited.say(PARTS)
    waited.say(PARTS + 100)  # what is said meanwhile counts when it is answered
    waited.settle(2.5, 2.5, forecast, said, delay=1)

    losses = (PARTS - 2.5) ** 2
    weights = np.exp(-0.5 * (losses - 0.25) / 0.25)
    assert waited.say(10 * PARTS)[0] == pytest.approx(10 * weights @ PARTS / weights.sum())


def test_a_label_out_of_range_is_shown_as_learners_see_it():
    waited = Waited(())
    forecast, said = waited.say(PARTS)
    waited.settle(1e6, 7.0, forecast, said, delay=0)

    assert waited.losses.max() == 49.0


def test_a_state_that_nothing_has_is_refused():
    for name, value in (("losses", np.full(N_PARTS, np.nan)), ("mass", np.array([1e4]))):
        with pytest.raises(ValueError, match="must be finite, and their mass"):
            Waited(()).fill(Waited(()).state() | {name: value})
    with pytest.raises(ValueError, match="no array"):
        Waited(()).fill(Waited(()).state() | {"losses": np.zeros(1)})

"""The compiled steps of a race, each on slots filled in by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leaseboard.algorithms.chacha import state
from leaseboard.algorithms.chacha.presets import Flaml, Paper
from leaseboard.algorithms.chacha.state import (
    better,
    epsilon_flaml,
    epsilon_paper,
    worse,
)

PAPER, FLAML = Paper().rules(), Flaml().rules()


def slots_of(*rows):
    """Return one slot for each dict of columns; the configuration's number is the slot's."""
    slots = state.empty_slots(len(rows))
    for slot, columns in enumerate(rows):
        slots[slot, state.CONFIGURATION] = slot
        for column, value in columns.items():
            slots[slot, getattr(state, column)] = value
    return slots


def control_of(rules, champion=0, n_candidates=1):
    control = rules.controls()
    control[state.CHAMPION] = champion
    control[state.N_CANDIDATES] = n_candidates
    return control


def test_the_least_upper_bound_predicts():
    control = control_of(PAPER)

    assert state.Steps(slots_of({"N": 9, "UPPER": 3}, {"N": 9, "UPPER": 2}), control).select() == 1
    assert control[state.PREDICTOR] == 1


def test_until_a_model_is_ripe_the_last_predictor_goes_on_then_the_champion():
    control = control_of(FLAML)
    young = slots_of({"N": 99, "UPPER": 3}, {"N": 99, "UPPER": 2})

    assert state.Steps(young, control).select() == 0
    control[state.PREDICTOR] = 1
    assert state.Steps(young, control).select() == 1
    assert (
        state.Steps(slots_of({"N": 100, "UPPER": 3}, {"N": 99, "UPPER": 2}), control).select() == 0
    )


def test_no_one_predicts_while_the_champion_is_paused_and_all_are_fresh():
    assert state.Steps(slots_of({}, {}), control_of(PAPER, champion=7)).select() == -1


@pytest.mark.parametrize(
    ("rules", "clipped"),
    # the prediction 20 is clipped to labels up to 10, or to the one label seen since the start
    [(PAPER, 10.0), (FLAML, 4.0)],
)
def test_losses_are_clipped_to_all_labels_or_to_a_configurations_own(rules, clipped):
    control = control_of(rules)
    control[[state.GLOBAL_LOW, state.GLOBAL_HIGH]] = 0, 10
    slots = slots_of({"N": 1, "LOSS": 1.0, "DIMENSION": 2, "LOW": math.inf, "HIGH": -math.inf})
    state.Steps(slots, control).observe(4.0, np.array([20.0], np.float32))

    assert slots[0, state.N] == 2
    assert slots[0, state.LOSS] == (1.0 + (clipped - 4.0)) / 2
    assert slots[0, [state.LOW, state.HIGH]].tolist() == [4.0, 4.0]


def test_bounds_are_epsilon_around_the_mean_and_never_below_zero():
    control = control_of(PAPER, n_candidates=45)
    control[[state.GLOBAL_LOW, state.GLOBAL_HIGH]] = 0, 10
    slots = slots_of({"N": 1, "LOSS": 1.0, "DIMENSION": 2, "LOW": 4, "HIGH": 4})
    state.Steps(slots, control).observe(4.0, np.array([5.0], np.float32))
    epsilon = 0.05 * 10 * math.sqrt(2 * math.log(2 * 45 / 0.1) / 2)

    assert slots[0, state.EPSILON] == pytest.approx(epsilon)
    assert slots[0, state.UPPER] == pytest.approx(1.0 + epsilon)
    assert slots[0, state.LOWER] == 0.0


def test_one_label_makes_the_literal_bound_certain_but_not_the_authors():
    epsilons = []
    for rules in (PAPER, FLAML):
        slots = slots_of({"DIMENSION": 1, "LOW": math.inf, "HIGH": -math.inf})
        state.Steps(slots, control_of(rules)).observe(4.0, np.zeros(1, np.float32))
        epsilons.append(slots[0, state.EPSILON])

    assert epsilons == [0.0, pytest.approx(0.05 * math.sqrt(math.log10(1 / 0.1)))]


CHAMPION = {"N": 200, "LOWER": 2.0, "UPPER": 2.2, "EPSILON": 0.1}
RIPE = {"N": 200, "LOWER": 1.0, "UPPER": 1.2, "EPSILON": 0.1}
YOUNG = {"N": 99, "LOWER": 0.5, "UPPER": 0.6, "EPSILON": 0.05}


def test_a_young_challenger_hides_a_ripe_one_only_in_the_authors_program():
    slots = slots_of(CHAMPION, RIPE, YOUNG)

    assert state.Steps(slots, control_of(FLAML)).challenger_to_promote(0) == -1
    assert state.Steps(slots, control_of(PAPER)).challenger_to_promote(0) == 2


def test_who_is_out_is_not_tested_again():
    slots = slots_of(CHAMPION, {**RIPE, "OUT": 1}, {**RIPE, "LOWER": 2.3, "OUT": 1})

    assert state.Steps(slots, control_of(PAPER)).challenger_to_promote(0) == -1
    assert not state.Steps(slots, control_of(PAPER)).is_worse(0, 2)


def test_a_decision_is_due_at_the_end_of_a_lease_or_when_a_test_is_positive():
    equal = {**CHAMPION, "LEASE": 300}
    cases = {
        "nothing": (equal, equal, False),
        "lease": (equal, {**equal, "N": 300}, True),
        "better": (equal, {**RIPE, "LEASE": 300}, True),
        "worse": (equal, {**equal, "LOWER": 2.3, "UPPER": 2.5}, True),
    }
    for name, (champion, challenger, due) in cases.items():
        slots, control = slots_of(champion, challenger), control_of(PAPER)
        control[state.MAY_ELIMINATE] = 1

        assert state.Steps(slots, control).needs_decision() == due, name
        control[state.TESTING] = 0
        assert state.Steps(slots, control).needs_decision() == (name == "lease"), name


def test_epsilon_of_the_appendix():
    # a = 0.05 * 20 = 1; 11 ln(1000 * 45 / 0.1) / 1000 = 0.011 * 13.01700...
    epsilon = epsilon_paper(1000, 11, 45, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.011 * 13.0170028), rel=1e-7)


def test_epsilon_of_the_authors_code():
    # a = 1; sqrt(11) sqrt(log10(10000) / 1000) = sqrt(11 * 4 / 1000)
    epsilon = epsilon_flaml(1000, 11, value_range=20.0)

    assert epsilon == pytest.approx(math.sqrt(0.044))


def test_better_asks_for_a_gap_of_the_champions_epsilon():
    assert better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.4)
    assert not better(challenger_upper=1.0, champion_lower=1.5, champion_epsilon=0.5)


def test_worse_with_and_without_the_authors_margin():
    assert worse(1.2, 0.1, champion_upper=1.15, margin=0.0)
    assert not worse(1.2, 0.1, champion_upper=1.15, margin=1.0)
    assert not worse(1.15, 0.1, champion_upper=1.15, margin=0.0)

"""Optimisers of arms and of a whole space, and those that need the extra ``leaseboard[smac]``."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leaseboard.tasks.evaluate.optimisers import Guided, RandomSearch, make
from leaseboard.tasks.evaluate.spaces import load_space

FAST = load_space("fast")
SIXTEEN = load_space("classifiers16")
TABLES = load_space("tables-classification")
BOOSTED = TABLES.restricted(["lightgbm"])
KINDS = [
    "tpe",
    "random",
    *(pytest.param(kind, marks=pytest.mark.smac) for kind in ("smac", "bohb")),
]
ROOT = Path(__file__).resolve().parents[4]


def reward(suggestion):
    """Return a reward that is best at C = 1; other arms and parameters hardly matter."""
    return 1 / (1 + abs(np.log10(suggestion.parameters.get("C", 1e-4))))


def played(optimiser, n_trials, known=(), reward=reward):
    """Return the suggestions of an optimiser that learns `known` and is asked for the rest."""
    made = list(known)
    for n in range(n_trials):
        if n >= len(made):
            made.append(optimiser.suggest(n))
        optimiser.tell(n, made[n], reward(made[n]) if callable(reward) else reward[n])
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_continues_where_the_record_ends(kind):
    for space in (FAST.restricted(["sgd"]), FAST):
        whole = played(make(kind, space, 7), 10)

        assert played(make(kind, space, 7), 10, known=whole[:7]) == whole
        assert played(make(kind, space, 8), 10) != whole


@pytest.mark.parametrize("kind", KINDS)
def test_suggestions_are_legal_and_only_active_hyperparameters(kind):
    for suggestion in played(make(kind, SIXTEEN, 0), 10):
        arm = SIXTEEN.arms[suggestion.arm]
        for name, value in suggestion.parameters.items():
            spec = arm.hyperparameters[name]
            assert spec.allows(value)
            assert spec.type == "choice" or type(value).__name__ == spec.type
        full = {name: suggestion.parameters.get(name) for name in arm.hyperparameters}
        assert set(arm.active(full)) == set(suggestion.parameters)


def test_tpe_learns_where_random_search_does_not():
    space = FAST.restricted(["liblinear_svc"])
    late = {
        kind: np.mean(
            [reward(s) for seed in range(4) for s in played(make(kind, space, seed), 40)[20:]]
        )
        for kind in ("tpe", "random")
    }

    assert late["tpe"] > late["random"] + 0.05


def test_an_arm_without_hyperparameters_has_nothing_to_suggest():
    bayes = make("tpe", FAST.restricted(["gaussian_nb"]), 0)

    assert [s.parameters for s in played(bayes, 3)] == [{}] * 3


def test_guided_tries_defaults_then_what_is_known_to_be_good_then_its_optimiser():
    made = played(make("guided", BOOSTED, 0), 7, reward=[0.5] * 7)
    leads = BOOSTED.arms["lightgbm"].leads()

    assert [each.parameters for each in made[:6]] == leads
    assert leads[0]["n_estimators"] == 100  # LightGBM's own
    assert made[6].parameters not in leads
    assert {each.fidelity for each in made} == {1.0}
    three = make("guided", TABLES.restricted(["qda", "lightgbm", "mlp"]), 0)
    arms = [each.arm for each in played(three, 5, reward=[0.5] * 5)]
    assert arms == ["qda", "lightgbm", "mlp", "qda", "lightgbm"]


def test_a_default_goes_on_to_all_rows_and_others_if_they_are_in_the_best_third():
    guided = Guided(BOOSTED, 0, lambda: RandomSearch(BOOSTED, 0), shares=(0.1, 1.0))
    made = played(guided, 5, reward=[0.6, 0.7, 0.5, 0.9, 0.8])

    # The default, again; two that are not the best third, or are too few; the best of three.
    assert [each.fidelity for each in made] == [0.1, 1.0, 0.1, 0.1, 1.0]
    assert made[1].parameters == made[0].parameters
    assert made[4].parameters == made[3].parameters
    failed = Guided(BOOSTED, 0, lambda: RandomSearch(BOOSTED, 0), shares=(0.1, 0.4, 1.0))
    assert {each.fidelity for each in played(failed, 12, reward=[0.0] * 12)} == {0.1}


@pytest.mark.parametrize("shares", [(1.0,), (0.05, 0.2, 1.0)])
def test_guided_goes_on_from_a_record_as_if_it_had_never_stopped(shares):
    arm = TABLES.restricted(["extra_trees"])
    rewards = [0.5, 0.6, 0.55, 0.7, 0.2, 0.9, 0.65, 0.3, 0.8, 0.75, 0.1, 0.85]
    made = played(make("guided", arm, 3, shares), 12, reward=rewards)
    later = make("guided", arm, 3, shares)
    played(later, 7, known=made[:7], reward=rewards)

    assert later.suggest(7) == made[7]
    assert max(each.fidelity for each in made) == 1.0


@pytest.mark.smac
@pytest.mark.parametrize("kind", ["smac", "bohb"])
def test_the_hashes_of_a_process_change_nothing(kind):
    code = (
        "from tests.tasks.evaluate.test_optimisers import *;"
        f" print(played(make({kind!r}, FAST, 7), 12))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": number},
            cwd=ROOT, check=True, capture_output=True, text=True,
        ).stdout
        for number in ("1", "2", "3")
    }  # fmt: skip

    assert len(said) == 1


@pytest.mark.smac
def test_bohb_climbs_to_all_rows_and_a_record_that_smac_does_not_repeat_is_refused():
    fidelities = {round(s.fidelity, 4) for s in played(make("bohb", FAST, 7), 20)}
    whole = played(make("smac", FAST, 7), 3)

    assert fidelities == {0.1111, 0.3333, 1.0}
    with pytest.raises(RuntimeError, match="does not repeat its trial 0"):
        played(make("smac", FAST, 7), 3, known=[whole[1], whole[0], whole[2]])

"""Spaces of arms, and optimisers, of which some need the extra ``leaseboard[smac]``."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.optimisers import Guided, RandomSearch, make
from leaseboard.tasks.evaluate.spaces import (
    Arm,
    Hyperparameter,
    Space,
    build,
    load_space,
    stopping,
)
from leaseboard.tasks.evaluate.trials import Arrays, Fold, Order, run
from leaseboard.tasks.machine.environment import conf_files

RNG = np.random.default_rng(0)


def test_sizes_of_the_spaces():
    """auto-sklearn 0.15 has 67 of 16; `algorithm` of AdaBoost is gone. The paper says 78."""
    for name, *sizes in (("classifiers16", 16, 66), ("er-ucb10", 10, 39)):
        arms = load_space(name).arms.values()
        assert sizes == [len(arms), sum(len(arm.hyperparameters) for arm in arms)]


def test_draws_are_allowed_conditions_hold_and_defaults_build():
    for name in conf_files("spaces", None):
        for arm in load_space(name).arms.values():
            values = {**arm.constants, **arm.defaults()}
            assert hasattr(build(arm.estimator, values, 9, 0), "fit"), name
            for drawn in (arm.draw(RNG) for _ in range(20)):
                for key, value in drawn.items():
                    spec = arm.hyperparameters[key]
                    assert spec.allows(value)
                    assert spec.type == "choice" or type(value).__name__ == spec.type
                    assert all(drawn[parent] in wanted for parent, wanted in spec.when.items())


def in_arm(**given):
    child = Hyperparameter(type="int", low=1, high=2, default=1, **given)
    kernel = Hyperparameter(type="choice", choices=["poly", "rbf"], default="rbf")
    return {"estimator": "x:Y", "hyperparameters": {"degree": child, "kernel": kernel}}


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (Hyperparameter, {"type": "choice", "choices": [1]}, "at least two"),
        (Hyperparameter, {"type": "choice", "choices": [1, 2], "default": 3}, "default 3"),
        (Hyperparameter, {"type": "int", "low": 3, "high": 3, "default": 3}, "low < high"),
        (Hyperparameter, {"type": "float", "high": 1, "log": True, "default": 1}, "positive"),
        (Hyperparameter, {"type": "int", "low": 1, "high": 3, "default": "2"}, "default '2'"),
        (Arm, in_arm(when={"shape": ["poly"]}), "depends on 'shape'"),
        (Arm, in_arm(when={"kernel": ["linear"]}), "depends on kernel"),
        (Arm, in_arm() | {"first": [{"degree": 3}]}, "degree=3"),
        (Space, {"title": "t", "source": "s", "arms": {}}, "arms"),
    ],
)
def test_what_is_wrong_in_a_space_is_named(model, given, message):
    with pytest.raises(ValueError, match=message):
        model(**given)


def test_a_users_own_space_names_file_line_and_key(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("title: Mine\nsource: me\narms:\n  tree:\n    estimater: x:Y\n")

    for ask, message in (
        (lambda: load_space(str(path)), r"mine.yaml:5: arms.tree.estimater: unknown key"),
        (lambda: load_space("cheep13"), "did you mean 'cheap13'"),
        (lambda: load_space("fast").restricted(["ldaa"]), "did you mean 'lda'"),
    ):
        with pytest.raises(UsageError, match=message):
            ask()


X = RNG.normal(size=(240, 6)).astype(np.float32)
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 1)
FOLD = Fold(X[:150], Y[:150], X[150:190], Y[150:190], X[190:], Y[190:])


@pytest.mark.parametrize("space", ["classifiers17", "er-ucb10"])
def test_every_arm_learns_with_defaults_and_with_draws(space):
    small, rng = {"n_estimators": 5, "max_iter": 30}, np.random.default_rng(1)
    for name, arm in load_space(space).arms.items():
        for drawn in (arm.defaults(), arm.draw(rng)):
            values = {**arm.constants, **drawn}
            values |= {key: value for key, value in small.items() if key in values}
            outcome = run(Order(arm.estimator, values, 3), Arrays("classification", (FOLD,)))
            assert outcome.status == "ok", name
            assert 0 <= outcome.reward <= 1
            assert 0 <= outcome.test <= 1


LAYERS = {"hidden_layer_depth": 2, "num_nodes_per_layer": 7, "early_stopping": "train"}


@pytest.mark.parametrize(
    ("recipe", "values", "made"),
    [
        # An exponent, and a share, of a hundred features.
        ("random_forest", {"max_features": 0.5}, {"max_features": 10}),
        ("decision_tree", {"max_depth_factor": 0.5}, {"max_depth": 50}),
        ("gradient_boosting", {"early_stop": "off"}, {"early_stopping": False}),
        ("gradient_boosting", {"early_stop": "train"},
         {"early_stopping": True, "validation_fraction": None}),
        ("lda", {"shrinkage": "none"}, {"solver": "svd"}),
        ("lda", {"shrinkage": "manual", "shrinkage_factor": 0.3},
         {"solver": "lsqr", "shrinkage": 0.3}),
        # liblinear has few legal pairs.
        ("liblinear_svc", {"penalty": "l2", "loss": "hinge"}, {"loss": "hinge", "dual": True}),
        ("liblinear_svc", {"penalty": "l1", "loss": "hinge"},
         {"loss": "squared_hinge", "dual": False}),
        ("mlp", LAYERS, {"hidden_layer_sizes": (7, 7), "early_stopping": False,
                         "beta_1": 0.9, "beta_2": 0.999}),
        ("passive_aggressive", {"loss": "hinge", "C": 0.5},
         {"learning_rate": "pa1", "eta0": 0.5, "penalty": None}),
        ("passive_aggressive", {"loss": "squared_hinge", "C": 0.5}, {"learning_rate": "pa2"}),
    ],
)  # fmt: skip
def test_a_recipe_makes_of_its_values_what_scikit_learn_takes(recipe, values, made):
    found = build(recipe, values, 100, 0).get_params()

    assert {name: found[name] for name in made} == made


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        ("forest", "unknown recipe 'forest'"),
        ("sklearn.tree:NoTree", "can be imported"),
        ("collections:Counter", "it has no fit"),
    ],
)
def test_what_is_not_an_estimator_is_refused(estimator, said):
    with pytest.raises(UsageError, match=said):
        build(estimator, {}, 3, 0)


def test_boosting_that_is_stopped_has_fewer_trees_and_predicts():
    left = iter([2.0, 1.0, 0.0])
    model = build("lightgbm", {}, 6, 0)
    model.fit(X, Y, callbacks=[stopping(lambda: next(left))])

    assert model.n_iter_ == 3
    assert model.predict(X).shape == (240,)


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
        "from tests.tasks.evaluate.test_spaces import *;"
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

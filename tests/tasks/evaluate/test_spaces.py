"""Spaces as users write them, and the estimators of their arms."""

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
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

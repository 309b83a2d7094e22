import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Fold, Order, run
from leaseboard.tasks.evaluate.trials.recipes import build, import_class, stopping
from leaseboard.tasks.evaluate.trials.spaces import load_space


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 6)).astype(np.float32)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 1)
    return Arrays(
        "classification", (Fold(X[:150], y[:150], X[150:190], y[150:190], X[190:], y[190:]),)
    )


def test_every_arm_learns_with_defaults_and_with_draws(arrays):
    failed = {}
    for space in ("classifiers17", "er-ucb10"):
        for name, arm in load_space(space).arms.items():
            rng = np.random.default_rng(1)
            small = {"n_estimators": 5, "max_iter": 30}
            for drawn in (arm.defaults(), arm.draw(rng)):
                values = {**arm.constants, **drawn}
                values |= {key: value for key, value in small.items() if key in values}
                outcome = run(Order(arm.estimator, values, 3), arrays)
                if outcome.status != "ok" or not 0 <= outcome.reward <= 1 or outcome.test is None:
                    failed[space, name] = outcome

    assert failed == {}


def test_forest_features_are_an_exponent():
    forest = build("random_forest", {"max_features": 0.5, "n_estimators": 3}, 100, 0)

    assert forest.max_features == 10
    assert build("extra_trees", {"max_features": 0.0}, 100, 0).max_features == 1


def test_a_trees_depth_is_a_share_of_the_features_and_no_stump():
    assert build("decision_tree", {"max_depth_factor": 0.5}, 20, 0).max_depth == 10
    assert build("decision_tree", {"max_depth_factor": 0.0}, 20, 0).max_depth == 1


def test_early_stopping_of_boosting_has_three_ways():
    assert build("gradient_boosting", {"early_stop": "off"}, 3, 0).early_stopping is False
    train = build("gradient_boosting", {"early_stop": "train", "n_iter_no_change": 3}, 3, 0)
    assert (train.early_stopping, train.validation_fraction) == (True, None)
    valid = build("gradient_boosting", {"early_stop": "valid", "validation_fraction": 0.2}, 3, 0)
    assert (valid.early_stopping, valid.validation_fraction) == (True, 0.2)


def test_discriminant_analysis_changes_its_solver_with_shrinkage():
    assert build("lda", {"shrinkage": "none"}, 3, 0).solver == "svd"
    manual = build("lda", {"shrinkage": "manual", "shrinkage_factor": 0.3}, 3, 0)
    assert (manual.solver, manual.shrinkage) == ("lsqr", 0.3)


def test_liblinear_gets_only_legal_pairs():
    for penalty, loss, fitted, dual in (
        ("l2", "hinge", "hinge", True),
        ("l2", "squared_hinge", "squared_hinge", False),
        ("l1", "squared_hinge", "squared_hinge", False),
        ("l1", "hinge", "squared_hinge", False),
    ):
        svc = build("liblinear_svc", {"penalty": penalty, "loss": loss}, 3, 0)
        assert (svc.loss, svc.dual) == (fitted, dual)


def test_adam_has_its_betas_the_right_way_round():
    values = {"hidden_layer_depth": 2, "num_nodes_per_layer": 7, "early_stopping": "train"}
    mlp = build("mlp", values, 3, 0)

    assert (mlp.beta_1, mlp.beta_2) == (0.9, 0.999)
    assert (mlp.hidden_layer_sizes, mlp.early_stopping) == ((7, 7), False)


def test_passive_aggressive_is_sgd_with_its_rates():
    pa1 = build("passive_aggressive", {"loss": "hinge", "C": 0.5}, 3, 0)
    pa2 = build("passive_aggressive", {"loss": "squared_hinge", "C": 0.5}, 3, 0)

    assert (pa1.learning_rate, pa1.eta0, pa1.penalty) == ("pa1", 0.5, None)
    assert pa2.learning_rate == "pa2"


def test_what_is_not_an_estimator_is_refused():
    with pytest.raises(UsageError, match="unknown recipe 'forest'"):
        build("forest", {}, 3, 0)
    with pytest.raises(UsageError, match="can be imported"):
        import_class("sklearn.tree:NoTree")
    with pytest.raises(UsageError, match="it has no fit"):
        import_class("collections:Counter")


def test_boosting_that_is_stopped_has_fewer_trees_and_predicts():
    rng = np.random.default_rng(0)
    X, left = rng.normal(size=(200, 3)), iter([2.0, 1.0, 0.0])
    model = build("lightgbm", {}, 3, 0)
    model.fit(X, (X[:, 0] > 0).astype(int), callbacks=[stopping(lambda: next(left))])

    assert model.booster_.num_trees() == 3
    assert model.predict(X).shape == (200,)

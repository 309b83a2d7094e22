import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.spaces import (
    Arm,
    Hyperparameter,
    Space,
    build,
    load_space,
)
from leaseboard.tasks.machine.environment import conf_files

RNG = np.random.default_rng(0)


def test_sizes_of_the_spaces():
    """auto-sklearn 0.15 has 67 of 16; `algorithm` of AdaBoost is gone. The paper says 78."""
    sizes = {
        "classifiers16": (16, 66),
        "classifiers17": (17, 73),
        "er-ucb10": (10, 39),
        "lightgbm": (1, 7),
        "cheap13": (13, 50),
        "fast": (8, 27),
        "tables-classification": (8, 29),
        "tables-regression": (7, 26),
    }
    arms = {name: load_space(name).arms for name in sizes}

    assert sizes == {
        name: (len(each), sum(len(arm.hyperparameters) for arm in each.values()))
        for name, each in arms.items()
    }


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
        (lambda: load_space(str(path)), r"mine.yaml:5: .*did you mean 'estimator'"),
        (lambda: load_space("cheep13"), "did you mean 'cheap13'"),
        (lambda: load_space("fast").restricted(["ldaa"]), "did you mean 'lda'"),
    ):
        with pytest.raises(UsageError, match=message):
            ask()

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.trials import spaces
from leaseboard.tasks.evaluate.trials.recipes import build
from leaseboard.tasks.evaluate.trials.spaces import Arm, Hyperparameter, Space, load_space
from leaseboard.tasks.machine.paths import conf_files

RNG = np.random.default_rng(0)


def n_tunable(space):
    return sum(len(arm.hyperparameters) for arm in space.arms.values())


def hyperparameter(**given):
    return Hyperparameter(**given)


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

    assert {name: (len(load_space(name).arms), n_tunable(load_space(name))) for name in sizes} == (
        sizes
    )


def test_draws_stay_in_range_conditions_hold_and_defaults_build():
    for name in conf_files("spaces", None):
        for arm in load_space(name).arms.values():
            values = {**arm.constants, **arm.defaults()}
            assert hasattr(build(arm.estimator, values, 9, 0), "fit"), name
            for drawn in (arm.draw(RNG) for _ in range(20)):
                for key, value in drawn.items():
                    spec = arm.hyperparameters[key]
                    if spec.choices is not None:
                        assert value in spec.choices
                    else:
                        assert spec.low <= value <= spec.high
                        assert isinstance(value, int if spec.type == "int" else float)
                    assert all(drawn[parent] in wanted for parent, wanted in spec.when.items())


def test_logarithmic_draws_are_uniform_in_the_exponent():
    spec = hyperparameter(type="float", low=1e-4, high=1.0, log=True, default=0.1)
    exponents = np.log10([spec.draw(RNG) for _ in range(2000)])

    assert exponents.mean() == pytest.approx(-2, abs=0.1)


def test_a_wrong_hyperparameter_says_what_is_wrong():
    for given, message in (
        ({"type": "choice", "choices": [1]}, "at least two"),
        ({"type": "choice", "choices": [1, 2], "default": 3}, "is not one of the choices"),
        ({"type": "int", "low": 3, "high": 3, "default": 3}, "low < high"),
        ({"type": "float", "low": 0, "high": 1, "log": True, "default": 1}, "must be positive"),
        ({"type": "int", "low": 1, "high": 3, "default": 4}, "outside"),
    ):
        with pytest.raises(ValueError, match=message):
            hyperparameter(**given)


def test_a_condition_must_name_a_choice_and_a_space_needs_an_arm():
    child = hyperparameter(type="int", low=1, high=2, default=1, when={"kernel": ["poly"]})

    with pytest.raises(ValueError, match="depends on 'kernel'"):
        Arm(estimator="x:Y", hyperparameters={"degree": child})
    with pytest.raises(ValueError, match="arms"):
        Space(title="t", source="s", arms={})


def test_a_users_own_space_names_file_line_and_key(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("title: Mine\nsource: me\narms:\n  tree:\n    estimater: x:Y\n")

    with pytest.raises(UsageError, match=r"mine.yaml:5: .*did you mean 'estimator'"):
        load_space(str(path))


def test_an_unknown_space_or_arm_suggests_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'cheap13'"):
        load_space("cheep13")
    with pytest.raises(UsageError, match="did you mean 'lda'"):
        load_space("fast").restricted(["ldaa"])


def test_equal_content_has_equal_digest():
    arm = load_space("fast").arms["lda"]

    assert spaces.digest(arm) == spaces.digest(load_space("classifiers16").arms["lda"])
    assert spaces.digest(arm) != spaces.digest(load_space("fast").arms["sgd"])


def test_a_configuration_folder_of_ones_own_adds_spaces_and_hides_none(tmp_path):
    (tmp_path / "spaces").mkdir()
    shipped = spaces.load_space("fast", tmp_path)
    text = "title: Mine\nsource: here\narms: {svc: {estimator: sklearn.svm:SVC}}\n"
    (tmp_path / "spaces" / "fast.yaml").write_text(text)

    assert len(shipped.arms) > 1
    assert "classifiers16" in conf_files("spaces", tmp_path)
    assert spaces.load_space("fast", tmp_path).title == "Mine"

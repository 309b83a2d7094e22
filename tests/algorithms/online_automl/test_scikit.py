"""The streaming models in scikit-learn's form; the candidates of ConfigOracle."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from leaseboard.algorithms.online.schema import VWConfiguration
from leaseboard.algorithms.online_automl.oracle import ConfigOracle
from leaseboard.algorithms.online_automl.scikit import StreamClassifier, StreamRegressor

ORDERED = {
    "check_sample_weight_equivalence_on_dense_data": "it shuffles the rows, whose order counts;"
    " scikit-learn expects the same of its own SGDRegressor and SGDClassifier"
}


@pytest.mark.filterwarnings("ignore")  # some checks warn on purpose
@pytest.mark.parametrize("kind", [StreamRegressor, StreamClassifier])
def test_scikit_learns_checks(kind):
    reported = check_estimator(
        kind(settings={"b": 3}), on_skip=None, on_fail=None, expected_failed_checks=ORDERED
    )
    # The one of arrays of other kinds is opt-in, by what scipy reads at its import.
    broken = {
        each["check_name"]: each["exception"]
        for each in reported
        if each["status"] != "passed" and "array_api" not in each["check_name"]
    }

    assert len(reported) > 50
    assert broken.keys() == ORDERED.keys()


def test_classes_of_later_calls_are_those_of_the_first():
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 0, "up", "down")
    model = StreamClassifier("chacha").partial_fit(X, y, ["up", "down"])
    model.partial_fit(X, y, ["down", "up"])

    for other in (["up", "down", "left"], ["up"], []):
        with pytest.raises(ValueError, match="differ from those of the first call"):
            model.partial_fit(X, y, other)
    assert model.model_.examples == 40


DAYS = pd.date_range("2024-01-01", periods=4)
DIGITS = ["1", "2", "3", "4"]
TIMES = [
    pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "t": DAYS.where(DAYS.day > 2)}),
    DAYS.to_numpy()[:, None],
]
TEXTS = [
    [[1.0], [2.0], [3.0], ["4"]],
    pd.DataFrame({"x": DIGITS}),
    pd.DataFrame({"x": pd.Categorical(DIGITS)}),
]


@pytest.mark.parametrize("estimator", [StreamRegressor, StreamClassifier])
def test_dates_and_digits_as_texts_are_not_bare_numbers(estimator):
    numbers, labels = np.arange(4.0)[:, None], [1, 2, 1, 2]
    fitted = estimator("chacha").fit(numbers, labels)
    for x in (*TIMES, *TEXTS):
        for call in (
            lambda x=x: estimator().fit(x, labels),
            lambda x=x: estimator().partial_fit(x, labels),
            lambda x=x: fitted.predict(x),
        ):
            with pytest.raises(TypeError, match="holds texts or dates, and this estimator"):
                call()
    assert fitted.model_.examples == 4


LETTERS = tuple("abcdefghij")
BOTH = "interactions+learning-rate"


DEFAULT = VWConfiguration()


def ask(oracle, champion=DEFAULT, namespaces=LETTERS, seed=0):
    return oracle(champion, namespaces, np.random.RandomState(seed))


def rates(oracle, rate):
    return [one.learning_rate for one in ask(oracle, VWConfiguration(learning_rate=rate))]


def test_the_step_shrinks_when_the_rate_did_not_win_and_stays_when_it_won():
    oracle = ConfigOracle("learning-rate", literal=True)
    first, again = rates(oracle, 0.1), rates(oracle, 0.1)
    assert again[0] < first[0]
    assert again[1] > first[1]

    oracle = ConfigOracle("learning-rate", literal=True)
    up, _ = rates(oracle, 0.01)
    further, back = rates(oracle, up)
    assert further / up == pytest.approx(up / 0.01)
    assert back == pytest.approx(0.01)

    oracle = ConfigOracle("learning-rate", literal=False)  # as FLAML's
    assert rates(oracle, 0.1) == rates(oracle, 0.1)


def test_joint_candidates_change_one_or_both():
    names = tuple("abc")
    apart = ask(ConfigOracle(BOTH), namespaces=names)
    joined = ask(ConfigOracle(BOTH, literal=True), namespaces=names)

    assert len(apart) == 3 + 2
    assert len(joined) == 3 * 2 + 3 + 2
    assert any(p.interactions and p.learning_rate != 0.5 for p in joined)
    assert not any(p.interactions and p.learning_rate != 0.5 for p in apart)

"""The streaming models in scikit-learn's form: its own checks, chunks, names and classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

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

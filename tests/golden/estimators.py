"""The runs of estimators whose trials are fitted by other libraries, on tables of scikit-learn."""

from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from leaseboard import AutoMLClassifier, AutoMLRegressor, SelectionSearch
from leaseboard.algorithms import registry
from tests.golden.recording import Run, recorded

OWN = {
    "bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
}
TREES = DecisionTreeClassifier(random_state=0)
GRID = {"max_depth": [1, 2, 4, 8], "min_samples_leaf": [1, 8]}


def automl_classifier() -> dict[str, Run]:
    return {"breast cancer": _of_automl(AutoMLClassifier, *load_breast_cancer(return_X_y=True))}


def automl_regressor() -> dict[str, Run]:
    return {"diabetes": _of_automl(AutoMLRegressor, *load_diabetes(return_X_y=True))}


def selection_search() -> dict[str, Run]:
    X, y = load_breast_cancer(return_X_y=True)
    # By seconds, which differ from run to run, neither scheduler nor sample sizes go.
    steady = registry.build("abc-tight", {"delta": 0.5, "scheduler": "round-robin"})
    samples = SelectionSearch(TREES, GRID, algorithm=steady, initial_rows=50, random_state=0)
    samples.fit(X, y)
    return {"samples": recorded(samples.events_, [samples.predict_proba(X)])}


def selected() -> dict[str, Run]:
    X, y = load_wine(return_X_y=True)
    several = OWN | {"logistic": LogisticRegression(max_iter=5000)}
    chosen = SelectionSearch(
        several, algorithm="successive-halving", initial_rows=20, random_state=0
    ).fit(X, y)
    return {"wine": recorded(chosen.events_, [chosen.predict_proba(X)])}


ESTIMATORS = {
    "automl-classifier": automl_classifier,
    "automl-regressor": automl_regressor,
    "selection-search": selection_search,
    "select": selected,
}


def _of_automl(estimator: Any, X: np.ndarray, y: np.ndarray) -> Run:
    model = estimator(max_trials=12, random_state=0).fit(X, y)
    predictions = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return recorded(model.events_, [predictions])

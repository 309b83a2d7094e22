"""Pipelines of `benchmarks.fitness`: ordinary ones, unfit ones, and such as rows make worse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from leaseboard.algorithms.seeds import generator


def ordinary() -> dict[str, Any]:
    """Return five usual pipelines."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    return {
        "naive Bayes": GaussianNB(),
        "logistic regression": LogisticRegression(max_iter=200),
        "tree of depth 4": DecisionTreeClassifier(max_depth=4, random_state=0),
        "tree, leaves of 100": DecisionTreeClassifier(min_samples_leaf=100, random_state=0),
        "majority": DummyClassifier(),
    }


def counting() -> dict[str, Any]:
    """Return ten pipelines whose regularisers count rows, steps or neighbours."""
    from lightgbm import LGBMClassifier
    from sklearn.decomposition import PCA
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import SGDClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    def boosted(rows: int) -> Any:
        return LGBMClassifier(
            n_estimators=30, min_child_samples=rows, n_jobs=1, random_state=0, verbose=-1
        )

    def neighbours(k: int) -> Any:
        return make_pipeline(PCA(5, random_state=0), KNeighborsClassifier(k))

    return {
        "LightGBM, leaves of 200": boosted(200),
        "LightGBM, leaves of 1000": boosted(1000),
        "histograms, leaves of 500": HistGradientBoostingClassifier(
            max_iter=20, min_samples_leaf=500, early_stopping=False, random_state=0
        ),
        "forest, leaves of 50": RandomForestClassifier(
            10, min_samples_leaf=50, random_state=0, n_jobs=1
        ),
        "tree, leaves of 1000": DecisionTreeClassifier(min_samples_leaf=1000, random_state=0),
        "SGD, 1 epoch": SGDClassifier(max_iter=1, tol=None, random_state=0),
        "SGD, 5 epochs": SGDClassifier(max_iter=5, tol=None, random_state=0),
        "network, 3 epochs": MLPClassifier((16,), max_iter=3, random_state=0),
        "5 neighbours": neighbours(5),
        "101 neighbours": neighbours(101),
    }


class Fading(ClassifierMixin, BaseEstimator):
    """A tree that repeats a wrong class in a share of the rows, which its training rows set.

    Parameters
    ----------
    lost : tuple of float
        The share at 500 rows, and after every two doublings more.
    depth : int
    """

    def __init__(self, lost: tuple[float, ...] = (0.0, 0.1), depth: int = 6) -> None:
        self.lost = lost
        self.depth = depth

    def fit(self, X: Any, y: Any) -> Fading:
        """Fit the tree, and set the share by the number of rows."""
        self.tree_ = DecisionTreeClassifier(max_depth=self.depth, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        steps = np.arange(len(self.lost))
        self.lost_ = float(np.interp(math.log2(len(y) / 500) / 2, steps, self.lost))
        return self

    def predict(self, X: Any) -> Any:
        """Return the classes of the tree, of some rows the next one."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        hashed = (X.view(np.uint32).sum(axis=1, dtype=np.uint64) * 2654435761) % 1000
        wrong = hashed < 1000 * self.lost_
        codes = np.searchsorted(self.classes_, self.tree_.predict(X)) + wrong
        return self.classes_[codes % len(self.classes_)]


def worse_with_rows() -> dict[str, Any]:
    """Return pipelines that lose accuracy with rows on tables with a heavy-tailed feature."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Perceptron, SGDClassifier
    from sklearn.naive_bayes import CategoricalNB, GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, StandardScaler

    def bins(count: int, *after: Any) -> Any:
        made = KBinsDiscretizer(count, strategy="uniform", encode="ordinal", subsample=None)
        return make_pipeline(made, *after)

    def steps(rate: float, **settings: Any) -> Any:
        return SGDClassifier(
            learning_rate="constant", eta0=rate, max_iter=1, tol=None, random_state=0, **settings
        )

    def network(rate: float, epochs: int) -> Any:
        made = MLPClassifier((8,), learning_rate_init=rate, max_iter=epochs, random_state=0)
        return make_pipeline(StandardScaler(), made)

    return {
        "naive Bayes": GaussianNB(),
        "naive Bayes, scaled": make_pipeline(StandardScaler(), GaussianNB()),
        "naive Bayes, smoothed": GaussianNB(var_smoothing=1e-3),
        "naive Bayes of components": make_pipeline(
            StandardScaler(), PCA(3, random_state=0), GaussianNB()
        ),
        "naive Bayes of bins": bins(50, CategoricalNB(min_categories=50)),
        "tree of bins": bins(20, DecisionTreeClassifier(max_depth=4, random_state=0)),
        "SGD, rate 10": steps(10.0),
        "SGD, scaled, rate 1": make_pipeline(MinMaxScaler(), steps(1.0)),
        "perceptron": make_pipeline(MinMaxScaler(), Perceptron(max_iter=2, tol=None)),
        "network, 1 epoch": network(1e-3, 1),
        "network, rate .5": network(0.5, 2),
        "fading early": Fading((0.0, 0.08, 0.1, 0.1, 0.1)),
        "fading late": Fading((0.0, 0.0, 0.0, 0.1, 0.2)),
        "fading slowly": Fading((0.0, 0.02, 0.04, 0.06, 0.08)),
        "rising, then fading": Fading((0.1, 0.03, 0.0, 0.1, 0.2)),
        "fading, then rising": Fading((0.0, 0.1, 0.1, 0.05, 0.0)),
    }


def weak() -> dict[str, Any]:
    """Return pipelines that rows neither help nor hurt much, or whose leaves count rows."""
    from sklearn.dummy import DummyClassifier

    def tree(**settings: Any) -> Any:
        return DecisionTreeClassifier(random_state=0, **settings)

    return {
        "tree of depth 1": tree(max_depth=1),
        "tree of depth 1, entropy": tree(max_depth=1, criterion="entropy"),
        "tree of depth 2": tree(max_depth=2),
        "tree of depth 3": tree(max_depth=3),
        "tree of depth 4, entropy": tree(max_depth=4, criterion="entropy"),
        "tree, leaves of 300": tree(min_samples_leaf=300),
        "tree, leaves of 3000": tree(min_samples_leaf=3000),
        "tree to the end": tree(),
        "majority": DummyClassifier(),
    }


def adversarial(draw: str) -> dict[str, Any]:
    """Return one or two that get worse with rows, in front of two to four others."""
    rng = generator("fitness", "adversarial", draw)
    drawn: dict[str, Any] = {}
    for pool, least in ((worse_with_rows(), 1), (weak(), 2)):
        count = int(rng.integers(least, 2 * least + 1))
        names = [list(pool)[i] for i in rng.choice(len(pool), count, replace=False)]
        drawn |= {name: pool[name] for name in names}
    return drawn


SETS: dict[str, Callable[[str], dict[str, Any]]] = {
    "ordinary": lambda _: ordinary(),
    "counting": lambda _: counting(),
    "both": lambda _: ordinary() | counting(),
    "adversarial": adversarial,
}

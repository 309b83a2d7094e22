"""Select among one's own scikit-learn pipelines by a call from Python."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.tasks.models.automl.search import SelectionSearch


@dataclass(frozen=True, slots=True)
class Selected:
    """Choice among classifiers; `select` returns it.

    Parameters
    ----------
    name : str
        What the choice is called.
    estimator : classifier
        An untrained copy of it.
    score : float
        As `SelectionSearch.best_score_`.
    guarantee : str
        As `SelectionSearch.guarantee_`.
    leaderboard : DataFrame
        All configurations, the best first.
    events : tuple of Event
        The search, as `leaseboard.algorithms.events` describes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> own = {"bayes": GaussianNB(), "stump": DecisionTreeClassifier(max_depth=1)}
    >>> chosen = select(own, *load_iris(return_X_y=True), random_state=0)
    >>> chosen.name, chosen.leaderboard["name"].tolist()
    ('bayes', ['bayes', 'stump'])
    """

    name: str
    estimator: Any
    score: float
    guarantee: str
    leaderboard: pd.DataFrame
    events: tuple[Event, ...]


def select(estimator: Any, X: Any, y: Any, **options: Any) -> Selected:
    """Choose a classifier for `X` and `y`, and fit none: a `SelectionSearch` as one call.

    Parameters
    ----------
    estimator : classifier, or a list or dict of them
        Pipelines of your own, or one whose parameters `param_grid` names.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows to select on.
    y : array-like of shape (n_samples,)
        Classes.
    **options
        Of `SelectionSearch`, but for `refit`.

    Returns
    -------
    Selected
        With `name`, `estimator`, `score`, `guarantee`, `leaderboard` and `events`.

    Raises
    ------
    UsageError, DataError
        See `SelectionSearch.fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> chosen = select([DummyClassifier(), GaussianNB()], *load_digits(return_X_y=True))
    >>> chosen.name
    'GaussianNB-1'
    """
    search = SelectionSearch(estimator, refit=False, **options).fit(X, y)
    return Selected(
        search.best_name_,
        search.choice_,
        search.best_score_,
        search.guarantee_,
        search.leaderboard_,
        search.events_,
    )

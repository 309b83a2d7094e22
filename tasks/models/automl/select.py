"""Select among one's own scikit-learn pipelines by a call from Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from leaseboard.algorithms.events import Event
from leaseboard.tasks.models.automl.search import SelectionSearch


@dataclass(frozen=True, slots=True)
class Selected:
    """The choice: its name, an untrained copy of the estimator, its score, and how it came."""

    name: str
    estimator: Any
    score: float
    """As `SelectionSearch.best_score_`."""
    guarantee: str
    leaderboard: pd.DataFrame
    events: tuple[Event, ...]


def select(estimator: Any, X: Any, y: Any, **options: Any) -> Selected:
    """Choose a classifier for `X` and `y`, and fit none: a `SelectionSearch` as one call.

    Parameters
    ----------
    estimator : classifier, or a list or dict of them
    X, y : as `SelectionSearch.fit`
    **options
        Of `SelectionSearch`, but for `refit`.

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

"""`PolicyClassifier` and `PolicyRegressor`: algorithm selection and tuning in one estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from leaseboard.tasks.evaluate.trials.evaluate import Task
from leaseboard.tasks.models.automl.policy_estimator import PolicyEstimator


class PolicyClassifier(ClassifierMixin, PolicyEstimator):
    """A classifier that is chosen and tuned by a policy over learning algorithms.

    Give it a budget. It fits the defaults of every arm of its space, then configurations that are
    known to be good, then those of an optimiser; the policy says whose turn it is. The answer
    is an ensemble of the models that were fitted on the way.

    Parameters
    ----------
    policy : str
        A registered policy or joint optimiser, such as ``rising-bandits-cost``, ``max-ucb``,
        ``er-ucb-auto``, ``tpe-joint``.
    settings : dict, optional
        The policy's settings. None is the policy's defaults, but for ``rising-bandits-cost``
        ``{"C": 5, "turns": "seconds"}``: arms share seconds and not trials, and one may be
        dismissed after six trials and not after eight.
    space : str
        A space of ``conf/spaces`` or a YAML file; ``tables-classification`` if empty.
    arms : list of str, optional
        Only these arms of the space.
    budget : float
        In `unit`; everything that `fit` does is within it.
    unit : {"cpu_seconds", "wall_seconds", "trials"}
        A budget in trials gives the same result on every machine, one in seconds does not.
    optimiser : {"guided", "tpe", "random", "smac"}
        What tunes an arm. ``guided``: its default, then known good configurations, then TPE;
        on large tables on few rows first.
    scoring : str or callable, optional
        A scorer of scikit-learn; accuracy if None.
    cv : int, float, splitter or iterable, optional
        Folds; or the share of the rows on which one fit is validated; or a splitter, as for groups
        or time series. None: 5 folds where the budget has time for them, else 0.2.
    ensemble : bool
        Whether the model is a greedy ensemble of the trials, or the single best one.
    scale : {"standard", "none"}
        What is done to numbers.
    trial_cpu_seconds : float, optional
        The limit of one trial, which then runs in a process of its own. None runs trials in
        this process, without any limit, so that the last one may end after the budget.
    trial_memory_mb : int
        The memory of that process.
    n_jobs : int
        How many arms may be tried at once where the policy is certain to pull them all, as in
        the rounds of Rising Bandits; -1 for as many as there are processors.
    store : path or str, optional
        A SQLite file that keeps the trials, for another fit on the same data to replay, or the
        address of a PostgreSQL.
    class_weight : "balanced" or dict, optional
        Weights of the classes, in fits and in scores: with "balanced", accuracy is balanced.
    verbose : bool
        Whether a line on standard error shows the budget and the best score.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    leaderboard_ : DataFrame
        All trials, the best first: arm, score on rows that it had not seen (NaN of a fit on few
        rows that only told whether to go on), weight in the model, costs, what became of it.
    best_arm_, best_parameters_, best_score_
        Of the best trial; the best of many scores is optimistic.
    score_ : float
        Of the model on the same rows; optimistic too.
    model_ : EnsembleModel
        See `leaseboard.tasks.models.automl.ensemble`.
    encoder_ : TableEncoder
        What makes features of columns.
    events_ : tuple of Event
        The search, as `leaseboard.algorithms.events` describes it.

    Notes
    -----
    What is returned is what was measured. With folds, the model is the mean of the very models
    that were scored on each other's rows; nothing is fitted again. With a single split or one of
    time, the members are fitted again on all rows, with their seeds; one that falls short of its
    score by more than noise is replaced by the model that was scored. The encoder, which sees no
    target, is fitted on all rows in both cases.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = PolicyClassifier(
    ...     arms=["qda", "k_nearest_neighbors"], budget=6, unit="trials", random_state=0
    ... )
    >>> search.fit(X, y).score(X, y) > 0.9
    True
    """

    _task: Task = "classification"

    def __init__(
        self,
        policy: str = "rising-bandits-cost",
        *,
        settings: dict[str, Any] | None = None,
        space: str = "",
        arms: list[str] | None = None,
        budget: float = 60,
        unit: str = "cpu_seconds",
        optimiser: str = "guided",
        scoring: Any = None,
        cv: Any = None,
        ensemble: bool = True,
        scale: str = "standard",
        trial_cpu_seconds: float | None = 600.0,
        trial_memory_mb: int = 4000,
        n_jobs: int = 1,
        store: str | Path | None = None,
        class_weight: Any = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            policy,
            settings=settings,
            space=space,
            arms=arms,
            budget=budget,
            unit=unit,
            optimiser=optimiser,
            scoring=scoring,
            cv=cv,
            ensemble=ensemble,
            scale=scale,
            trial_cpu_seconds=trial_cpu_seconds,
            trial_memory_mb=trial_memory_mb,
            n_jobs=n_jobs,
            store=store,
            verbose=verbose,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, shape (n_samples,)."""
        codes = self._forecast(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[codes]
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, shape (n_samples, n_classes).

        The mean of the members'; one without probabilities has the softmax of its decision
        function, which is not calibrated.
        """
        forecast = self._forecast(X)
        return np.asarray(forecast / forecast.sum(axis=1, keepdims=True))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """What `scoring` says of the predictions for `X`, as in scikit-learn's searches."""
        return self._scored(X, y, sample_weight)

    def _labels(
        self, target: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        check_classification_targets(target)
        self.classes_, codes = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"the target has one class, {self.classes_[0]}: nothing to learn")
        return np.asarray(codes, dtype=np.int64), target, self.classes_

    def _weight(
        self, target: NDArray[Any], importance: NDArray[np.float64] | None
    ) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return importance
        weight = compute_sample_weight(self.class_weight, target)
        return np.asarray(weight if importance is None else weight * importance)


class PolicyRegressor(RegressorMixin, PolicyEstimator):
    """A regressor that is chosen and tuned by a policy over learning algorithms.

    Parameters and attributes are those of `PolicyClassifier`, without classes and their weights;
    the scorer is R² if None, and the space ``tables-regression`` if empty.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = PolicyRegressor(
    ...     arms=["ridge", "k_nearest_neighbors"], budget=6, unit="trials", random_state=0
    ... )
    >>> search.fit(X, y).score(X, y) > 0.5
    True
    """

    _task: Task = "regression"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The mean of the members' predictions, shape (n_samples,)."""
        return self._forecast(X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """What `scoring` says of the predictions for `X`, as in scikit-learn's searches."""
        return self._scored(X, y, sample_weight)

    def _labels(
        self, target: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        if len(target) < 2:
            raise ValueError(f"n_samples={len(target)}: at least two are needed")
        values = target.astype(np.float64)
        return values, values, None

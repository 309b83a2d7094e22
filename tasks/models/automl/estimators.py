"""`AutoMLClassifier` and `AutoMLRegressor`: algorithm selection and tuning in one estimator."""

import time
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, check_random_state, compute_sample_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Algorithm
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Unit
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.policy import RETIRE_AFTER
from leaseboard.algorithms.tables.column_types import standard_types
from leaseboard.tasks.evaluate.optimisers import KINDS
from leaseboard.tasks.evaluate.scoring import FASTEST
from leaseboard.tasks.evaluate.spaces import SUITED, Space, load_space
from leaseboard.tasks.fetch.dataset import Task
from leaseboard.tasks.machine.environment import without_autologging
from leaseboard.tasks.models.automl import policy_search
from leaseboard.tasks.models.automl.validation import (
    complete_target,
    default_cv,
    folds_of,
    warn_of_dates,
)
from leaseboard.tasks.preprocess.encoders import TableEncoder

TRIALS_AS_SECONDS = 0.5
"""Seconds that a trial counts as where a budget in trials decides between folds and one fit."""
SECONDS = 60
"""Time budget if no budget is given."""
_SECONDS = Interval(Real, 0, None, closed="neither")
_COUNT = Interval(Integral, 1, None, closed="left")


@dataclass(eq=False, repr=False)
class AutoMLEstimator(BaseEstimator):
    """Base class of the classifier and the regressor: the search, and the model it finds."""

    task: ClassVar[Task]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "time_budget": [_SECONDS, None],
        "max_trials": [_COUNT, None],
        "policy": [str],
        "policy_settings": [dict, None],
        "space": [str],
        "arms": ["array-like", None],
        "optimiser": [StrOptions(set(KINDS))],
        "ensemble": ["boolean"],
        "trial_cpu_seconds": [_SECONDS, None],
        "trial_memory_mb": [_COUNT],
    }

    time_budget: float | None = None
    _: KW_ONLY
    max_trials: int | None = None
    policy: str = "rising-bandits-cost"
    policy_settings: dict[str, Any] | None = None
    space: str = ""
    arms: list[str] | None = None
    optimiser: str = "guided"
    scoring: Any = None
    cv: Any = None
    ensemble: bool = True
    trial_cpu_seconds: float | None = 600.0
    trial_memory_mb: int = 4000
    random_state: Any = None

    @without_autologging()
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: Any = None
    ) -> Self:
        """Search until the budget is spent, and make a model of the best trials.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; values may be missing.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            In fits and in scores; arms that take no weights are left out, with a warning. A row
            of weight 0 is left out before anything is learned, its category and class too.
        groups : array-like of shape (n_samples,), optional
            Rows of a group are never on both sides of a split.

        Returns
        -------
        estimator
            Itself.

        Raises
        ------
        ValueError
            For a parameter, or data, that cannot be used.
        """
        begin = time.process_time()
        budget, unit = self.check()
        frame, target = self._frame(X, reset=True), complete_target(self, y)
        check_consistent_length(frame, target)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        algorithm = self._policy()
        weight, counted = self._weights(sample_weight, target)
        if weight is not None:
            frame, weight = frame[counted].reset_index(drop=True), weight[counted]
            target = target[counted]
        labels, classes = self._labels(target)
        policy_search.refuse_wide(frame)  # before the encoder, which may take long
        space = self._space(weighted=weight is not None, n_rows=len(frame))
        codes = any(arm.codes for arm in space.arms.values())
        self.encoder_ = TableEncoder("standard", codes).fit(frame)
        features = self.encoder_.transform(frame)
        cv = self.cv
        if cv is None:
            seconds = budget * (TRIALS_AS_SECONDS if unit == "trials" else 1.0)
            n_classes = 0 if classes is None else len(classes)
            cv = default_cv(len(frame), features.shape[1], n_classes, seconds)
        folds = folds_of(
            cv, target, codes=None if classes is None else labels, groups=groups, X=features,
            seed=seed, counted=counted,
        )  # fmt: skip
        if groups is None:
            warn_of_dates(frame, folds, "sort them and pass cv=TimeSeriesSplit(5)")
        scored = labels if classes is None else target
        kinds = self.encoder_.kinds_
        scorer = FASTEST[self.task] if self.scoring is None else self.scoring
        search = policy_search.PolicySearch(
            estimator=self,
            arrays=policy_search.arrays_of(
                self.task, features, kinds, labels, scored, classes, weight, folds, scorer
            ),
            space=space,
            policy=algorithm,
            budget=budget,
            unit=unit,
            begin=begin,
            seed=seed,
            in_order=folds.in_order,
        )
        self.model_, self.score_, self.trials_ = search.run()
        if classes is None:
            self.model_.span = policy_search.span_of(labels)
        best = self.trials_[0]
        self.best_score_, self.best_arm_ = best["score"], best["arm"]
        self.best_parameters_ = best["parameters"]
        return self

    def check(self) -> tuple[float, Unit]:
        """Return the budget and its unit; raise UsageError for a parameter that cannot be used."""
        try:
            self._validate_params()
        except ValueError as error:
            raise UsageError(str(error)) from error
        if self.max_trials is not None and self.time_budget is not None:
            raise UsageError(
                f"time_budget={self.time_budget!r} and max_trials={self.max_trials!r} are two"
                " budgets: give one of them"
            )
        self._policy()
        if self.max_trials is not None:
            return self.max_trials, "trials"
        return SECONDS if self.time_budget is None else self.time_budget, "cpu_seconds"

    @property
    def leaderboard_(self) -> pd.DataFrame:
        """All trials, the best first."""
        check_is_fitted(self)
        return pd.DataFrame(self.trials_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _weights(
        self, sample_weight: Any, target: NDArray[Any]
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
        """Return the weights of the rows, None if all are alike, and which of them count."""
        class_weight = getattr(self, "class_weight", None)
        if sample_weight is None and class_weight is None:
            return None, np.ones(len(target), dtype=np.bool_)
        weight: NDArray[np.float64]
        weight = _check_sample_weight(sample_weight, target, dtype=np.float64, copy=True)
        counted = weight != 0
        if class_weight is not None:
            weight[counted] *= compute_sample_weight(class_weight, target[counted])
        if (weight < 0).any():
            raise ValueError("a row has a negative weight: give weights from 0 upwards")
        return weight, weight > 0

    def _policy(self) -> Algorithm:
        settings = self.policy_settings
        if settings is None and self.policy == "rising-bandits-cost":
            settings = {"C": 5, "turns": "seconds", "retire_after": RETIRE_AFTER}
        try:
            algorithm = registry.build(self.policy, settings)
        except UsageError as error:
            raise UsageError(f"policy={self.policy!r}: {error}") from error
        if algorithm.environment != PullsEnvironment.kind:
            raise UsageError(
                f"policy={self.policy!r} chooses no arms: name one that does, such as"
                " 'rising-bandits-cost'"
            )
        return algorithm

    def _space(self, *, weighted: bool, n_rows: int) -> Space:
        name = self.space or SUITED[self.task]
        space = load_space(name)
        if space.task != self.task:
            raise ValueError(f"space {name!r} is for {space.task}, not for {self.task}")
        if self.arms is not None:
            space = space.restricted(list(self.arms))
        return policy_search.able(space, n_rows=n_rows, weighted=weighted)

    def _predict(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.model_.predict(self.encoder_.transform(self._frame(X, reset=False)))

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        if not isinstance(X, pd.DataFrame):
            array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            return standard_types(pd.DataFrame(array).infer_objects())
        validate_data(self, X, reset=reset, skip_check_array=True)
        if X.shape[0] < 1 or X.shape[1] < 1:
            raise ValueError(f"0 sample(s) or feature(s): X has the shape {X.shape}")
        return standard_types(X.reset_index(drop=True))


@dataclass(kw_only=True, eq=False, repr=False)
class AutoMLClassifier(ClassifierMixin, AutoMLEstimator):
    """Classifier that selects, tunes and ensembles learning algorithms within a time budget.

    It fits the defaults of every algorithm of its space (an *arm*), then configurations that are
    known to be good, then those of an optimiser. The model is an ensemble of what was fitted on
    the way.

    Parameters
    ----------
    time_budget : float, optional
        In seconds of CPU time; all that `fit` does is within: of this process and those that it
        starts. By default 60, unless `max_trials` is given.
    max_trials : int, optional
        The budget in trials, in place of `time_budget`. It gives the same result on every machine,
        a budget in seconds does not.
    policy : str
        A registered policy or joint optimiser, which says which arm is next, such as
        ``rising-bandits-cost``, ``max-ucb``, ``er-ucb-auto``, ``tpe-joint``.
    policy_settings : dict, optional
        None is the policy's defaults, but for ``rising-bandits-cost`` ``{"C": 5, "turns":
        "seconds", "retire_after": 3}``: arms share seconds and not trials, one may be dismissed
        after six trials and not after eight, and one that fails three times alike is retired.
    space : str
        A space of ``conf/spaces`` or a YAML file. If empty, ``tables-classification`` or
        ``tables-regression``.
    arms : list of str, optional
        Only these arms of the space.
    optimiser : {"guided", "tpe", "random", "smac"}
        What tunes an arm. ``guided``: its default, then known good configurations, then TPE;
        on large tables on few rows first.
    scoring : str or callable, optional
        A scorer of scikit-learn; accuracy if None, or R² of a regression.
    cv : int, float, splitter or iterable, optional
        Folds; or the share of the rows on which one fit is validated; or a splitter, as for groups
        or time series. None: 5 folds where the budget has time for them, else 0.2.
    ensemble : bool
        Whether the model is a greedy ensemble of the trials, or the single best one.
    trial_cpu_seconds : float, optional
        The limit of one trial, which then runs in a process of its own. None runs trials in
        this process, without any limit, so that the last one may end after the budget.
    trial_memory_mb : int
        The memory of that process.
    random_state : int, RandomState or None
        Seed of the search.
    class_weight : "balanced" or dict, optional
        Weights of the classes, in fits and in scores: with "balanced", accuracy is balanced.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        In sorted order.
    leaderboard_ : DataFrame
        All trials, the best first: arm, score on rows that it had not seen (NaN of a fit on few
        rows that only showed whether to go on), weight in the model, costs, what became of it.
    best_arm_, best_parameters_, best_score_
        Of the best trial; the best of many scores is optimistic.
    score_ : float
        Of the model on the same rows; optimistic too.
    model_ : EnsembleModel
        See `leaseboard.tasks.models.automl.policy_search`.
    encoder_ : TableEncoder
        What makes features of columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X had names that are all strings.

    Notes
    -----
    What is returned is what was measured. With folds, the model is the mean of the very models
    that were scored on each other's rows; nothing is fitted again. With a single split or one of
    time, the members are fitted again on all rows, with their seeds; one that falls short of its
    score is replaced by the model that was scored. The encoder, which sees no
    target, is fitted on all rows in both cases. Trees also get the mean target of each of many
    categories, scikit-learn's `TargetEncoder`, a part of the model and fitted on what it learns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> automl = AutoMLClassifier(
    ...     max_trials=6, arms=["qda", "k_nearest_neighbors"], random_state=0
    ... )
    >>> automl.fit(X, y).score(X, y) > 0.9
    True
    """

    task: ClassVar[Task] = "classification"

    class_weight: Any = None

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        codes = self._predict(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[codes]
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)

        Notes
        -----
        The mean of the members'; one without probabilities has the softmax of its decision
        function, which is not calibrated.
        """
        prediction = self._predict(X)
        return np.asarray(prediction / prediction.sum(axis=1, keepdims=True))

    def _labels(self, target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        check_classification_targets(target)
        self.classes_, codes = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"the target has one class, {self.classes_[0]}: nothing to learn")
        return np.asarray(codes, dtype=np.int64), self.classes_


@dataclass(kw_only=True, eq=False, repr=False)
class AutoMLRegressor(RegressorMixin, AutoMLEstimator):
    """Regressor that selects, tunes and ensembles learning algorithms within a time budget.

    See `AutoMLClassifier` for how it searches, and for notes.

    Parameters
    ----------
    time_budget : float, optional
        In seconds of CPU time; all that `fit` does is within: of this process and those that it
        starts. By default 60, unless `max_trials` is given.
    max_trials : int, optional
        The budget in trials, in place of `time_budget`. It gives the same result on every machine,
        a budget in seconds does not.
    policy : str
        A registered policy or joint optimiser, which says which arm is next, such as
        ``rising-bandits-cost``, ``max-ucb``, ``er-ucb-auto``, ``tpe-joint``.
    policy_settings : dict, optional
        None is the policy's defaults, but for ``rising-bandits-cost`` ``{"C": 5, "turns":
        "seconds", "retire_after": 3}``: arms share seconds and not trials, one may be dismissed
        after six trials and not after eight, and one that fails three times alike is retired.
    space : str
        A space of ``conf/spaces`` or a YAML file. If empty, ``tables-classification`` or
        ``tables-regression``.
    arms : list of str, optional
        Only these arms of the space.
    optimiser : {"guided", "tpe", "random", "smac"}
        What tunes an arm. ``guided``: its default, then known good configurations, then TPE;
        on large tables on few rows first.
    scoring : str or callable, optional
        A scorer of scikit-learn; accuracy if None, or R² of a regression.
    cv : int, float, splitter or iterable, optional
        Folds; or the share of the rows on which one fit is validated; or a splitter, as for groups
        or time series. None: 5 folds where the budget has time for them, else 0.2.
    ensemble : bool
        Whether the model is a greedy ensemble of the trials, or the single best one.
    trial_cpu_seconds : float, optional
        The limit of one trial, which then runs in a process of its own. None runs trials in
        this process, without any limit, so that the last one may end after the budget.
    trial_memory_mb : int
        The memory of that process.
    random_state : int, RandomState or None
        Seed of the search.

    Attributes
    ----------
    leaderboard_ : DataFrame
        All trials, the best first: arm, score on rows that it had not seen (NaN of a fit on few
        rows that only showed whether to go on), weight in the model, costs, what became of it.
    best_arm_, best_parameters_, best_score_
        Of the best trial; the best of many scores is optimistic.
    score_ : float
        Of the model on the same rows; optimistic too.
    model_ : EnsembleModel
        See `leaseboard.tasks.models.automl.policy_search`.
    encoder_ : TableEncoder
        What makes features of columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Where X had names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> automl = AutoMLRegressor(
    ...     max_trials=6, arms=["ridge", "k_nearest_neighbors"], random_state=0
    ... )
    >>> automl.fit(X, y).score(X, y) > 0.5
    True
    """

    task: ClassVar[Task] = "regression"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the mean of the members' predictions.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples,)
        """
        return self._predict(X)

    def _labels(self, target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        if len(target) < 2:
            raise ValueError(f"n_samples={len(target)}: at least two are needed")
        return target.astype(np.float64), None

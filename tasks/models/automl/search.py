"""`SelectionSearch`: pipelines of your own or a grid, searched with a guarantee."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import configurations
from leaseboard.algorithms.base import Algorithm, setting_names
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.errors import DataError, LeaseboardError, UsageError, short
from leaseboard.algorithms.events import (
    BoundsUpdated,
    Event,
    ExploitivenessViolated,
    MonotonicityViolated,
    Parameters,
    ProbeFinished,
    Started,
    of,
)
from leaseboard.tasks.evaluate.probes import RecordedProbes, Shuffled
from leaseboard.tasks.jobs.environments import resolve
from leaseboard.tasks.machine.environment import without_autologging
from leaseboard.tasks.models.automl.validation import (
    Validation,
    audited,
    complete_target,
    warn_of_dates,
)


def _can(name: str) -> Any:
    """Return a check that the choice, before a fit every classifier, has the method `name`."""

    def check(search: "SelectionSearch") -> bool:
        fitted = getattr(search, "best_estimator_", None)
        return all(hasattr(each, name) for each in ([fitted] if fitted else search.classifiers))

    return available_if(check)


@dataclass(eq=False, repr=False)
class SelectionSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A search over classifiers that drops what cannot be the best, with a stated guarantee.

    Parameters
    ----------
    estimator : classifier, or a list or dict of them
        Pipelines of your own; or one, whose parameters `param_grid` names.
    param_grid : dict or list of dict, optional
        Lists of values, as in scikit-learn's ``GridSearchCV``.
    epsilon : float
        Accuracy that may be lost.
    delta : float
        Probability with which more may be lost.
    algorithm : str or Algorithm
        Any registered one that selects configurations on samples.
    test_fraction, initial_rows
        The share of the rows to test on, the rows of a first probe, at least twice as many as
        there are classes. Every probe has a row of each class.
    refit : bool
        Whether the choice is fitted on all rows; without that the search predicts nothing. The
        fit on the training rows, which `abc-tight` checks the choice by, is made in any case.
    random_state : int, RandomState or None
        Of the order of the rows.

    Attributes
    ----------
    best_estimator_ : classifier
        Fitted on all rows; only if `refit`.
    choice_ : classifier
        The same, not fitted.
    best_params_, best_name_, best_index_
        What the grid sets of the choice, what it is called, and its number.
    best_score_ : float
        Its accuracy on the test rows, trained on all others.
    leaderboard_ : DataFrame
        All configurations by number, the best first: outcome and reason, rows, accuracies,
        bounds and CPU seconds.
    guarantee_ : str
        What is guaranteed of the choice, under which assumption, and what was seen to break it.
    events_ : tuple of Event
        The search, as `leaseboard.algorithms.events` describes it.
    classes_, n_features_in_, feature_names_in_
        Of `best_estimator_`.

    Notes
    -----
    `X` is passed on unchanged: rows of a DataFrame, of a sparse matrix, or of an array. `y` may
    hold labels of any kind. The guarantees are of single rows, each right or wrong, so there are
    no weights, groups or other scores. The scheduler of ABC follows the seconds that its probes
    happen to take.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> own = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}
    >>> search = SelectionSearch(own, random_state=0).fit(*load_digits(return_X_y=True))
    >>> search.best_name_
    'bayes'
    """

    estimator: Any
    param_grid: Any = None
    _: KW_ONLY
    epsilon: float = 0.01
    delta: float = 0.1
    algorithm: str | Algorithm = "abc-tight"
    test_fraction: float = 0.2
    initial_rows: int = 1000
    refit: bool = True
    random_state: Any = None

    @without_autologging()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose a configuration, and fit it on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        SelectionSearch
            Itself.

        Raises
        ------
        UsageError
            A setting out of range, no classifier, or no configuration that could be fitted.
        TypeError
            The same, where the first configuration failed by one.
        DataError
            No rows, or labels that are missing or of one class.
        """
        X, y = self._checked(X, y)
        if isinstance(X, pd.DataFrame):
            every = (np.arange(len(y)),)
            warn_of_dates(X, Validation(every, every, False), "test the choice on later rows")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        made, params = self._configurations()
        names = list(made)
        if len(params) == 1:
            warnings.warn(f"one configuration, {names[0]!r}: no choice", stacklevel=2)
        sampled = {"test_fraction": self.test_fraction, "initial_rows": self.initial_rows}
        resolve(SamplesEnvironment.kind, sampled)  # a setting out of range is a UsageError
        name, algorithm = self._algorithm()
        log: list[Event] = []
        try:
            env = self._environment(made, X, y, seed)
            auditor = audited(name, algorithm, env, seed, log)
        except LeaseboardError as error:  # a setting, a pipeline or the data may fix it
            kind = TypeError if "TypeError: " in str(error) else UsageError
            raise kind(str(error)) from error
        assert auditor.champion is not None  # else the environment's score raised an error
        self.best_index_ = auditor.champion
        self.best_name_ = names[auditor.champion]
        self.best_params_ = params[auditor.champion]
        self.best_score_ = auditor.close().score
        self.events_ = tuple(log)
        self.leaderboard_, self.guarantee_ = table(log, names), guarantee(log, names)
        self.choice_ = clone(made[self.best_name_])
        for fitted in ("best_estimator_", "classes_", "n_features_in_", "feature_names_in_"):
            vars(self).pop(fitted, None)  # of an earlier fit
        if self.refit:
            self.best_estimator_ = clone(self.choice_).fit(X, y)
            for fitted in ("classes_", "n_features_in_", "feature_names_in_"):
                if hasattr(self.best_estimator_, fitted):
                    setattr(self, fitted, getattr(self.best_estimator_, fitted))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes that the choice predicts.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,)
        """
        return self._fitted("predict")(X)

    @_can("predict_proba")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities that the choice predicts.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
        """
        return self._fitted("predict_proba")(X)

    @_can("decision_function")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the choice's decision function.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples,) or (n_samples, n_classes)
        """
        return self._fitted("decision_function")(X)

    @property
    def classifiers(self) -> list[Any]:
        """The classifiers, before a grid sets anything of theirs."""
        given = self.estimator.values() if isinstance(self.estimator, Mapping) else self.estimator
        return list(given) if isinstance(self.estimator, (Sequence, Mapping)) else [given]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        every = [get_tags(each).input_tags for each in self.classifiers]
        # One that takes them is enough: the others fail, and are named.
        tags.input_tags.sparse = any(each.sparse for each in every)
        tags.input_tags.allow_nan = any(each.allow_nan for each in every)
        tags.input_tags.pairwise = all(each.pairwise for each in every)
        return tags

    def _fitted(self, method: str) -> Any:
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, method)

    def _configurations(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the estimators by name, or one for each point of the grid.

        With them the parameters that each sets of its estimator.
        """
        if isinstance(self.estimator, (Sequence, Mapping)):
            if self.param_grid:
                raise UsageError(
                    f"param_grid is of one estimator and {len(self.estimator)} are given: give"
                    " one, such as a Pipeline whose step the grid sets, or leave the grid out"
                )
            return _named(self.estimator), [{} for _ in self.estimator]
        points = list(ParameterGrid(self.param_grid or {}))
        made: dict[str, Any] = {}
        for number, point in enumerate(points):
            one = clone(self.estimator).set_params(**clone(point, safe=False))
            said = short(", ".join(f"{key}={value}" for key, value in point.items()), 80)
            name = said or type(one).__name__
            made[f"{name} ({number})" if name in made else name] = one
        return _named(made), points

    def _algorithm(self) -> tuple[str, Algorithm]:
        """Return the name of the algorithm, and the algorithm."""
        levels = {"epsilon": self.epsilon, "delta": self.delta}
        registry.build("abc-tight", levels)  # checks them, also for one that takes neither
        if isinstance(self.algorithm, Algorithm):
            name, algorithm = type(self.algorithm).__name__, self.algorithm
        else:
            name = self.algorithm
            known = setting_names(registry.algorithm_class(name))
            chosen = {key: value for key, value in levels.items() if key in known}
            algorithm = registry.build(name, chosen)
        if algorithm.environment != SamplesEnvironment.kind:
            raise UsageError(
                f"algorithm {name!r} runs on the environment {algorithm.environment}: give one"
                " that selects configurations, such as 'abc-tight'"
            )
        return name, algorithm

    def _environment(
        self, made: dict[str, Any], X: Any, y: NDArray[Any], seed: int
    ) -> SamplesEnvironment:
        """Return the environment of the algorithm, in which fits are made in this process."""
        split = Shuffled(
            digest="", labels=y, seed=seed, test_fraction=self.test_fraction,
            encode=lambda _, rows: _safe_indexing(X, rows),
        )  # fmt: skip
        if split.train_rows < 2:
            raise DataError(f"n_samples={len(y)} are too few to divide: give more")
        configurations = [_described(name, estimator) for name, estimator in made.items()]

        def build(parameters: Parameters) -> Any:
            return clone(made[str(parameters["name"])])

        probes = RecordedProbes(split, configurations, build, None, probe_seconds=None)
        # Half of these are the first sample, to which a row of each class that it does not
        # have is added.
        initial = max(self.initial_rows, 2 * len(pd.unique(y)))
        return SamplesEnvironment(probes, initial_rows=initial)

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return rows that can be indexed by number, and their labels."""
        X, labels = np.asarray(X) if isinstance(X, (list, tuple)) else X, complete_target(self, y)
        X, labels = indexable(X.tocsr() if sparse.issparse(X) else X, labels)
        if not len(labels):
            raise DataError("X has 0 sample(s), a minimum of 1 is required: give rows")
        check_classification_targets(labels)
        if (labels == labels[0]).all():
            raise DataError(f"y has one class, {labels[0]}: nothing can be learned")
        return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X, labels


def _described(name: str, estimator: Any) -> Parameters:
    """Return the configuration of an estimator, its parameters as text."""
    simple = bool, int, float, str, type(None)
    return {"name": name, "learner": type(estimator).__name__} | {
        key: value if isinstance(value, simple) else repr(value)
        for key, value in sorted(estimator.get_params().items())
    }


def _named(pipelines: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Return `pipelines` by name; those of a list are numbered after their class.

    Raises UsageError if the list is empty, or one is not a classifier.
    """
    if not isinstance(pipelines, Mapping):
        pipelines = {f"{type(each).__name__}-{n}": each for n, each in enumerate(pipelines)}
    if not pipelines:
        raise UsageError("no pipelines: give at least one scikit-learn classifier")
    for name, pipeline in pipelines.items():
        # Only an estimator has the tags that is_classifier reads.
        if not (isinstance(pipeline, BaseEstimator) and is_classifier(pipeline)):
            raise UsageError(
                f"pipeline {name!r} is not a classifier ({type(pipeline).__name__}):"
                " give scikit-learn classifiers or pipelines that end in one"
            )
    return dict(pipelines)


OUTCOMES = {"champion": "chosen", "eliminated": "dropped", "failed": "failed"}
"""What `table` calls the outcomes of configurations; any other is ``left``."""


def table(events: Sequence[Event], names: Sequence[str]) -> pd.DataFrame:
    """Return a row for each configuration, by its number, the best first.

    Columns: name; outcome, ``chosen``, ``left``, ``dropped`` or ``failed``, with its reason; the
    training rows of its last probe, accuracies on these and on the test rows, bounds, and the CPU
    seconds of all its probes. What was not measured is missing.
    """
    rows: list[dict[str, object]] = [
        {"name": name, "outcome": OUTCOMES.get(each.outcome, "left"), "reason": each.reason,
         "rows": 0, "cpu_seconds": each.cpu_seconds}
        for name, each in zip(names, configurations(events), strict=True)
    ]  # fmt: skip
    measured = ("rows", "train_accuracy", "test_accuracy")
    for probe in of(events, ProbeFinished):
        rows[probe.configuration] |= {name: getattr(probe, name) for name in measured}
    for bounds in of(events, BoundsUpdated):
        found = {"test_accuracy": bounds.value, "lower": bounds.lower, "upper": bounds.upper}
        rows[bounds.configuration] |= found
    numbers = ["train_accuracy", "test_accuracy", "lower", "upper"]
    columns = ["name", "outcome", "rows", *numbers, "cpu_seconds", "reason"]
    board = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, "float64"))
    board["outcome"] = pd.Categorical(
        board["outcome"], ["chosen", "left", "dropped", "failed"], ordered=True
    )
    return board.sort_values(["outcome", "rows", "test_accuracy"], ascending=[True, False, False])


def guarantee(events: Sequence[Event], names: Sequence[str]) -> str:
    """Return the algorithm's guarantee for its choice, and observations that speak against it."""
    started, *_ = of(events, Started)
    epsilon, delta = (started.settings.get(name) for name in ("epsilon", "delta"))
    if epsilon is None or delta is None or started.settings.get("time_limit") is not None:
        return f"{started.algorithm} gives no guarantee without epsilon or under a time limit"
    likely = f"with probability {1 - delta:.4g} "
    fits = (
        "the best fits its sample best or goes on to gain no faster than in its last two samples"
    )
    if started.settings.get("bounds") == "paper":
        fits = "each of them fits its sample best and gets no worse with more rows"
    said = (
        f"{likely}the choice, trained on all training rows, loses at most {epsilon:g} of the"
        f" accuracy on the test rows of the best of {len(names)} configurations, if rows are"
        f" exchangeable and {fits}"
    )
    for kind, what in (
        (MonotonicityViolated, "the best fit of samples is broken, which was allowed for, by"),
        (ExploitivenessViolated, "the final check covers that accuracy fell with more rows for"),
    ):
        if found := sorted({names[event.configuration] for event in of(events, kind)}):
            said += f"; {what} {found}"
    return said

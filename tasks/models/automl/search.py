"""`SelectionSearch`: pipelines of your own or a grid, searched with a guarantee."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection._search import BaseSearchCV, _check_refit
from sklearn.utils import _safe_indexing, check_random_state, column_or_1d, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Algorithm, Environment, setting_names
from leaseboard.algorithms.environments.folds import FoldsEnvironment
from leaseboard.algorithms.environments.samples import SamplesEnvironment
from leaseboard.algorithms.errors import DataError, LeaseboardError, UsageError
from leaseboard.algorithms.events import Event
from leaseboard.algorithms.log_format import from_json, to_json
from leaseboard.algorithms.tables.column_types import complete_labels
from leaseboard.tasks.evaluate.learners.pipelines import Pipelines
from leaseboard.tasks.evaluate.probes.recorded import RecordedFolds, RecordedProbes
from leaseboard.tasks.evaluate.probes.sample_rows import Samples, Shuffled
from leaseboard.tasks.jobs.environments import check_options
from leaseboard.tasks.models.automl import findings
from leaseboard.tasks.models.automl.choices import choices
from leaseboard.tasks.models.automl.progress import audited, without_autologging
from leaseboard.tasks.models.automl.validation import Validation, warn_of_dates

SMALL = 10_000
"""Rows below which ``auto`` cross-validates. A fifth of so many compares two configurations that
disagree in a tenth of the rows with a standard error of 0.007; of fewer rows it is soon more than
the default epsilon, and the guarantee of ``abc-tight`` is of those test rows."""

A_DAY = 86_400.0
"""CPU seconds of a fit that has no limit of its own, but runs in a process."""


def _delegated(name: str) -> Any:
    """Return the method of the choice; before a fit, it is there if every classifier has it."""

    def has(search: "SelectionSearch") -> bool:
        _check_refit(search, name)
        fitted = getattr(search, "best_estimator_", None)
        for each in search._given() if fitted is None else [fitted]:  # noqa: SLF001
            getattr(each, name)  # an AttributeError names who does not have it
        return True

    return available_if(has)(vars(BaseSearchCV)[name].fn)


@dataclass(eq=False, repr=False)
class SelectionSearch(BaseSearchCV):
    """A search over classifiers that drops what cannot be the best, with a stated guarantee.

    Parameters
    ----------
    estimator : classifier, or a list or dict of them
        Pipelines of your own; or one, whose parameters `param_grid` names.
    param_grid : dict or list of dict, optional
        As in scikit-learn's searches: lists of values, or distributions with an ``rvs``.
    epsilon : float
        Accuracy that may be lost.
    delta : float
        Probability with which more may be lost.
    algorithm : str or Algorithm
        ``auto`` for ``early-stopped-cv`` below `SMALL` rows and ``abc-tight`` from there on; or
        any registered one that selects configurations, on samples or on folds.
    n_iter : int, optional
        How many points of the grid are drawn; all if None, 20 where there is a distribution.
    test_fraction, initial_rows
        Of algorithms on samples: the share of the rows to test on, the rows of a first probe, at
        least twice as many as there are classes. Every probe has a row of each class.
    folds : int
        Of algorithms on folds: into how many parts the rows are divided.
    refit : bool
        Whether the choice is fitted on all rows; without that the search predicts nothing. The
        fit on the training rows, which `abc-tight` checks the choice by, is made in any case.
    scoring : {"accuracy"}, optional
        The guarantees count rows that are right or wrong, so other scores are refused.
    probe_seconds : float, optional
        CPU seconds after which a fit is given up, in a process of its own. None fits in this
        process, without a limit.
    n_jobs : int
        How many fits of a fold run at once, each in a process of its own; the choice does not
        depend on it. Algorithms on samples fit one after the other.
    random_state : int, RandomState or None
        Of the order of the rows and of the draw.

    Attributes
    ----------
    best_estimator_ : classifier
        Fitted on all rows; only if `refit`.
    choice_ : classifier
        The same, not fitted.
    best_params_, best_name_, best_index_
        What the grid sets of the choice, what it is called, and its number.
    best_score_ : float
        Its accuracy on the test rows, trained on all others; on folds the cross-validated one.
    leaderboard_ : DataFrame
        All configurations by number, the best first: outcome and reason, rows, accuracies,
        bounds and CPU seconds.
    guarantee_ : str
        What is guaranteed of the choice, under which assumption, what was checked and seen broken.
    events_ : tuple of Event
        The search, as `leaseboard.algorithms.events` describes it.
    classes_, n_features_in_, feature_names_in_
        Of `best_estimator_`.

    Notes
    -----
    `X` is passed on unchanged: rows of a DataFrame, of a sparse matrix, or of an array. `y` may
    hold labels of any kind. Weights and groups are refused: the guarantees are of single rows.
    The scheduler of ABC follows the seconds that its probes happen to take.

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
    algorithm: str | Algorithm = "auto"
    n_iter: int | None = None
    test_fraction: float = 0.2
    initial_rows: int = 1000
    folds: int = 5
    refit: bool = True
    scoring: str | None = None
    probe_seconds: float | None = None
    n_jobs: int = 1
    random_state: Any = None

    predict = _delegated("predict")
    predict_proba = _delegated("predict_proba")
    predict_log_proba = _delegated("predict_log_proba")
    decision_function = _delegated("decision_function")
    transform = _delegated("transform")
    # Not the parent's, which passes weights and groups on: `fit` refuses them.
    get_metadata_routing = BaseEstimator.get_metadata_routing

    @without_autologging()
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Choose a configuration, and fit it on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Classes.
        **params
            None is supported; a weight or a group is refused by name.

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
        self._refuse(params)
        X, y = checked(self, X, y)
        if isinstance(X, pd.DataFrame):
            every = (np.arange(len(y)),)
            warn_of_dates(X, Validation(every, every, False), "test the choice on later rows")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        made, params = choices(self.estimator, self.param_grid, self.n_iter, seed)
        names = list(made.estimators)
        if len(params) == 1:
            warnings.warn(f"one configuration, {names[0]!r}: nothing to choose", stacklevel=2)
        name, algorithm = self._algorithm(len(y))
        self.check()
        env = self._environment(algorithm, made, X, y, seed)
        log: list[Event] = []
        try:
            auditor = audited(name, algorithm, env, seed, log)
        except LeaseboardError as error:  # a setting, a pipeline or the data may fix it
            said = findings.failure(str(error), log, names)
            kind = TypeError if ": TypeError: " in said else UsageError
            raise kind(said) from error
        assert auditor.champion is not None  # else the environment's score raised an error
        chosen = clone(list(made.estimators.values())[auditor.champion])
        best = clone(chosen).fit(X, y) if self.refit else None
        for name in ("best_estimator_", "feature_names_in_"):
            vars(self).pop(name, None)  # of an earlier fit
        if best is not None:
            self.best_estimator_ = best
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_
        self.choice_ = chosen
        self.best_index_ = auditor.champion
        self.best_name_ = names[auditor.champion]
        self.best_params_ = params[auditor.champion]
        self.best_score_ = auditor.close().score
        self.multimetric_ = False
        self._names = names
        self._log = "\n".join(map(to_json, log))
        return self

    def check(self) -> None:
        """Raise UsageError for a setting out of range, also of an environment that is not used."""
        self._algorithm(SMALL)
        sampled = {"test_fraction": self.test_fraction, "initial_rows": self.initial_rows}
        check_options(SamplesEnvironment.kind, sampled)
        limit = {} if self.probe_seconds is None else {"probe_seconds": self.probe_seconds}
        check_options(FoldsEnvironment.kind, {"folds": self.folds, **limit})
        if self.n_jobs < 1:
            raise UsageError(f"n_jobs={self.n_jobs}: give the number of processes, 1 or more")

    @property
    def events_(self) -> tuple[Event, ...]:
        """The search, as `leaseboard.algorithms.events` describes it."""
        check_is_fitted(self, "_log")
        return tuple(map(from_json, self._log.split("\n")))

    @property
    def leaderboard_(self) -> pd.DataFrame:
        """All configurations by number, the best first."""
        return findings.table(self.events_, self._names)

    @property
    def guarantee_(self) -> str:
        """The guarantee for the choice, its assumption, and what was checked and seen broken."""
        return findings.guarantee(self.events_, self._names)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of `best_estimator_`.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        # Not those of the parent, which asks one estimator and not several.
        tags = BaseEstimator.__sklearn_tags__(self)
        every = [get_tags(each) for each in self._given()]
        if every:
            tags.estimator_type = every[0].estimator_type
            tags.classifier_tags = replace(every[0].classifier_tags, multi_label=False)
            tags.input_tags.pairwise = all(each.input_tags.pairwise for each in every)
            # One that takes them is enough: the others fail, and are named.
            tags.input_tags.sparse = any(each.input_tags.sparse for each in every)
            tags.input_tags.allow_nan = any(each.input_tags.allow_nan for each in every)
        return tags

    def _given(self) -> Sequence[Any]:
        """Return the classifiers, before a grid sets anything of theirs."""
        given = self.estimator.values() if isinstance(self.estimator, Mapping) else self.estimator
        return list(given) if isinstance(self.estimator, (Sequence, Mapping)) else [given]

    def _refuse(self, params: Mapping[str, Any]) -> None:
        """Raise UsageError for weights, groups and other scores."""
        for name, value in params.items():
            if value is not None:
                raise UsageError(
                    f"fit({name}=...): the guarantee is of rows drawn alike, each right or wrong,"
                    " without weights and groups: leave it out, or weigh classes by the"
                    " estimator's own class_weight"
                )
        if self.scoring not in (None, "accuracy"):
            raise UsageError(
                f"scoring={self.scoring!r}: the guarantee counts rows that are right or wrong: use"
                " 'accuracy', or scikit-learn's HalvingGridSearchCV for other measures"
            )

    def _algorithm(self, n_rows: int) -> tuple[str, Algorithm]:
        """Return the name of the algorithm, and the algorithm."""
        levels = {"epsilon": self.epsilon, "delta": self.delta}
        registry.build("abc-tight", levels)  # checks them, also for one that takes neither
        if isinstance(self.algorithm, Algorithm):
            name, algorithm = type(self.algorithm).__name__, self.algorithm
        else:
            auto = "early-stopped-cv" if n_rows < SMALL else "abc-tight"
            name = auto if self.algorithm == "auto" else self.algorithm
            known = setting_names(registry.algorithm_class(name))
            chosen = {key: value for key, value in levels.items() if key in known}
            algorithm = registry.build(name, chosen)
        if algorithm.environment not in (SamplesEnvironment.kind, FoldsEnvironment.kind):
            raise UsageError(
                f"algorithm {name!r} runs on the environment {algorithm.environment}: give one"
                " that selects configurations, such as 'abc-tight'"
            )
        return name, algorithm

    def _environment(
        self, algorithm: Algorithm, made: Pipelines, X: Any, y: NDArray[Any], seed: int
    ) -> Environment:
        """Return the environment of the algorithm."""
        on_folds = algorithm.environment == FoldsEnvironment.kind
        split = self._split(X, y, 0.0 if on_folds else self.test_fraction, seed)
        common: dict[str, Any] = {
            "split": split,
            "candidates": made,
            "store": None,
            "probe_seconds": self.probe_seconds,
        }
        if not on_folds:
            probes = RecordedProbes(**common)
            # Half of these are the first sample, to which a row of each class that it does not
            # have is added.
            initial = max(self.initial_rows, 2 * len(pd.unique(y)))
            return SamplesEnvironment(probes, seed, initial_rows=initial)
        if self.folds > len(y):
            raise DataError(f"n_samples={len(y)} are too few for {self.folds} folds: give more")
        if self.n_jobs > 1 and self.probe_seconds is None:
            common["probe_seconds"] = A_DAY  # what runs at once runs in processes of its own
        return FoldsEnvironment(
            RecordedFolds(**common, folds=self.folds, n_jobs=self.n_jobs), seed
        )

    def _split(self, X: Any, y: NDArray[Any], test_fraction: float, seed: int) -> Shuffled:
        def samples() -> Samples:
            order = np.concatenate(split.rows())
            return Samples(
                features=_safe_indexing(X, order), labels=y[order], train_rows=split.train_rows
            )

        split = Shuffled(
            digest="",
            n_rows=len(y),
            seed=seed,
            test_fraction=test_fraction,
            make=samples,
        )
        if split.train_rows < 2:
            raise DataError(f"n_samples={len(y)} are too few to split: give more")
        return split


def checked(search: BaseEstimator, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Return rows that can be indexed by number, and their labels."""
    if y is None:
        name = type(search).__name__
        raise DataError(f"{name} requires y to be passed, but the target y is None")
    if isinstance(X, (list, tuple)):
        X = np.asarray(X)
    X, y = indexable(X.tocsr() if sparse.issparse(X) else X, complete_labels(y))
    labels = column_or_1d(y, warn=True)
    if not len(labels):
        raise DataError("X has 0 sample(s), a minimum of 1 is required: give rows")
    if isinstance(X, np.ndarray):
        X = np.ascontiguousarray(X)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise DataError("y has infinite values (inf): classes are to be learned, give them names")
    check_classification_targets(labels)
    if (labels == labels[0]).all():
        raise DataError(f"y has one class, {labels[0]}: nothing can be learned")
    return X, labels

"""`PolicyClassifier` and `PolicyRegressor`: algorithm selection and tuning in one estimator."""

from __future__ import annotations

import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from algorithms import registry
from algorithms.base import Algorithm, play
from algorithms.benches.pulls import Feedback, PullsBench
from algorithms.events import ConfigurationAdmitted, Event, TrialFinished, of
from algorithms.policies.joint import JointSpace
from algorithms.policies.peer import Peer
from algorithms.seeds import generator
from tasks.evaluate.store import Store
from tasks.evaluate.trials import recipes
from tasks.evaluate.trials.evaluate import Arrays, Fold, Task
from tasks.evaluate.trials.replay import Protocol, StoredTrials
from tasks.evaluate.trials.spaces import Space, load_space
from tasks.evaluate.trials.worker import TrialLimits
from tasks.preprocess.splits import deal, quotas
from tasks.preprocess.tables import TableEncoder


class _PolicyEstimator(BaseEstimator):
    """What the classifier and the regressor share: the search, and the refit of its best trial."""

    _task: Task

    def __init__(
        self,
        policy: str = "rising-bandits",
        *,
        settings: dict[str, Any] | None = None,
        space: str = "",
        arms: list[str] | None = None,
        budget: float = 100,
        unit: str = "trials",
        optimiser: str = "tpe",
        validation_fraction: float = 0.2,
        scale: str = "standard",
        trial_cpu_seconds: float | None = 60.0,
        trial_memory_mb: int = 4000,
        n_jobs: int = 1,
        store: str | Path | None = None,
        random_state: Any = None,
    ) -> None:
        self.policy = policy
        self.settings = settings
        self.space = space
        self.arms = arms
        self.budget = budget
        self.unit = unit
        self.optimiser = optimiser
        self.validation_fraction = validation_fraction
        self.scale = scale
        self.trial_cpu_seconds = trial_cpu_seconds
        self.trial_memory_mb = trial_memory_mb
        self.n_jobs = n_jobs
        self.store = store
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Search until the budget is spent, then fit the best configuration on all rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; values may be missing.
        y : array-like of shape (n_samples,)
        """
        frame, target = self._checked(X, y)
        labels = self._labels(target)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        algorithm = self._policy()
        space = self._space(joint=isinstance(algorithm, JointSpace))
        with ExitStack() as stack:
            trials = self._trials(frame, labels, space, seed, stack)
            bench = PullsBench(
                trials, self.budget, self.unit, seed, "validation_score"  # type: ignore[arg-type]
            )  # fmt: skip
            self.events_ = tuple(play(self.policy, algorithm, bench, seed))
        assert bench.best is not None  # or the score of the bench would have said why not
        self.leaderboard_ = leaderboard(self.events_)
        self.best_score_ = bench.best.reward
        self.best_arm_ = bench.arms[bench.best.arm]
        self.best_parameters_ = dict(bench.best.parameters)
        self.best_estimator_ = self._refit(frame, target, space, bench.best)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The best configuration's predictions, shape (n_samples,)."""
        check_is_fitted(self)
        predicted: NDArray[Any] = self.best_estimator_.predict(self._frame(X, reset=False))
        return predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _labels(self, target: NDArray[Any]) -> NDArray[Any]:
        """What the learners of the search are fitted on."""
        raise NotImplementedError

    def _policy(self) -> Algorithm:
        algorithm = registry.build(self.policy, self.settings)
        if algorithm.bench != PullsBench.kind or isinstance(algorithm, Peer):
            raise ValueError(f"policy={self.policy!r} chooses no arms: name one that does")
        if not self.budget > 0:
            raise ValueError(f"budget={self.budget} {self.unit} buys no trial: give more than 0")
        return algorithm

    def _space(self, *, joint: bool) -> Space:
        name = self.space or ("fast" if self._task == "classification" else "regressors")
        space = load_space(name)
        if space.task != self._task:
            raise ValueError(f"space {name!r} is for {space.task}, not for {self._task}")
        space = space if self.arms is None else space.restricted(list(self.arms))
        if not joint and self.unit == "trials" and self.budget < len(space.arms):
            raise ValueError(
                f"a budget of {self.budget:g} trials is smaller than the {len(space.arms)} arms,"
                f" and policies pull each once at first: give at least {len(space.arms)}"
            )
        return space

    def _trials(
        self,
        frame: pd.DataFrame,
        labels: NDArray[Any],
        space: Space,
        seed: int,
        stack: ExitStack,
    ) -> StoredTrials:
        if self.store is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="trials-"))
            store = Store(Path(folder) / "store.sqlite")
        else:
            store = Store(str(self.store))
        train, validation = self._split(labels, seed)

        def arrays() -> Arrays:
            columns = TableEncoder(self.scale).fit(frame.iloc[train])  # type: ignore[arg-type]
            fold = Fold(
                columns.transform(frame.iloc[train]),
                labels[train],
                columns.transform(frame.iloc[validation]),
                labels[validation],
                None,
                None,
            )
            return Arrays(self._task, (fold,))

        limits = None
        if self.trial_cpu_seconds is not None:
            limits = TrialLimits(self.trial_cpu_seconds, self.trial_memory_mb)
        trials = StoredTrials(
            space,
            Protocol(
                digest="" if self.store is None else joblib.hash((frame, labels)),
                split={"protocol": "automl", "seed": seed, "share": self.validation_fraction},
                encoding={"scale": self.scale},
                code=(__name__,),
            ),
            arrays,
            optimiser=self.optimiser,
            seed=seed,
            store=store,
            limits=limits,
            n_jobs=self.n_jobs,
        )
        stack.callback(trials.close)
        return trials

    def _split(self, labels: NDArray[Any], seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows to train on and rows to validate on; each class has a row to train on."""
        share = self.validation_fraction
        if not 0 < share < 1:
            raise ValueError(f"validation_fraction={share} must lie between 0 and 1")
        classes = labels if self._task == "classification" else np.zeros(len(labels), np.int64)
        sizes = quotas(len(labels), (1 - share, share))
        parts = deal(classes, sizes, generator(seed, "validation rows"))
        train, validation = np.flatnonzero(parts == 0), np.flatnonzero(parts == 1)
        if not len(validation):
            rule = f", with {classes.max() + 1} classes to train on" if classes.any() else ""
            raise ValueError(
                f"n_samples={len(labels)} are too few to train on and to validate on{rule}:"
                " give more rows"
            )
        return train, validation

    def _refit(
        self, frame: pd.DataFrame, target: NDArray[Any], space: Space, best: Feedback
    ) -> Pipeline:
        arm = space.arms[self.best_arm_]
        columns = TableEncoder(self.scale).fit(frame)  # type: ignore[arg-type]
        features = columns.transform(frame)
        values = {**arm.constants, **best.parameters}
        assert best.seed is not None  # or it would be no stored trial
        model = recipes.build(arm.estimator, values, features.shape[1], best.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a trial may do, its refit may do too
            model.fit(features, target)
        return Pipeline([("columns", columns), ("model", model)])

    def _checked(self, X: Any, y: ArrayLike) -> tuple[pd.DataFrame, NDArray[Any]]:
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        frame = self._frame(X, reset=True)
        target = column_or_1d(y, warn=True)
        assert_all_finite(target, input_name="y")
        if len(target) != len(frame):
            raise ValueError(f"X has {len(frame)} samples and y has {len(target)}")
        return frame, target

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        if not isinstance(X, pd.DataFrame):
            array = validate_data(
                self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
            )  # fmt: skip
            return pd.DataFrame(array).infer_objects()
        validate_data(self, X, reset=reset, skip_check_array=True)
        if X.shape[0] < 1 or X.shape[1] < 1:
            raise ValueError(f"0 sample(s) or feature(s): X has the shape {X.shape}")
        return X.reset_index(drop=True)


class PolicyClassifier(ClassifierMixin, _PolicyEstimator):
    """A classifier that is chosen and tuned by a policy over learning algorithms.

    Parameters
    ----------
    policy : str
        A registered policy or joint optimiser, such as ``rising-bandits``, ``max-ucb``,
        ``er-ucb-auto``, ``tpe-joint``; under a budget in seconds ``rising-bandits-cost``.
    settings : dict, optional
        The policy's settings.
    space : str
        A space of ``conf/spaces`` or a YAML file; ``fast`` if empty.
    arms : list of str, optional
        Only these arms of the space.
    budget : float
        In `unit`.
    unit : {"trials", "cpu_seconds"}
    optimiser : {"tpe", "random", "smac"}
        What tunes an arm.
    validation_fraction : float
        The share of the rows on which trials are scored.
    scale : {"standard", "none"}
        What is done to numbers.
    trial_cpu_seconds : float, optional
        The limit of one trial, which then runs in a process of its own. None runs trials in
        this process, without any limit.
    trial_memory_mb : int
        The memory of that process.
    n_jobs : int
        How many arms may be tried at once where the policy is certain to pull them all, as in
        the rounds of ``rising-bandits``. The result does not depend on it.
    store : path or str, optional
        A SQLite file that keeps the trials, for another fit on the same data to replay, or the
        address of a PostgreSQL.
    random_state : int, RandomState or None

    Attributes
    ----------
    best_estimator_ : Pipeline
        Fitted on all rows.
    best_arm_, best_parameters_, best_score_
        Of the best trial; the score is its validation accuracy, which is optimistic.
    leaderboard_ : DataFrame
        All trials, the best first.
    events_ : tuple of Event
        The search, as `algorithms.events` describes it.
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = PolicyClassifier(arms=["lda", "gaussian_nb"], budget=6, random_state=0)
    >>> search.fit(X, y).score(X, y) > 0.9
    True
    """

    _task: Task = "classification"

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, shape (n_samples, n_classes).

        Those of the best configuration, or, if it has none, the softmax of its decision
        function, which is not calibrated.
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        if hasattr(self.best_estimator_, "predict_proba"):
            return np.asarray(self.best_estimator_.predict_proba(frame), dtype=np.float64)
        scores = np.asarray(self.best_estimator_.decision_function(frame), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)

    def _labels(self, target: NDArray[Any]) -> NDArray[Any]:
        check_classification_targets(target)
        self.classes_, codes = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"the target has one class, {self.classes_[0]}: nothing to learn")
        return np.asarray(codes, dtype=np.int64)


class PolicyRegressor(RegressorMixin, _PolicyEstimator):
    """A regressor that is chosen and tuned by a policy over learning algorithms.

    A trial's reward is 1 / (1 + MSE / Var y) on the validation rows: the loss mapped into
    [0, 1], as the paper of Rising Bandits asks. Parameters and attributes are those of
    `PolicyClassifier`; the space is ``regressors`` if empty.
    """

    _task: Task = "regression"

    def _labels(self, target: NDArray[Any]) -> NDArray[Any]:
        if len(target) < 2:
            raise ValueError(f"n_samples={len(target)}: at least two are needed")
        return target.astype(np.float64)


def leaderboard(events: tuple[Event, ...]) -> pd.DataFrame:
    """All trials, the best first: arm, score, costs, status, parameters, order of running."""
    parameters = {e.configuration: e.parameters for e in of(events, ConfigurationAdmitted)}
    rows = [
        {
            "arm": parameters[event.configuration]["arm"],
            "score": event.reward,
            "cpu_seconds": event.cpu_seconds,
            "status": event.status,
            "reason": event.reason,
            "parameters": {k: v for k, v in parameters[event.configuration].items() if k != "arm"},
            "trial": event.configuration,
        }
        for event in of(events, TrialFinished)
    ]
    board = pd.DataFrame(rows)
    board["trial"] -= board["trial"].min()
    return board.sort_values(["score", "trial"], ascending=[False, True], ignore_index=True)

"""What `PolicyClassifier` and `PolicyRegressor` share: a search, and the model that it gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
    validate_data,
)

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Algorithm, settings_of
from leaseboard.algorithms.benches.pulls import PullsBench
from leaseboard.algorithms.events import ConfigurationAdmitted, Event, TrialFinished, of
from leaseboard.algorithms.log_format import from_json, to_json
from leaseboard.algorithms.policies.joint import JointSpace, Peer
from leaseboard.algorithms.tables.column_types import standard_types
from leaseboard.tasks.evaluate.trials import optimisers
from leaseboard.tasks.evaluate.trials.evaluate import Task
from leaseboard.tasks.evaluate.trials.scoring import FASTEST, Judge
from leaseboard.tasks.evaluate.trials.spaces import Space, digest, load_space
from leaseboard.tasks.evaluate.trials.worker import TrialLimits
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.models.automl.ensemble import EnsembleModel
from leaseboard.tasks.models.automl.policy_search import Request, Searched, able, searched
from leaseboard.tasks.models.automl.validation import default_cv, folds_of
from leaseboard.tasks.models.automl.watch import without_autologging
from leaseboard.tasks.preprocess.tables import Scale, TableEncoder

TRIALS_AS_SECONDS = 0.5
"""Seconds that a trial counts as where a budget in trials decides between folds and one fit."""


MOST_INDICATORS = 50_000_000
"""Cells of the 0/1 features that categories become: 400 MB while they are scaled."""


class PolicyEstimator(BaseEstimator):
    """What the classifier and the regressor share: the search, and the model that comes of it."""

    _task: Task

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
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.policy = policy
        self.settings = settings
        self.space = space
        self.arms = arms
        self.budget = budget
        self.unit = unit
        self.optimiser = optimiser
        self.scoring = scoring
        self.cv = cv
        self.ensemble = ensemble
        self.scale = scale
        self.trial_cpu_seconds = trial_cpu_seconds
        self.trial_memory_mb = trial_memory_mb
        self.n_jobs = n_jobs
        self.store = store
        self.verbose = verbose
        self.random_state = random_state

    @without_autologging()
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: Any = None
    ) -> Self:
        """Search until the budget is spent, and keep the models that did best.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; values may be missing.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            In fits and in scores; arms that take no weights are left out, with a warning.
        groups : array-like of shape (n_samples,), optional
            Rows of a group are never on both sides of a split.
        """
        begin = self._clock()()
        frame, target = self._checked(X, y)
        labels, targets, classes = self._labels(target)
        importance = None
        if sample_weight is not None:
            importance = _check_sample_weight(sample_weight, frame, dtype=np.float64)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        algorithm = self._policy()
        weight = importance = self._weight(target, importance)
        if weight is not None and (weight < 0).any():
            raise ValueError("a row has a negative weight: give weights from 0 upwards")
        if weight is not None and classes is not None and len(np.unique(labels[weight > 0])) < 2:
            raise ValueError("the weights leave rows of one class: nothing to learn")
        # Before the encoder, which may take long.
        refuse_wide(frame)
        space = self._space(weighted=weight is not None, n_rows=len(frame), algorithm=algorithm)
        self.encoder_ = TableEncoder(self.scale).fit(frame)  # type: ignore[arg-type]
        features = self.encoder_.transform(frame)
        cv = self.cv
        if cv is None:
            seconds = self.budget * (TRIALS_AS_SECONDS if self.unit == "trials" else 1.0)
            n_classes = 0 if classes is None else len(classes)
            cv = default_cv(len(frame), features.shape[1], n_classes, seconds)
        codes = None if classes is None else labels
        folds = folds_of(cv, target, codes=codes, groups=groups, X=features, seed=seed)
        scoring = FASTEST[self._task] if self.scoring is None else self.scoring
        answer = searched(
            Request(
                name=self.policy,
                task=self._task,
                features=features,
                codes=labels,
                target=targets,
                classes=classes,
                weight=weight,
                importance=importance,
                folds=folds,
                scoring=scoring,
                probabilistic=_asks_for_probabilities(scoring),
                space=space,
                policy=algorithm,
                optimiser=self.optimiser,
                budget=self.budget,
                unit=self.unit,  # type: ignore[arg-type]
                spent=self._clock()() - begin,
                seed=seed,
                limits=self._limits(),
                n_jobs=effective_n_jobs(self.n_jobs),
                store=self.store,
                ensemble=self.ensemble,
                identity=[self.scale, digest(space), self.unit, self.budget, self.policy,
                          settings_of(algorithm)] if self.unit != "trials" else [self.scale],
                watch=_Progress(self.budget, self.unit) if self.verbose else nullcontext(_silent),
            )
        )  # fmt: skip
        self._keep(answer, space)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The predictions of the model, shape (n_samples,)."""
        raise NotImplementedError

    def _scored(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        scoring = FASTEST[self._task] if self.scoring is None else self.scoring
        if callable(scoring) and not hasattr(scoring, "_score_func"):  # it may look at X
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            return float(scoring(self, X, y, **given))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        judge = Judge(scoring, column_or_1d(y), getattr(self, "classes_", None), weights)
        return judge.score(self._forecast(X))

    @property
    def leaderboard_(self) -> pd.DataFrame:
        """All trials, the best first."""
        check_is_fitted(self)
        return pd.DataFrame(self.trials_)

    @property
    def events_(self) -> tuple[Event, ...]:
        """The search, as `leaseboard.algorithms.events` describes it."""
        return tuple(map(from_json, self.log_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _labels(
        self, target: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """What learners are fitted on, what scorers compare with, and the classes."""
        raise NotImplementedError

    def _weight(
        self, target: NDArray[Any], importance: NDArray[np.float64] | None
    ) -> NDArray[np.float64] | None:
        """The weights of the rows."""
        del target
        return importance

    def _clock(self) -> Callable[[], float]:
        return time.perf_counter if self.unit == "wall_seconds" else time.process_time

    def _limits(self) -> TrialLimits | None:
        if self.trial_cpu_seconds is None:
            return None
        return TrialLimits(self.trial_cpu_seconds, self.trial_memory_mb)

    def _policy(self) -> Algorithm:
        settings = self.settings
        if settings is None and self.policy == "rising-bandits-cost":
            settings = {"C": 5, "turns": "seconds"}
        algorithm = registry.build(self.policy, settings)
        if algorithm.bench != PullsBench.kind or isinstance(algorithm, Peer):
            raise ValueError(f"policy={self.policy!r} chooses no arms: name one that does")
        if self.scale not in get_args(Scale):
            raise ValueError(f"scale={self.scale!r}: known are {', '.join(get_args(Scale))}")
        optimisers.check(self.optimiser)
        if not self.budget > 0:
            raise ValueError(f"budget={self.budget} {self.unit} buys no trial: give more than 0")
        return algorithm

    def _space(self, *, weighted: bool, n_rows: int, algorithm: Algorithm) -> Space:
        name = self.space or f"tables-{self._task}"
        space = load_space(name)
        if space.task != self._task:
            raise ValueError(f"space {name!r} is for {space.task}, not for {self._task}")
        if self.arms is not None:
            space = space.restricted(list(self.arms))
        space = able(space, n_rows=n_rows, weighted=weighted)
        joint = isinstance(algorithm, JointSpace)
        if not joint and self.unit == "trials" and self.budget < len(space.arms):
            raise ValueError(
                f"a budget of {self.budget:g} trials is smaller than the {len(space.arms)} arms,"
                f" and policies pull each once at first: give at least {len(space.arms)}"
            )
        return space

    def _keep(self, answer: Searched, space: Space) -> None:
        self.log_ = [to_json(event) for event in answer.events]
        self.trials_ = trials_of(answer)
        self.model_: EnsembleModel = answer.model
        self.score_ = answer.score
        self.best_score_ = answer.best_score
        self.best_arm_ = list(space.arms)[answer.best.arm]
        parameters = _parameters(answer.events)[answer.best.configuration]
        self.best_parameters_ = {k: v for k, v in parameters.items() if k != "arm"}

    def _forecast(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.model_.forecast(self.encoder_.transform(self._frame(X, reset=False)))

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
            return standard_types(pd.DataFrame(array).infer_objects())
        validate_data(self, X, reset=reset, skip_check_array=True)
        if X.shape[0] < 1 or X.shape[1] < 1:
            raise ValueError(f"0 sample(s) or feature(s): X has the shape {X.shape}")
        return standard_types(X.reset_index(drop=True))


def refuse_wide(frame: pd.DataFrame) -> None:
    """ValueError for categories that are too many for a feature each, as of names and texts."""
    counts = [
        column.nunique() if columns.is_nominal(column) or columns.is_text(column) else 0
        for _, column in frame.items()
    ]
    if len(frame) * sum(counts) > MOST_INDICATORS:
        widest = int(np.argmax(counts))
        raise ValueError(
            f"column {frame.columns[widest]!r} has {counts[widest]} categories in {len(frame)}"
            " rows, too many for a feature each: drop it, encode it, or merge rare ones"
        )


def trials_of(answer: Searched) -> list[dict[str, Any]]:
    """All trials of a search, the best first."""
    parameters = _parameters(answer.events)
    rows = [
        {
            "arm": parameters[event.configuration]["arm"],
            "score": answer.scores.get(event.configuration, np.nan),
            "weight": answer.weights.get(event.configuration, 0.0),
            "reward": event.reward,
            "cpu_seconds": event.cpu_seconds,
            "wall_seconds": event.wall_seconds,
            "status": event.status,
            "reason": event.reason,
            "parameters": {k: v for k, v in parameters[event.configuration].items() if k != "arm"},
            "trial": event.configuration,
        }
        for event in of(answer.events, TrialFinished)
    ]
    return sorted(
        rows,
        key=lambda row: (np.nan_to_num(row["score"], nan=-np.inf), row["reward"]),
        reverse=True,
    )


def _parameters(events: tuple[Event, ...]) -> dict[int, Any]:
    return {each.configuration: each.parameters for each in of(events, ConfigurationAdmitted)}


def _asks_for_probabilities(scoring: Any) -> bool:
    """Whether a scorer looks at probabilities themselves, and not at their order."""
    method = getattr(_scorer(scoring), "_response_method", "")
    return method == "predict_proba"


def _scorer(scoring: Any) -> Any:
    from sklearn.metrics import get_scorer

    return get_scorer(scoring) if isinstance(scoring, str) else scoring


def _silent(_: Event) -> None:
    """Nothing is shown."""


class _Progress:
    """A line on standard error: how much of the budget is spent."""

    def __init__(self, budget: float, unit: str) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True))
        self._task = self._bar.add_task(f"{budget:g} {unit}", total=budget)

    def __call__(self, event: Event) -> None:
        self._bar.update(self._task, completed=event.at)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

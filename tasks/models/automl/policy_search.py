"""The search behind the estimators: trials under a budget, and the model that comes of them."""

import contextlib
import math
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.metrics import get_scorer
from sklearn.utils.validation import has_fit_parameter

from leaseboard.algorithms.base import Algorithm
from leaseboard.algorithms.environments.pulls import (
    UNAFFORDABLE,
    NoTrialError,
    PullsEnvironment,
    Unit,
)
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import ConfigurationAdmitted, Event, TrialFinished, of
from leaseboard.tasks.evaluate.trials import recipes
from leaseboard.tasks.evaluate.trials.budgeted import BudgetedTrials, Tried
from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Fold, fitted_in
from leaseboard.tasks.evaluate.trials.scoring import Judge
from leaseboard.tasks.evaluate.trials.spaces import Space
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.models.automl.ensemble import (
    CANDIDATES,
    EnsembleMember,
    EnsembleModel,
    selected,
    span_of,
)
from leaseboard.tasks.models.automl.progress import audited
from leaseboard.tasks.models.automl.validation import Validation
from leaseboard.tasks.preprocess.encoders import WIDEST
from leaseboard.tasks.processes.limits import Limits

NOISE = 2
"""Standard errors by which a fit on all rows may fall short of its trial."""
RESERVED = 0.03
"""Share of a budget in seconds for the steps after the last trial."""
SELECTING = 0.02
"""Share of a budget in seconds for the selection of the ensemble, next to what trials leave."""
OF_REFITS = 1 / 3
"""Share of the time for refits that the selection may take if its scorer is slow."""
FOR_REFITS = 0.33
"""Share of what the overhead leaves of a budget in seconds that fits on all rows may take; none
where the folds' models are used."""
FOR_BEST = 0.5
"""The same of the fit of the best trial alone."""
SLACK = 1.1
"""Factor by which the time for such a fit exceeds what its trial lets expect."""
MEMBERS = 4
"""Arms whose best trial is expected to be in the model."""
MOST_INDICATORS = 50_000_000
"""Cells of the 0/1 features that categories become: 400 MB while they are scaled."""
NOT_JUDGED = math.nan, 0.0
"""Score and weight of a trial without a score."""


@dataclass(kw_only=True)
class PolicySearch:
    """Search of a policy on rows, within a budget; `run` makes what comes of it."""

    estimator: Any
    """An `AutoMLEstimator`, whose parameters say all the rest."""
    features: NDArray[np.float32]
    kinds: NDArray[np.int8]
    """Of the features, see `leaseboard.tasks.preprocess.encoders.TableEncoder`."""
    codes: NDArray[Any]
    """The targets as learners get them."""
    target: NDArray[Any]
    """The targets as scorers get them."""
    classes: NDArray[Any] | None
    weight: NDArray[np.float64] | None
    """Of rows, in fits and in scores."""
    folds: Validation
    space: Space
    policy: Algorithm
    budget: float
    unit: Unit
    begin: float
    """Of the budget, in CPU seconds of this process."""
    seed: int

    events: list[Event] = field(default_factory=list)
    model: EnsembleModel = field(init=False)
    score: float = field(init=False)
    """Of the members together, on the rows that they did not learn from."""
    weights: dict[int, float] = field(default_factory=dict)
    """Of each trial in the model, by the seed of its learner."""
    scores: dict[int, float] = field(default_factory=dict)
    """Of each trial that was judged."""

    def run(self) -> None:
        """Run trials until the budget is spent, and build the model from the best of them."""
        seconds = self.unit != "trials"
        with tempfile.TemporaryDirectory(prefix="trials-") as folder:
            self.judge = self._judge()
            self.trials = self._trials(Path(folder))
            self.trials.warm()
            budget, overhead = self.budget, time.process_time() - self.begin
            if seconds:
                budget = max(0.0, self.budget * (1 - RESERVED) - overhead)
            env = PullsEnvironment(
                self.trials, budget, self.unit, self.seed, "reward",
                shares=True, reserve=lambda: self.for_refits(budget),
            )  # fmt: skip
            with contextlib.suppress(NoTrialError):
                audited(self.estimator.policy, self.policy, env, self.seed, self.events)
            candidates = self._candidates()
            if not candidates:
                raise UsageError(
                    f"time_budget={self.budget:g} {self.unit} is too small: the encoding of the"
                    f" table and the import of the learners took {overhead:.3g} of it, and no"
                    f" trial ended in the {budget:.3g} that were left for trials: give more"
                )
            own, refits = self.budget * SELECTING, max(0.0, budget - env.at)
            began = time.process_time()
            share = 1.0 if self.folds.bagged else OF_REFITS
            until = began + own + refits * share if seconds else np.inf
            members, self.score = [candidates[0]], candidates[0].score
            if self.estimator.ensemble:
                members, self.score = self._chosen(candidates, until)
            spent = time.process_time() - began
            self.left = refits - max(0.0, spent - own) if seconds else np.inf
            shares = Counter(each.order.seed for each in members)
            self.weights = {seed: n / len(members) for seed, n in shares.items()}
            self.scores = {each.order.seed: each.score for each in candidates}
            self.model = self._model()

    def for_refits(self, budget: float) -> float:
        """Return the seconds that fits of the best trials on all rows will take, as far as known.

        One that does not fit into their share of the budget will not be made, and needs nothing.
        """
        if self.folds.bagged:
            return 0.0
        needed, share = 0.0, FOR_BEST
        for _, seconds in self.trials.leaders()[:MEMBERS]:
            cost = seconds * SLACK * _more_rows(self.folds, len(self.codes), 1.0)
            needed += cost if needed + cost <= budget * share else 0.0
            share = FOR_REFITS
        return needed

    def _judge(self) -> Judge:
        rows = np.concatenate(self.folds.validation)
        weight = None if self.weight is None else self.weight[rows]
        judge = Judge(self.estimator.scorer, self.target[rows], self.classes, weight)
        _ = judge.ends  # a scorer that cannot judge these targets raises an error before any trial
        return judge

    def _trials(self, folder: Path) -> BudgetedTrials:
        X, y, weight, scoring = self.features, self.codes, self.weight, self.judge.scoring
        estimator, limits = self.estimator, None
        if estimator.trial_cpu_seconds is not None:
            limits = Limits(
                cpu_seconds=float(estimator.trial_cpu_seconds),
                memory_mb=float(estimator.trial_memory_mb),
            )
        # It needs probabilities themselves, and not only their order.
        scorer = scoring if callable(scoring) else get_scorer(scoring)
        probabilistic = getattr(scorer, "_response_method", "") == "predict_proba"

        def fold(train: Any, validation: Any) -> Fold:
            weights = None if weight is None else weight[train]
            return Fold(X[train], y[train], X[validation], y[validation], None, None, weights)

        folds = tuple(map(fold, self.folds.train, self.folds.validation))
        every = np.arange(len(y)), np.concatenate(self.folds.validation)
        refit = None if self.folds.bagged else fold(*every)
        return BudgetedTrials(
            self.space,
            Arrays(estimator.task, folds, refit, self.judge, probabilistic, self.kinds),
            optimiser=estimator.optimiser,
            seed=self.seed,
            limits=limits,
            n_jobs=effective_n_jobs(estimator.n_jobs),
            n_rows=min(map(len, self.folds.train)),
            folder=folder,
        )

    def _candidates(self) -> list[Tried]:
        """Return the trials that were judged, the best first."""
        seeds = [each.seed for each in of(self.events, TrialFinished) if each.status == "ok"]
        found = [self.trials.tried[seed] for seed in dict.fromkeys(seeds) if seed is not None]
        judged = [each for each in found if each.predictions is not None]
        return sorted(judged, key=lambda each: -each.score)

    def _chosen(self, candidates: list[Tried], until: float) -> tuple[list[Tried], float]:
        """Return the members, as often as they are chosen, and their score."""
        some, taken = list[Tried](), Counter[str]()
        for each in candidates:
            taken[each.suggestion.arm] += 1
            if taken[each.suggestion.arm] <= CANDIDATES:
                some.append(each)
        predictions = [each.predictions for each in some]
        left = lambda: until - time.process_time()  # noqa: E731
        members, score = selected(predictions, self.judge, left=left)
        return [some[member] for member in members], score

    def _model(self) -> EnsembleModel:
        """Return the weighted mean of the members as a model; who weighs most is fitted first."""
        made = list[EnsembleMember]()
        for seed in sorted(self.weights, key=self.weights.__getitem__, reverse=True):
            tried = self.trials.tried[seed]
            models = None if self.folds.bagged else self._refitted(tried)
            if models is None:
                models = fitted_in(tried.order.keep)
            made.append(EnsembleMember(tried.suggestion.arm, self.weights[seed], models))
        if self.classes is not None:
            return EnsembleModel(made, len(self.classes))
        return EnsembleModel(made, span=span_of(self.codes))

    def _refitted(self, tried: Tried) -> list[Any] | None:
        """Return the models of a fit on all rows, None if it is too slow or worse.

        It has learned from the rows on which it is judged. So it must come to the score of the
        trial at least, but for that score's noise; else luck made the trial or unmade the fit.
        """
        fidelity = tried.suggestion.fidelity
        more = _more_rows(self.folds, len(self.codes), fidelity)
        if tried.cpu_seconds / fidelity * more > self.left:
            return None
        models, outcome = self.trials.refit(tried, self.left)
        self.left -= outcome.cpu_seconds
        if models is None or outcome.score >= tried.score:
            return models
        noise = self.judge.noise(tried.predictions, self.seed)
        if outcome.score < tried.score - NOISE * noise:
            warnings.warn(
                f"{tried.order.estimator} scored {tried.score:.4f} on rows that it had not seen"
                f" and {outcome.score:.4f} on the same when it was fitted on all rows: the model"
                " that was scored is kept",
                stacklevel=6,
            )
            return None
        return models


def _more_rows(folds: Validation, n_rows: int, fidelity: float) -> float:
    """Return how many times the rows of a trial, whose share is scaled to 1, all rows are.

    A trial on all rows is fitted on all folds, one on a share on the first alone.
    """
    return n_rows / sum(map(len, folds.train if fidelity == 1 else folds.train[:1]))


def able(space: Space, *, n_rows: int, weighted: bool) -> Space:
    """Return `space` with the arms that can learn so many rows, with weights if there are any.

    A warning names arms that take no weights.

    Raises ValueError if no arm is left.
    """
    left_out = {}
    for name, arm in space.arms.items():
        if arm.most_rows is not None and n_rows > arm.most_rows:
            left_out[name] = f"{n_rows} rows are more than its {arm.most_rows}"
        elif weighted and not _weighs(arm.estimator, {**arm.constants, **arm.defaults()}):
            left_out[name] = "it takes no weights"
            warnings.warn(f"arm {name} is left out: it takes no weights", stacklevel=5)
    names = [name for name in space.arms if name not in left_out]
    if not names:
        said = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise ValueError(f"no arm of the space can be tried ({said}): name other arms")
    return space.restricted(names)


def _weighs(estimator: str, values: dict[str, Any]) -> bool:
    model = recipes.build(estimator, values, 1, 0)
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return bool(has_fit_parameter(last, "sample_weight"))


def refuse_wide(frame: pd.DataFrame) -> None:
    """Raise ValueError for too many categories, as of names and texts."""
    every = [columns.dated(column) for _, column in frame.items()]
    counts = [column.nunique() if columns.is_named(column) else 0 for column in every]
    if len(frame) * sum(min(count, WIDEST) for count in counts) > MOST_INDICATORS:
        widest = int(np.argmax(counts))
        raise ValueError(
            f"column {frame.columns[widest]!r} has {counts[widest]} categories in {len(frame)}"
            " rows, too many to be features: drop it, encode it, or merge rare ones"
        )


def trials_of(search: PolicySearch) -> list[dict[str, Any]]:
    """Return all trials of a search, the best first."""
    admitted = of(search.events, ConfigurationAdmitted)
    parameters = {each.configuration: dict(each.parameters) for each in admitted}
    arms = {number: own.pop("arm") for number, own in parameters.items()}
    finished = of(search.events, TrialFinished)
    # Of a trial that went on, the last part has the score of all.
    last = {each.seed: each.configuration for each in finished if each.status == "ok"}
    judged = {
        last[seed]: (score, search.weights.get(seed, 0.0)) for seed, score in search.scores.items()
    }
    rows = [
        {
            "arm": arms[event.configuration],
            "score": judged.get(event.configuration, NOT_JUDGED)[0],
            "weight": judged.get(event.configuration, NOT_JUDGED)[1],
            "reward": event.reward,
            "cpu_seconds": event.cpu_seconds,
            "wall_seconds": event.wall_seconds,
            "status": event.status,
            "reason": event.reason,
            "parameters": parameters[event.configuration],
            "trial": event.configuration,
        }
        for event in finished
        if event.reason != UNAFFORDABLE  # it was not begun
    ]
    return sorted(
        rows,
        key=lambda row: (np.nan_to_num(row["score"], nan=-np.inf), row["reward"]),
        reverse=True,
    )

"""The search behind the estimators: trials under a budget, and the ensemble that comes of them.

The ensemble is selected greedily: Rich Caruana, Alexandru Niculescu-Mizil, Geoff Crew, Alex
Ksikes. "Ensemble Selection from Libraries of Models". ICML 2004.
"""

import contextlib
import math
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
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
from leaseboard.tasks.evaluate import spaces
from leaseboard.tasks.evaluate.replay import BudgetedTrials, Tried
from leaseboard.tasks.evaluate.scoring import FASTEST, Judge
from leaseboard.tasks.evaluate.spaces import Space
from leaseboard.tasks.evaluate.trials import Arrays, Fold, fitted_in, predict
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import Task
from leaseboard.tasks.models.automl.validation import Validation, audited
from leaseboard.tasks.preprocess.encoders import WIDEST
from leaseboard.tasks.processes.child import Limits

Floats = NDArray[Any]

ROUNDS = 25
"""Members at most, with repetitions."""
CANDIDATES = 5
"""The best trials of each arm, which selection considers."""


def selected(
    predictions: Sequence[Floats],
    judge: Judge,
    *,
    rounds: int = ROUNDS,
    left: Callable[[], float] = lambda: math.inf,
) -> tuple[list[int], float]:
    """Return the members, as often as each was chosen, and the score of their mean prediction.

    One after the other the prediction is added, with replacement, with which the mean is nearest
    to the targets: from nothing, and from the best prediction on. The answer is the prefix of
    either with the best score, and among equals the nearest. If the score chose who is added, too,
    the luckiest of many would be, where a squared distance, which is proper, shows sooner what is
    better; R² is such a distance.

    Parameters
    ----------
    predictions : sequence of ndarray, shape (n_rows, n_classes) or (n_rows,)
        Of each candidate on the rows of the judge, the best first.
    judge : Judge
    rounds : int
    left : callable
        The seconds that are left: who cannot be looked at within them is not chosen, nor is a
        prefix, but for the first.

    Returns
    -------
    members : list of int
    score : float

    Examples
    --------
    Two regressions that err in opposite directions are better together:

    >>> judge = Judge("r2", np.array([1.0, 2.0, 3.0]))
    >>> selected([np.array([1.1, 2.1, 3.1]), np.array([0.9, 1.9, 2.9])], judge, rounds=3)[0]
    [0, 1]
    """
    errors: list[Floats] = []
    products: Floats = np.zeros((len(predictions), len(predictions)))
    for place, each in enumerate(predictions):
        if errors and left() <= 0:
            break
        errors.append(_errors(each, judge))
        products[place, : place + 1] = [np.vdot(errors[place], other) for other in errors]
        products[: place + 1, place] = products[place, : place + 1]
    products = products[: len(errors), : len(errors)] / (products[0, 0] or 1.0)
    path, distances = _path(products, rounds)
    best: list[int] = []
    if judge.scoring == FASTEST["regression"]:
        best = path[: int(np.argmin(distances)) + 1]
    else:
        best_value = (-math.inf, -math.inf)
        for members, far in ((path, distances), _path(products, rounds, 0)):
            total: Floats = np.zeros_like(predictions[0], dtype=np.float64)
            for size, member in enumerate(members, 1):
                if best and left() <= 0:
                    break
                total += predictions[member]
                value = (round(judge.score(total / size), 12), -far[size - 1])
                if value > best_value:
                    best, best_value = members[:size], value
    return best, judge.score(sum(predictions[member] for member in best) / len(best))


def _path(
    products: Floats, rounds: int, first: int | None = None
) -> tuple[list[int], list[float]]:
    """Return who is added, one by one, after the `first`, and how far the mean then is."""
    counts: Floats = np.zeros(len(products))
    path: list[int] = []
    far: list[float] = []
    for size in range(1, rounds + 1):
        added = products @ counts * 2 + products.diagonal()
        # What rounding changes does not count as a difference.
        distances = np.round((counts @ products @ counts + added) / size**2, 12)
        winner = int(distances.argmin()) if path or first is None else first
        counts[winner] += 1
        path.append(winner)
        far.append(float(distances[winner]))
    return path, far


def _errors(predictions: Floats, judge: Judge) -> Floats:
    """Return the errors of predictions, shape (n_rows, n_classes) or (n_rows, 1)."""
    targets = judge.targets[:, None]
    if judge.classes is None:
        errors = predictions[:, None] - targets
    else:
        errors = predictions.astype(np.float64) - (targets == judge.classes)
    weights = np.ones(len(errors)) if judge.weights is None else judge.weights
    shares = weights / (weights.sum() * errors.shape[1])
    return np.asarray(errors * np.sqrt(shares)[:, None])


@dataclass
class EnsembleMember:
    """One configuration's models: of every fold, or one that was fitted on all rows."""

    arm: str
    weight: float
    models: list[Any]


MARGIN = 0.1
"""Of the range of targets, by which predictions may leave it."""


@dataclass
class EnsembleModel:
    """The mean of its members' predictions; a member's is the mean of its models'.

    - `n_classes`: 0 for a regression.
    - `span`: of a regression, where a model's predictions are cut off, see `span_of`.
    """

    members: list[EnsembleMember] = field(default_factory=list)
    n_classes: int = 0
    span: tuple[float, float] = (-math.inf, math.inf)

    def predict(self, features: Floats) -> Floats:
        """Return probabilities, shape (n_rows, n_classes), or values, shape (n_rows,)."""
        if not self.n_classes:  # in 32 bits a row's prediction depends on the rows next to it
            features = features.astype(np.float64)
        total: Any = 0.0
        for member in self.members:
            share = member.weight / len(member.models)
            for model in member.models:
                found = predict(model, features, self.n_classes)
                total = total + share * (found if self.n_classes else np.clip(found, *self.span))
        return np.asarray(total, dtype=np.float64)


def span_of(targets: ArrayLike) -> tuple[float, float]:
    """Return the range of the learned targets, with a tenth of it added at either side.

    A network or a linear model may predict a row unlike all others far beyond what was ever seen,
    and one such row of thousands costs more than all others together.

    Examples
    --------
    >>> span_of([2.0, 12.0, 7.0])
    (1.0, 13.0)
    """
    low, high = float(np.min(targets)), float(np.max(targets))
    margin = MARGIN * (high - low)
    return low - margin, high + margin


def affordable(costs: Mapping[int, float], left: float) -> list[int]:
    """Return what can be paid of what is `left`, one after the other.

    Examples
    --------
    >>> affordable({7: 3.0, 8: 2.0, 9: 1.0}, 4.5)
    [7, 9]
    """
    found = list[int]()
    for each, cost in costs.items():
        if cost <= left:
            found.append(each)
            left -= cost
    return found


def _weights(members: Sequence[Tried]) -> dict[int, float]:
    """Return the share of each member, by the seed of its trial."""
    return {seed: n / len(members) for seed, n in Counter(m.order.seed for m in members).items()}


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


@dataclass(kw_only=True)
class PolicySearch:
    """Search of a policy on the arrays of a table, within a budget."""

    estimator: Any
    """An `AutoMLEstimator`, whose parameters say all the rest."""
    arrays: Arrays
    space: Space
    policy: Algorithm
    budget: float
    unit: Unit
    begin: float
    """Of the budget, in CPU seconds of this process."""
    seed: int
    in_order: bool
    """Of the folds, see `Validation`."""

    events: list[Event] = field(default_factory=list)

    def run(self) -> tuple[EnsembleModel, float, list[dict[str, Any]]]:
        """Run trials until the budget is spent, and build the model from the best of them.

        Returns the model, its score on rows that its members did not learn from, and all trials,
        the best first.
        """
        seconds = self.unit != "trials"
        with tempfile.TemporaryDirectory(prefix="trials-") as folder:
            self.trials = self._trials(Path(folder))
            self.trials.warm()
            budget, overhead = self.budget, time.process_time() - self.begin
            if seconds:
                budget = max(0.0, self.budget * (1 - RESERVED) - overhead)
            env = PullsEnvironment(
                self.trials, budget, self.unit, "reward",
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
            share = OF_REFITS if self.arrays.refit else 1.0
            until = began + own + refits * share if seconds else np.inf
            members, score = [candidates[0]], candidates[0].score
            if self.estimator.ensemble:
                members, score = self._chosen(candidates, until)
            spent = time.process_time() - began
            left = refits - max(0.0, spent - own) if seconds else np.inf
            weights = _weights(members)
            costs = self._costs(weights) if self.arrays.refit else {}
            again = affordable(costs, left)
            if self.in_order and 0 < len(again) < len(weights):
                # The others have not learned the last rows: who is, is selected once more.
                latest = [each for each in candidates if each.order.seed in again]
                began, needed = time.process_time(), sum(costs[seed] for seed in again)
                members, score = self._chosen(latest, began + left - needed)
                weights, left = _weights(members), left - (time.process_time() - began)
            model = self._model(weights, again, left)
            return model, score, self._leaderboard(candidates, weights)

    def for_refits(self, budget: float) -> float:
        """Return the seconds that fits of the best trials on all rows will take, as far as known.

        One that does not fit into their share of the budget will not be made, and needs nothing.
        """
        if self.arrays.refit is None:
            return 0.0
        needed, share = 0.0, FOR_BEST
        for _, seconds in self.trials.leaders()[:MEMBERS]:
            cost = seconds * SLACK * self._more_rows(1.0)
            needed += cost if needed + cost <= budget * share else 0.0
            share = FOR_REFITS
        return needed

    def _trials(self, folder: Path) -> BudgetedTrials:
        estimator, limits = self.estimator, None
        if estimator.trial_cpu_seconds is not None:
            limits = Limits(
                cpu_seconds=float(estimator.trial_cpu_seconds),
                memory_mb=float(estimator.trial_memory_mb),
            )
        return BudgetedTrials(
            space=self.space,
            arrays=self.arrays,
            optimiser=estimator.optimiser,
            seed=self.seed,
            limits=limits,
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
        assert self.arrays.judge is not None
        predictions = [each.predictions for each in some]
        left = lambda: until - time.process_time()  # noqa: E731
        members, score = selected(predictions, self.arrays.judge, left=left)
        return [some[member] for member in members], score

    def _model(
        self, weights: dict[int, float], again: Sequence[int], left: float
    ) -> EnsembleModel:
        """Return the weighted mean of the members as a model.

        - `again`: who is fitted on all rows, the heaviest first, in the seconds that are `left`.
        """
        made = list[EnsembleMember]()
        for seed in sorted(weights, key=weights.__getitem__, reverse=True):
            tried, models = self.trials.tried[seed], None
            if seed in again:
                models, taken = self.trials.refit(tried, left)
                left -= taken
            # In order the last model of a trial, which has learned the last rows.
            models = models or fitted_in(tried.order.keep)[-1 if self.in_order else 0 :]
            made.append(EnsembleMember(tried.suggestion.arm, weights[seed], models))
        assert self.arrays.judge is not None
        classes = self.arrays.judge.classes
        return EnsembleModel(made, 0 if classes is None else len(classes))

    def _costs(self, weights: dict[int, float]) -> dict[int, float]:
        """Return the seconds that a fit of each member on all rows takes, the heaviest first."""
        costs = dict[int, float]()
        for seed in sorted(weights, key=weights.__getitem__, reverse=True):
            tried = self.trials.tried[seed]
            share = tried.suggestion.fidelity
            costs[seed] = tried.cpu_seconds / share * self._more_rows(share)
        return costs

    def _more_rows(self, fidelity: float) -> float:
        """Return how many times the rows of a trial, whose share is scaled to 1, all rows are.

        A trial on all rows is fitted on all folds, one on a share on the first alone.
        """
        assert self.arrays.refit is not None
        folds = self.arrays.folds[: None if fidelity == 1 else 1]
        return len(self.arrays.refit.train_y) / sum(len(fold.train_y) for fold in folds)

    def _leaderboard(self, judged: list[Tried], weights: dict[int, float]) -> list[dict[str, Any]]:
        """Return all trials, the best first."""
        admitted = of(self.events, ConfigurationAdmitted)
        parameters = {each.configuration: dict(each.parameters) for each in admitted}
        scores = {each.order.seed: each.score for each in judged}
        rows = list[dict[str, Any]]()
        for event in of(self.events, TrialFinished):
            own = parameters[event.configuration]
            row = {"arm": own.pop("arm"), "score": math.nan, "weight": 0.0}
            if event.status == "ok" and event.seed in scores:
                row |= {"score": scores[event.seed], "weight": weights.get(event.seed, 0.0)}
            same = ("reward", "cpu_seconds", "wall_seconds", "status", "reason")
            row |= {name: getattr(event, name) for name in same}
            if event.reason != UNAFFORDABLE:  # else it was not begun
                rows.append(row | {"parameters": own, "trial": event.configuration})
        return sorted(
            rows,
            key=lambda row: (np.nan_to_num(row["score"], nan=-np.inf), row["reward"]),
            reverse=True,
        )


def arrays_of(
    task: Task,
    features: NDArray[np.float32],
    kinds: NDArray[np.int8],
    codes: NDArray[Any],
    target: NDArray[Any],
    classes: NDArray[Any] | None,
    weight: NDArray[np.float64] | None,
    folds: Validation,
    scorer: Any,
) -> Arrays:
    """Return the arrays of trials; an error if the scorer cannot judge these targets.

    - `codes`, `target`: the targets as learners and as scorers get them.
    - `weight`: of rows, in fits and in scores.
    """
    judged = np.concatenate(folds.validation)
    judge = Judge(scorer, target[judged], classes, None if weight is None else weight[judged])
    _ = judge.ends

    def fold(train: Any, rows: Any) -> Fold:
        weights = None if weight is None else weight[train]
        validation = features[rows], codes[rows]
        return Fold(features[train], codes[train], *validation, train_weight=weights)

    parts = tuple(map(fold, folds.train, folds.validation))
    refit = None if folds.bagged else fold(np.arange(len(codes)), judged)
    return Arrays(task, parts, refit, judge, kinds)


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
    model = spaces.build(estimator, values, 1, 0)
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

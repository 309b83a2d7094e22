"""The search behind the estimators: trials under a budget, and the model that comes of them."""

import contextlib
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.metrics import get_scorer
from sklearn.utils.validation import has_fit_parameter

from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, play, settings_of
from leaseboard.algorithms.environments.pulls import NoTrialError, PullsEnvironment, Unit
from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.algorithms.events import Event, TrialFinished, of
from leaseboard.tasks.evaluate.trials import recipes
from leaseboard.tasks.evaluate.trials.evaluate import (
    Arrays,
    Fold,
    Judged,
    TrialData,
    fitted_in,
)
from leaseboard.tasks.evaluate.trials.replay import BudgetedTrials
from leaseboard.tasks.evaluate.trials.scoring import Judge
from leaseboard.tasks.evaluate.trials.spaces import Space, digest
from leaseboard.tasks.evaluate.trials.worker import TrialLimits
from leaseboard.tasks.models.automl.ensemble import (
    CANDIDATES,
    EnsembleMember,
    EnsembleModel,
    selected,
    span_of,
)
from leaseboard.tasks.models.automl.progress import shown
from leaseboard.tasks.models.automl.validation import Validation
from leaseboard.tasks.preprocess import tables
from leaseboard.tasks.store.recorded import Store

NOISE = 2
"""Standard errors by which a fit on all rows may fall short of its trial."""
SAME = 1e-6
"""How far the score of a model that is fitted again may be from the one on record."""
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


@dataclass(frozen=True, kw_only=True)
class Request:
    """Request for a search: the rows, the space, the policy and the budget."""

    estimator: Any
    """An `AutoMLEstimator`, whose parameters say all the rest."""
    features: NDArray[np.float32]
    kinds: NDArray[np.int8]
    """Of the features, see `leaseboard.tasks.preprocess.tables.TableEncoder`."""
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
    spent: float
    """Of the budget, before the search begins."""
    seed: int


@dataclass(frozen=True, kw_only=True)
class Searched:
    """Result of a search."""

    events: tuple[Event, ...]
    model: EnsembleModel
    score: float
    """Of the members together, on the rows that they did not learn from."""
    weights: dict[int, float]
    """Of each trial in the model, by its number among the events."""
    scores: dict[int, float]
    """Of each trial that was judged."""


@dataclass(slots=True)
class _Candidate:
    event: TrialFinished
    judged: Judged


def searched(request: Request) -> Searched:
    """Run trials until the budget is spent, and build the model from the best of them."""
    clock = time.process_time if request.unit == "cpu_seconds" else time.perf_counter
    begin = clock()
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trials-")))
        judge = _judge(request)
        store = Store(str(request.estimator.store or scratch / "store.sqlite"))
        stack.callback(store.table.database.close)
        trials = _trials(request, judge, scratch, store)
        stack.callback(trials.close)
        warmed = trials.warm()
        seconds = request.unit != "trials"
        budget, overhead = request.budget, 0.0
        if seconds:
            overhead = request.spent + (clock() - begin)
            overhead += warmed if request.unit == "cpu_seconds" else 0.0
            budget = request.budget * (1 - RESERVED) - overhead
        budget = max(budget, 0.0)
        env = PullsEnvironment(
            trials, budget, request.unit, request.seed, "reward",
            shares=True, reserve=lambda: _for_refits(request, trials, budget),
        )  # fmt: skip
        events: tuple[Event, ...] = ()
        with contextlib.suppress(NoTrialError):
            events = _played(request, env)
        if env.best is None:
            raise UsageError(
                f"time_budget={request.budget:g} {request.unit} is too small: the encoding of the"
                f" table and the import of the learners took {overhead:.3g} of it, and no trial"
                f" ended in the {budget:.3g} that were left for trials: give more"
            )
        candidates, judge = _comparable(_candidates(trials, events), judge)
        own, refits = request.budget * SELECTING, max(0.0, budget - env.at)
        began = clock()
        share = 1.0 if request.folds.bagged else OF_REFITS
        until = began + own + refits * share if seconds else np.inf
        chosen, score = [0], candidates[0].judged.score
        if request.estimator.ensemble:
            chosen, score = _chosen(candidates, judge, left=lambda: until - clock())
        left = refits - max(0.0, clock() - began - own) if seconds else np.inf
        model = _model(request, trials, judge, candidates, chosen, left)
        weights = {
            candidates[index].event.configuration: chosen.count(index) / len(chosen)
            for index in dict.fromkeys(chosen)
        }
    return Searched(
        events=events,
        model=model,
        score=score,
        weights=weights,
        scores={each.event.configuration: each.judged.score for each in candidates},
    )


def _for_refits(request: Request, trials: BudgetedTrials, budget: float) -> float:
    """Return the seconds that fits of the best trials on all rows will take, as far as known.

    One that does not fit into their share of the budget will not be made, and needs nothing.
    """
    if request.folds.bagged:
        return 0.0
    needed, share = 0.0, FOR_BEST
    for _, seconds in trials.leaders()[:MEMBERS]:
        cost = seconds * SLACK * _more_rows(request, 1.0)
        needed += cost if needed + cost <= budget * share else 0.0
        share = FOR_REFITS
    return needed


def _more_rows(request: Request, fidelity: float) -> float:
    """Return how many times the rows of a trial, whose share is scaled to 1, all rows are.

    A trial on all rows is fitted on all folds, one on a share on the first alone.
    """
    folds = request.folds.train if fidelity == 1 else request.folds.train[:1]
    return len(request.codes) / sum(map(len, folds))


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


def _judge(request: Request) -> Judge:
    rows = np.concatenate(request.folds.validation)
    weight = None if request.weight is None else request.weight[rows]
    judge = Judge(request.estimator.scorer, request.target[rows], request.classes, weight)
    _ = judge.ends  # a scorer that cannot judge these targets raises an error before any trial
    return judge


def _trials(request: Request, judge: Judge, scratch: Path, store: Store) -> BudgetedTrials:
    X, y, weight, estimator = request.features, request.codes, request.weight, request.estimator
    stored, limits, identity = estimator.store is not None, None, [estimator.scale]
    if request.unit != "trials":
        settings = estimator.policy, settings_of(request.policy)
        identity += [digest(request.space), request.unit, request.budget, *settings]
    if estimator.trial_cpu_seconds is not None:
        limits = TrialLimits(estimator.trial_cpu_seconds, estimator.trial_memory_mb)
    # It needs probabilities themselves, and not only their order.
    scorer = judge.scoring if callable(judge.scoring) else get_scorer(judge.scoring)
    probabilistic = getattr(scorer, "_response_method", "") == "predict_proba"

    def fold(train: Any, validation: Any) -> Fold:
        weights = None if weight is None else weight[train]
        return Fold(X[train], y[train], X[validation], y[validation], None, None, weights)

    def arrays() -> Arrays:
        pairs = zip(request.folds.train, request.folds.validation, strict=True)
        folds = tuple(fold(*pair) for pair in pairs)
        every = np.arange(len(y)), np.concatenate(request.folds.validation)
        refit = None if request.folds.bagged else fold(*every)
        return Arrays(estimator.task, folds, refit, judge, probabilistic, request.kinds)

    return BudgetedTrials(
        request.space,
        TrialData(
            identity={
                "digest": joblib.hash((X, y, weight)) if stored else "",
                "folds": joblib.hash(request.folds) if stored else "",
                "identity": identity,
                "scoring": judge.fingerprint() if stored else [],
            },
            code=(__name__, tables.__name__),
            arrays=arrays,
        ),
        optimiser=estimator.optimiser,
        seed=request.seed,
        store=store,
        limits=limits,
        n_jobs=effective_n_jobs(estimator.n_jobs),
        n_rows=min(map(len, request.folds.train)),
        n_folds=len(request.folds.train),
        clock="wall" if request.unit == "wall_seconds" else "cpu",
        keep=scratch,
    )


def _played(request: Request, env: PullsEnvironment) -> tuple[Event, ...]:
    auditor, events, settings = Auditor(), [], request.estimator
    bar = shown(request.budget, request.unit, lambda event: event.at, verbose=settings.verbose)
    with bar as progress:
        for event in play(settings.policy, request.policy, env, request.seed):
            auditor(event)
            progress(event)
            events.append(event)
    auditor.close()
    return tuple(events)


def _candidates(trials: BudgetedTrials, events: tuple[Event, ...]) -> list[_Candidate]:
    """Return the trials that were judged, each once, with its last event."""
    found = {}
    for event in of(events, TrialFinished):
        if event.status == "ok":
            assert event.seed is not None
            judged = trials.judged(event.seed)
            if judged is not None:
                found[event.seed] = _Candidate(event, judged)
    return list(found.values())


def _comparable(candidates: list[_Candidate], judge: Judge) -> tuple[list[_Candidate], Judge]:
    """Return the candidates, scored on the same rows, the best first, and the judge of these rows.

    A trial that was stopped has predictions of the first rows alone. It is left out, unless on its
    rows it beats all that have more of them by more than the standard error: then its rows judge.
    """
    found: list[_Candidate] = []
    for each in sorted(candidates, key=lambda each: -len(each.judged.predictions)):
        own = judge.first(len(each.judged.predictions))
        if found and len(own.targets) < len(found[-1].judged.predictions):
            best = max(own.score(other.judged.predictions[: len(own.targets)]) for other in found)
            noise = own.noise(each.judged.predictions, each.judged.order.seed)
            if each.judged.score <= best + noise:
                continue
        found.append(each)
    judge = judge.first(len(found[-1].judged.predictions))
    for each in found:
        rows = each.judged.predictions[: len(judge.targets)]
        each.judged = replace(each.judged, predictions=rows, score=judge.score(rows))
    return sorted(found, key=lambda each: -each.judged.score), judge


def _chosen(
    candidates: list[_Candidate], judge: Judge, left: Callable[[], float]
) -> tuple[list[int], float]:
    """Return the members' places among the candidates, as often as chosen, and their score."""
    places = []
    taken: Counter[int] = Counter()
    for place, each in enumerate(candidates):
        taken[each.event.arm] += 1
        if taken[each.event.arm] <= CANDIDATES:
            places.append(place)
    predictions = [candidates[place].judged.predictions for place in places]
    members, score = selected(predictions, judge, left=left)
    return [places[member] for member in members], score


def _model(
    request: Request,
    trials: BudgetedTrials,
    judge: Judge,
    candidates: list[_Candidate],
    chosen: list[int],
    left: float,
) -> EnsembleModel:
    """Return the weighted mean of the chosen candidates as a model."""
    parts = {index: candidates[index].judged for index in dict.fromkeys(chosen)}
    models: dict[int, list[Any]] = {}
    for index in sorted(parts, key=lambda index: -chosen.count(index)):
        judged = parts[index]
        made = None
        if not request.folds.bagged:
            made, left = _refitted(request, trials, judge, judged, left)
        models[index] = made or _measured(trials, judged)
    n_classes = 0 if request.classes is None else len(request.classes)
    arms = list(request.space.arms)
    members = [
        EnsembleMember(arms[candidates[index].event.arm], chosen.count(index) / len(chosen), each)
        for index, each in models.items()
    ]
    if n_classes:
        return EnsembleModel(members, n_classes)
    return EnsembleModel(members, span=span_of(request.codes))


def _measured(trials: BudgetedTrials, judged: Judged) -> list[Any]:
    """Return the models that were scored; fitted again, with the same seed, if they are gone."""
    if judged.file is not None:
        return [model for model, _ in fitted_in(judged.file)]
    again, outcome = trials.fit_again(judged)
    if again is None:
        raise LeaseboardError(
            f"{judged.order.estimator} was fitted once and cannot be fitted again:"
            f" {outcome.status}, {outcome.reason}"
        )
    if abs(outcome.score - judged.score) > SAME:
        raise LeaseboardError(
            f"{judged.order.estimator} scores {outcome.score} now and {judged.score} when it was"
            " stored: code, libraries or processor have changed, use another store"
        )
    return list(again)


def _refitted(
    request: Request, trials: BudgetedTrials, judge: Judge, judged: Judged, left: float
) -> tuple[list[Any] | None, float]:
    """Return the models of a fit on all rows, None if it is too slow or worse, and the time left.

    It has learned from the rows on which it is judged. So it must come to the score of the trial
    at least, but for that score's noise; else luck made the trial or unmade the fit.
    """
    cost = judged.wall_seconds if request.unit == "wall_seconds" else judged.cpu_seconds
    if cost / judged.order.fidelity * _more_rows(request, judged.order.fidelity) > left:
        return None, left
    models, outcome = trials.fit_again(judged, refit=True, seconds=left)
    left -= outcome.wall_seconds if request.unit == "wall_seconds" else outcome.cpu_seconds
    if models is None:
        return None, left
    if outcome.score >= judged.score:
        return models, left
    noise = judge.noise(judged.predictions, request.seed)
    if outcome.score < judged.score - NOISE * noise:
        warnings.warn(
            f"{judged.order.estimator} scored {judged.score:.4f} on rows that it had not seen and"
            f" {outcome.score:.4f} on the same when it was fitted on all rows: the model that"
            " was scored is kept",
            stacklevel=6,
        )
        return None, left
    return models, left

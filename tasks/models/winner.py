"""The winner of a suite on a data set, or of a race, and the model that it found."""

from __future__ import annotations

import importlib
import math
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs.benches.kinds import KINDS
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.saved import SavedModel

REPEATED = 1e-9
"""Relative; how far a repeated run's score may be from the recorded one."""

WHOLE = "PolicyClassifier or PolicyRegressor"
"""Our own whole system, as people fit it."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The algorithm with the best mean score on a data set, and all that it scored there."""

    job: Job
    """The first repetition's, whose model is registered: the best one's would be chosen by
    luck."""
    results: tuple[Result, ...]
    """Of all repetitions, that of `job` first."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A winner's model with the data that it was made from.

    `test` is its score on rows that it has not seen, None where there are none.
    """

    model: SavedModel
    dataset: fetch.Dataset
    test: float | None


def barred(result: Result) -> str:
    """Why the model of a run cannot be registered as a winner's, empty if it can.

    The score of a run that ended early, or of an algorithm that uses what cannot be known in
    time, is not one that others can be compared with.
    """
    if result.status != "ok":
        return f"{result.status}: {result.reason}".rstrip(": ")
    if not result.complete:
        return result.reason or "ended early"
    return "declares hindsight" if result.hindsight else ""


def require_model(algorithm: str, bench: str) -> None:
    """UsageError if what runs on that kind of bench leaves no model to register."""
    if KINDS[bench].chooses == "system":
        raise UsageError(
            f"{algorithm} is a whole system, which keeps what it found: fit {WHOLE} of leaseboard"
            " or the system itself in Python, or register a policy such as rising-bandits"
        )


def winner_of(jobs: Iterable[Job], results: Iterable[Result], data: str) -> Winner:
    """The winner of a suite's jobs on `data`; the first of several equal ones.

    An algorithm cannot win if in any repetition it has no result, or one that is `barred`.

    Raises UsageError if no algorithm is left on these data.
    """
    jobs = [job for job in jobs if job.data == data]
    present = [result for result in results if result.data == data]
    found = {(r.label, r.repetition): r for r in present if not barred(r)}
    complete: dict[str, list[Result]] = {}
    for label in dict.fromkeys(job.label for job in jobs):
        mine = [job for job in jobs if job.label == label]
        scores = [found.get((job.label, job.repetition)) for job in mine]
        if all(scores):
            complete[label] = [result for result in scores if result is not None]
    if not complete:
        first = next((f" (first: {r.label}: {why})" for r in present if (why := barred(r))), "")
        raise UsageError(
            f"no algorithm has a score in every repetition on {data} that can be compared{first}:"
            " run the suite to its end, with an algorithm whose score can"
        )
    label = min(complete, key=lambda label: _cost(complete[label]))
    first = next(job for job in jobs if job.label == label)
    return Winner(first, tuple(complete[label]))


def fit(
    job: Job, result: Result, *, mirrors: tuple[Path, ...] = (), learner: Any = None
) -> Fitted:
    """The model of an ``ok`` result.

    - `result`: what `job` came to.
    - `learner`: what the run on a stream or hold-out left; without it the run is repeated, which
      gives the same.

    Raises
    ------
    UsageError
        If the data are others now, or the run leaves no model.
    LeaseboardError
        If the repeated run does not come to the recorded score.
    """
    require_model(result.label, result.bench)
    dataset = fetch.load(job.data, mirrors=mirrors)
    if dataset.digest != result.digest:
        raise UsageError(
            f"{job.data} has changed since {result.label} ran on it: run it again, then register"
        )
    kind = KINDS[result.bench]
    if kind.chooses == "model":
        learner = learner or _repeated(job, result, mirrors)
    maker = importlib.import_module(f"leaseboard.tasks.models.{kind.served_by}")
    model, test = maker.fitted(dataset, job, result, learner)
    return Fitted(model, dataset, test)


def _repeated(job: Job, result: Result, mirrors: tuple[Path, ...]) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        again, learner = run_job(job, Path(scratch), mirrors=mirrors)
    same = again.score is not None and result.score is not None
    if not same or not math.isclose(again.score, result.score, rel_tol=REPEATED):  # type: ignore[arg-type]
        raise LeaseboardError(
            f"{result.label} on {result.data} came to {again.score} now and to {result.score} when"
            " it was recorded: code or libraries have changed, run the suite again"
        )
    return learner


def _cost(results: list[Result]) -> float:
    mean = math.fsum(result.score or 0.0 for result in results) / len(results)
    return mean if results[0].direction == "min" else -mean

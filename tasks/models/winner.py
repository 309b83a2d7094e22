"""The winner of a suite on a dataset, or of a race, and the model that it found.

Of a job with untrusted code the model is made in a worker of the pool, which leaves it in a folder
as a file without code, so that this process runs none of it.
"""

import json
import math
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaseboard.algorithms.environments.holdout import HoldoutEnvironment
from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.jobs.job import Job, Result, plain
from leaseboard.tasks.jobs.programs import is_untrusted
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.model import FILE, TableModel, load_file
from leaseboard.tasks.pool.attempts import run_one

REPEATED = 1e-9
"""Relative; how far a repeated run's score may be from the recorded one."""
REFIT = "leaseboard.tasks.models.winner:refit_and_save"
"""What a worker of the pool does to leave a model in a folder."""
OUTCOME, RECORDED = "model.outcome.json", "recorded.json"
REFUSED = "/:.%\"'"
"""The characters that MLflow refuses in the name of a logged model."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """TableModel of a winner with the data that it was made from.

    `test` is its score on rows that it has not seen; None without such rows.
    """

    model: TableModel
    test: float | None
    dataset: Dataset


def barred(result: Result) -> str:
    """Return why the model of a run cannot be registered as a winner's; empty if it can.

    The score of a run that ended early, or of an algorithm that uses what cannot be known in
    time, is not one that others can be compared with.
    """
    if result.status != "ok":
        return f"{result.status}: {result.reason}".rstrip(": ")
    if not result.complete:
        return result.reason or "ended early"
    return "is an oracle baseline" if result.oracle_baseline else ""


def check_name(name: str) -> str:
    """Return `name`; UsageError if MLflow refuses a character in it.

    Examples
    --------
    >>> check_name("sales-2026")
    'sales-2026'
    """
    if not name.strip() or set(name) & set(REFUSED):
        raise UsageError(
            f"model name {name!r} must not be empty or hold one of {' '.join(REFUSED)}"
            " (MLflow's rule): use letters, digits and hyphens"
        )
    return name


def slug(text: str) -> str:
    """Return `text` as a part of a model's name: letters, digits, underscores, single hyphens.

    Examples
    --------
    >>> slug("file:data/cls.csv?target=y")
    'file-data-cls-csv-target-y'
    """
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")


def require_model(algorithm: str, kind: str) -> None:
    """Raise UsageError if a run in that kind of environment leaves no model to register."""
    if KINDS[kind].chooses == "system":
        raise UsageError(
            f"{algorithm} is a whole framework, which does not hand over what it found: fit"
            " AutoMLClassifier or AutoMLRegressor of leaseboard or the framework itself in Python,"
            " or register a policy such as rising-bandits"
        )


def winner_of(
    jobs: Iterable[Job], results: Iterable[Result], data: str
) -> tuple[Job, list[Result]]:
    """Return the winner of a suite's jobs on `data`; the first of several equal ones.

    These are the first repetition's job, whose model is registered, as the best one's would be
    chosen by luck, and the results of all, its own first.

    An algorithm cannot win if in any repetition it has no result, or one that is `barred`.

    Raises UsageError if no algorithm is left on these data.
    """
    jobs = [job for job in jobs if job.data == data]
    present = [result for result in results if result.data == data]
    found = {(r.name, r.repetition): r for r in present if not barred(r)}
    complete: dict[str, list[Result]] = {}
    for label in dict.fromkeys(job.name for job in jobs):
        mine = [job for job in jobs if job.name == label]
        scores = [found.get((job.name, job.repetition)) for job in mine]
        if all(scores):
            complete[label] = [result for result in scores if result is not None]
    if not complete:
        first = next((f" (first: {r.name}: {why})" for r in present if (why := barred(r))), "")
        raise UsageError(
            f"no algorithm has a score in every repetition on {data} that can be compared{first}:"
            " run the suite to its end, with an algorithm whose score can"
        )

    def cost(label: str) -> float:
        mean = math.fsum(result.score or 0.0 for result in complete[label])
        return (mean if complete[label][0].direction == "min" else -mean) / len(complete[label])

    label = min(complete, key=cost)
    return next(job for job in jobs if job.name == label), complete[label]


def model_of(
    job: Job, result: Result, *, mirrors: tuple[Path, ...] = (), learner: Any = None
) -> Fitted:
    """Return the model of an ``ok`` result, see `fit`; untrusted code makes it in a worker."""
    if not is_untrusted(job):
        return fit(job, result, mirrors=mirrors, learner=learner)
    with tempfile.TemporaryDirectory(prefix="leaseboard-") as name:
        folder = Path(name)
        (folder / RECORDED).write_text(json.dumps(plain(result)), encoding="utf-8")
        again = run_one(job, folder, key=result.key, mirrors=mirrors, work=REFIT).result
        if again.status != "ok":
            raise LeaseboardError(f"the model of {result.name}: {again.status}: {again.reason}")
        outcome = json.loads((folder / OUTCOME).read_text(encoding="utf-8"))
        if outcome["error"]:
            raise UsageError(outcome["error"])
        dataset = loading.load(job.data, mirrors=mirrors)
        return Fitted(load_file(folder / FILE), outcome["test"], dataset)


def refit_and_save(
    job: Job, folder: Path, *, mirrors: tuple[Path, ...] = ()
) -> tuple[Result, None]:
    """Save the model of the result that `model_of` put into `folder`, or why there is none."""
    result = Result(**json.loads((folder / RECORDED).read_text(encoding="utf-8")))
    outcome: dict[str, Any] = {"error": "", "test": None}
    try:
        fitted = fit(job, result, mirrors=mirrors)
        (folder / FILE).write_bytes(fitted.model.dump())
        outcome["test"] = fitted.test
    except LeaseboardError as failure:
        outcome["error"] = str(failure)
    (folder / OUTCOME).write_text(json.dumps(outcome), encoding="utf-8")
    return result, None


def fit(
    job: Job, result: Result, *, mirrors: tuple[Path, ...] = (), learner: Any = None
) -> Fitted:
    """Return the model of an ``ok`` result.

    - `result`: what `job` came to.
    - `learner`: what the run on a hold-out left; without it the run is repeated, which gives the
      same.

    Raises
    ------
    UsageError
        If the data are others now, or the run leaves no model.
    LeaseboardError
        If the repeated run does not come to the recorded score.
    """
    require_model(result.name, result.environment)
    dataset = loading.load(job.data, mirrors=mirrors)
    if dataset.digest != result.digest:
        raise UsageError(
            f"{job.data} has changed since {result.name} ran on it: run it again, then register"
        )
    from leaseboard.tasks.models import apple_model, chosen

    if result.environment != HoldoutEnvironment.kind:
        return Fitted(*chosen.fitted(dataset, job, result), dataset=dataset)
    if learner is None:
        with tempfile.TemporaryDirectory() as scratch:
            again, learner = run_job(job, Path(scratch), mirrors=mirrors)
        now, then = again.score, result.score
        if now is None or then is None or not math.isclose(now, then, rel_tol=REPEATED):
            raise LeaseboardError(
                f"{result.name} on {result.data} came to {now} now and to {then} when it was"
                " recorded: code or libraries have changed, run the suite again"
            )
    return Fitted(*apple_model.fitted(dataset, job, result, learner), dataset=dataset)

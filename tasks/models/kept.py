"""Ways to run a job whose code is foreign and keep its model, without that code in the parent.

Both are a `work` of the worker pool: they leave the model in the job's folder, as files without
pickles, from which the parent takes it.
"""

from __future__ import annotations

import json
from pathlib import Path

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs.job import Job, Result, plain
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.models.load import load
from leaseboard.tasks.models.winner import Fitted, fit

RUN, REFIT = (
    "leaseboard.tasks.models.kept:run_and_keep",
    "leaseboard.tasks.models.kept:refit_and_keep",
)
MODEL, WORD, LAID = "model", "model.told.json", "recorded.json"


def run_and_keep(job: Job, folder: Path, *, mirrors: tuple[Path, ...] = ()) -> tuple[Result, None]:
    """Run a job, and keep the model that it found if it is ``ok``."""
    result, learner = run_job(job, folder, mirrors=mirrors)
    if result.status == "ok":
        _keep(job, result, folder, mirrors, learner)
    return result, None


def refit_and_keep(
    job: Job, folder: Path, *, mirrors: tuple[Path, ...] = ()
) -> tuple[Result, None]:
    """Keep the model of the result that `lay` laid into `folder`."""
    result = Result(**json.loads((folder / LAID).read_text(encoding="utf-8")))
    _keep(job, result, folder, mirrors, None)
    return result, None


def lay(result: Result, folder: Path) -> None:
    """Put the result of an earlier run where `refit_and_keep` finds it."""
    (folder / LAID).write_text(json.dumps(plain(result)), encoding="utf-8")


def kept(job: Job, folder: Path, mirrors: tuple[Path, ...]) -> Fitted:
    """What was kept in `folder`; the error that was met there, if it was one."""
    told = json.loads((folder / WORD).read_text(encoding="utf-8"))
    if told["error"]:
        raise UsageError(told["error"])
    dataset = fetch.load(job.data, mirrors=mirrors)
    return Fitted(load(folder / MODEL), dataset, told["test"])


def _keep(
    job: Job, result: Result, folder: Path, mirrors: tuple[Path, ...], learner: object
) -> None:
    error, test = "", None
    try:
        fitted = fit(job, result, mirrors=mirrors, learner=learner)
        (folder / MODEL).mkdir()
        fitted.model.save(folder / MODEL)
        test = fitted.test
    except LeaseboardError as failure:  # costs the model, not the result
        error = str(failure)
    told = json.dumps({"error": error, "test": test})
    (folder / WORD).write_text(told, encoding="utf-8")

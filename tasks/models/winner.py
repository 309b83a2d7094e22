"""The winner of a suite on a dataset, and the name under which its model is registered."""

import math
import re
from collections.abc import Iterable

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.jobs.job import Job, Result

REFUSED = "/:.%\"'"
"""The characters that MLflow refuses in the name of a logged model."""


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

"""A job in this process whose failure is a result, not an exception."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from leaseboard.algorithms.errors import (
    DataUnavailableError,
    DivergedError,
    LeaseboardError,
    SkipError,
    UsageError,
)
from leaseboard.algorithms.user_files import place
from leaseboard.tasks.jobs.job import Job, Result, first_fault
from leaseboard.tasks.jobs.run import failed, run_job
from leaseboard.tasks.machine.addresses import discreet


def attempt(job: Job, folder: Path, *, mirrors: tuple[Path, ...] = ()) -> tuple[Result, Any, str]:
    """The result of `job`, its model, and the traceback if it crashed.

    Wrong usage and Ctrl-C are raised all the same.
    """
    try:
        result, model = run_job(job, folder, mirrors=mirrors)
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001  (SystemExit too, as in a suite's worker)
        status, reason = verdict(error)
        trace = discreet(traceback.format_exc()) if status in {"crash", "memout"} else ""
        return failed(job, status, reason), None, trace
    return result, model, ""


def verdict(error: BaseException) -> tuple[str, str]:
    """The status of a job that ended with `error`, and the reason in one line, no password in it.

    Results, MLflow, Prefect and terminals tell it on.
    """
    status, reason = _judged(error)
    return status, discreet(reason)


def _judged(error: BaseException) -> tuple[str, str]:
    match error:
        case DataUnavailableError() | SkipError():
            return "skipped", str(error)
        case DivergedError():
            return "diverged", str(error)
        case MemoryError():
            return "memout", "no memory could be allocated"
        case LeaseboardError():
            return "crash", str(error)
        case ValidationError():
            return "crash", f"{error.title}: {first_fault(error)}"
        case _:
            first = str(error).partition("\n")[0]
            return "crash", f"{type(error).__name__}: {first}".rstrip(": ") + place(error)

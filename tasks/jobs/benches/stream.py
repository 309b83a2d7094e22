"""The stream bench of a data set."""

from __future__ import annotations

from typing import Any

from leaseboard.algorithms.benches.stream import Stream, StreamBench
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.frameworks.sessions import StreamSession
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.preprocess import StreamOptions, as_stream

Options = StreamOptions
"""What ``job.bench`` may hold."""


def measure(options: Options) -> str:
    """Return what its scores measure: of which rows, and whether of the logarithm."""
    rows = "" if options.max_rows is None else f" of at most {options.max_rows} rows"
    log = "" if options.log_target == "code" else f" with log_target {options.log_target}"
    return f"progressive loss{rows}{log}"


def shared_by(options: Options, seed: int) -> dict[str, Any]:
    """All options, and the seed where it orders the rows."""
    return options.model_dump() | {"seed": seed if options.shuffle else None}


def parts(dataset: Dataset, options: Options, seed: int) -> Stream:
    """The stream."""
    return as_stream(dataset, options, seed)


def make(dataset: Dataset, job: Job, parts: Stream | None = None) -> StreamBench:
    """The bench of `job` on `dataset`, the first `job.budget` examples if that is given."""
    if job.budget is not None and (job.budget < 1 or job.budget != int(job.budget)):
        raise UsageError(f"budget {job.budget:g} must be a whole number of examples, at least 1")
    stream = parts or as_stream(dataset, Options(**job.bench), job.environment_seed)
    return StreamBench(
        stream,
        job.environment_seed,
        None if job.budget is None else int(job.budget),
        outside=StreamSession,
    )

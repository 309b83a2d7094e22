"""The stream environment of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.preprocess.streaming import StreamOptions, as_stream

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.frameworks.sessions import StreamSession

Options = StreamOptions
"""Options in ``job.environment``."""


def measure(options: Options) -> str:
    """Return what its scores measure: of which rows, and whether of the logarithm."""
    rows = "" if options.max_rows is None else f" of at most {options.max_rows} rows"
    log = f" with log_target {options.log_target}" if options.log_target else ""
    return f"progressive loss{rows}{log}"


def shared_by(options: Options, seed: int) -> dict[str, Any]:
    """Return all options, and the seed where it orders the rows."""
    return options.model_dump() | {"seed": seed if options.shuffle else None}


def parts(dataset: Dataset, options: Options, seed: int) -> Stream:
    """Return the stream."""
    return as_stream(dataset, options, seed)


def make(dataset: Dataset, job: Job, parts: Stream | None = None) -> StreamEnvironment:
    """Return the environment of `job` on `dataset`, or on the first `job.budget` examples."""
    examples = job.examples()  # before the data are encoded
    stream = parts or as_stream(dataset, Options(**job.environment), job.environment_seed)
    return StreamEnvironment(stream, job.environment_seed, examples, outside=_session)


def _session(system: str, learner: str, stream: Stream, seed: int) -> StreamSession:
    from leaseboard.tasks.evaluate.frameworks.sessions import StreamSession  # for frameworks alone

    return StreamSession(system, learner, stream, seed)

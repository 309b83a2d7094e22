"""The folds environment of a job: a dataset, drawn configurations, and the probe store."""

from typing import Annotated, Any

from pydantic import Field

from leaseboard.algorithms.environments.folds import FoldsEnvironment
from leaseboard.tasks.evaluate.learners import candidates
from leaseboard.tasks.evaluate.learners.candidates import CandidateOptions
from leaseboard.tasks.evaluate.probes import RecordedFolds, Rows, Samples, split
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.store.recorded import Store


class Options(CandidateOptions):
    """Options of the environment, which do not depend on the seed."""

    folds: Annotated[int, Field(ge=2)] = 5
    """Into how many parts the training rows are divided."""


def measure(options: Options) -> str:
    """Return what the scores measure."""
    return "test accuracy"


def identity(options: Options) -> str:
    """See `candidates.identity`."""
    return candidates.identity(options)


def shared_by(options: Options, seed: int) -> dict[str, Any]:
    """Return the seed and what divides the rows."""
    return options.model_dump(include={"test_fraction", "split"}) | {"seed": seed}


def parts(dataset: Dataset, options: Options, seed: int) -> Samples | None:
    """Return the rows in the order in which they are dealt out."""
    return split(dataset, seed, options.test_fraction).samples


def divided(dataset: Dataset, options: Options, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to test on."""
    return split(dataset, seed, options.test_fraction).rows()


def make(dataset: Dataset, job: Job, parts: Samples | None = None) -> FoldsEnvironment:
    """Return the environment of `job` on `dataset`; probes are recorded in the store."""
    options = Options(**job.environment)
    rows, drawn = candidates.on_split(dataset, options, job.environment_seed, parts)
    limit = options.probe_seconds
    folds = RecordedFolds(rows, drawn, Store(), folds=options.folds, probe_seconds=limit)
    return FoldsEnvironment(folds, job.environment_seed, job.budget)

"""The folds bench of a job: a data set, drawn configurations, and the probe store."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from leaseboard.algorithms.benches.folds import FoldsBench
from leaseboard.tasks.evaluate.learners import candidates
from leaseboard.tasks.evaluate.learners.candidates import CandidateOptions
from leaseboard.tasks.evaluate.probes.recorded import RecordedFolds
from leaseboard.tasks.evaluate.probes.sample_rows import Samples, split
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.store.recorded import Store


class Options(CandidateOptions):
    """What a job may set of its bench; all of it belongs to the environment, none to the seed."""

    folds: Annotated[int, Field(ge=2)] = 5
    """Into how many parts the training rows are divided."""


def measure(options: Options) -> str:
    """What its scores measure."""
    return "test accuracy"


def shared_by(options: Options, seed: int) -> dict[str, Any]:
    """The seed and the share of the rows to test on."""
    return options.model_dump(include={"test_fraction"}) | {"seed": seed}


def parts(dataset: Dataset, options: Options, seed: int) -> Samples | None:
    """The rows in the order in which they are dealt out."""
    return split(dataset, seed, options.test_fraction).samples


def make(dataset: Dataset, job: Job, parts: Samples | None = None) -> FoldsBench:
    """The bench of `job` on `dataset`; probes are recorded in the store."""
    options = Options(**job.bench)
    rows, drawn = candidates.on_split(dataset, options, job.environment_seed, parts)
    folds = RecordedFolds(
        rows,
        drawn.configurations,
        drawn.build,
        Store(),
        folds=options.folds,
        code=candidates.__name__,
        classes=drawn.classes,
        probe_seconds=options.probe_seconds,
        prepare=drawn.prepare,
    )
    return FoldsBench(folds, job.environment_seed, job.budget)

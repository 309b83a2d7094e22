"""The folds bench of a job: a data set, drawn configurations, and the probe store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from leaseboard.algorithms.benches.folds import FoldsBench
from leaseboard.tasks.evaluate.learners import candidates
from leaseboard.tasks.evaluate.probes.folded import RecordedFolds
from leaseboard.tasks.evaluate.probes.sampled import split
from leaseboard.tasks.evaluate.probes.split import Prefixes
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.jobs.benches import samples
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.store.recorded import Store


class Options(BaseModel):
    """What a job may set of its bench; all of it belongs to the environment, none to the seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folds: Annotated[int, Field(ge=2)] = 5
    """Into how many parts the training rows are divided."""
    configurations: Annotated[int, Field(ge=1)] = 20
    """How many are drawn; the first N of a longer draw are the shorter draw."""
    profile: Literal["bounded", "paper"] = "bounded"
    """The domains of the learners, see `leaseboard.tasks.evaluate.learners.spaces`."""
    pipelines: Path | None = None
    """A Python file with a list ``PIPELINES`` of scikit-learn classifiers, in place of the
    draw."""
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of rows that are in no fold: the choice is tested on them."""
    probe_seconds: Annotated[float, Field(gt=0)] = 3600.0
    """CPU seconds after which a fit is given up and its configuration has failed."""

    @property
    def sampled(self) -> samples.Options:
        """The options of the same split and configurations on the samples bench."""
        given = self.model_dump(exclude={"folds"}, exclude_unset=True)
        return samples.Options(**given)


def measure(options: Options) -> str:
    """What its scores measure."""
    return "test accuracy"


def shared_by(options: Options, seed: int) -> dict[str, Any]:
    """The seed and the share of the rows to test on."""
    return options.model_dump(include={"test_fraction"}) | {"seed": seed}


def parts(dataset: Dataset, options: Options, seed: int) -> Prefixes | None:
    """The rows in the order in which they are dealt out."""
    return split(dataset, seed, options.test_fraction).samples


def make(dataset: Dataset, job: Job, parts: Prefixes | None = None) -> FoldsBench:
    """The bench of `job` on `dataset`; probes are recorded in the store."""
    options = Options(**job.bench)
    rows, drawn = candidates.on_split(dataset, options.sampled, job.environment_seed, parts)
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

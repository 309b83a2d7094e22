"""The environments that evaluate what is given: drawn configurations, or whole frameworks.

They are ``samples`` and ``folds``, whose probes are recorded, and ``systems``: a fifth of the rows
is predicted from the others.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from leaseboard.algorithms.environments.holdout import SystemsEnvironment
from leaseboard.algorithms.environments.samples import FoldsEnvironment, Probes, SamplesEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate import learners
from leaseboard.tasks.evaluate.frameworks import SearchSession, SystemFits
from leaseboard.tasks.evaluate.learners import CandidateOptions
from leaseboard.tasks.evaluate.probes import RecordedProbes, RecordedVerdicts, Samples, split
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments import KindOptions
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.preprocess import splits
from leaseboard.tasks.preprocess.encoders import labels_of
from leaseboard.tasks.preprocess.splits import Rows, SplitOptions
from leaseboard.tasks.store.database import Store


class SelectionOptions(KindOptions, CandidateOptions):
    """Options of an environment whose rows are dealt out to drawn configurations."""

    def measure(self) -> str:
        """Return what the scores measure."""
        return "test accuracy"

    def identity(self) -> str:
        """See `learners.identity`."""
        return learners.identity()

    def shared_by(self, seed: int) -> Any:
        """Return the seed and what divides the rows."""
        return self.model_dump(include={"protocol", "test_fraction", "split"}) | {"seed": seed}

    def parts(self, dataset: Dataset, seed: int) -> Samples | None:
        """Return the rows in the order in which they are dealt out."""
        return split(dataset, seed, self.test_fraction).samples

    def divided(self, dataset: Dataset, seed: int) -> tuple[Rows, ...]:
        """Return the rows to train on and those to test on."""
        return split(dataset, seed, self.test_fraction).rows()


class SampleOptions(SelectionOptions):
    """Options of the environment, which do not depend on the seed."""

    protocol: Literal["train", "verdicts"] = "train"
    """``train``: learners are trained on the data. ``verdicts``: the data are verdicts, a column
    for each configuration, 1 in the rows where it is right and 0 in the others."""
    initial_rows: Annotated[int, Field(ge=1)] = 1000
    """Training rows of a first probe."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        trained = self.model_fields_set & {*CandidateOptions.model_fields} - {"test_fraction"}
        if self.protocol == "verdicts" and trained:
            raise ValueError(f"verdicts are taken unchanged: remove {', '.join(sorted(trained))}")
        return self

    def identity(self) -> str:
        """Return nothing of verdicts, which have no candidates."""
        return "" if self.protocol == "verdicts" else super().identity()

    def parts(self, dataset: Dataset, seed: int) -> Samples | None:
        """Return nothing of verdicts, which need no samples."""
        return None if self.protocol == "verdicts" else super().parts(dataset, seed)

    def divided(self, dataset: Dataset, seed: int) -> tuple[Rows, ...]:
        """Return nothing of verdicts, which have no rows to learn from."""
        return () if self.protocol == "verdicts" else super().divided(dataset, seed)

    def make(self, dataset: Dataset, job: Job, parts: Samples | None = None) -> SamplesEnvironment:
        """Return the environment of `job` on `dataset`; probes are recorded in the store."""
        seed = job.environment_seed
        if self.protocol == "verdicts":
            probes: Probes = RecordedVerdicts(dataset.features, seed, self.test_fraction)
        else:
            fits = learners.on_split(dataset, self, seed, parts)
            probes = RecordedProbes(*fits, Store(), probe_seconds=self.probe_seconds)
        return SamplesEnvironment(probes, job.budget, self.initial_rows, SearchSession)


class FoldOptions(SelectionOptions):
    """Options of the environment, which do not depend on the seed."""

    folds: Annotated[int, Field(ge=2)] = 5
    """Into how many parts the training rows are divided."""

    def make(self, dataset: Dataset, job: Job, parts: Samples | None = None) -> FoldsEnvironment:
        """Return the environment of `job` on `dataset`; probes are recorded in the store."""
        fits = learners.on_split(dataset, self, job.environment_seed, parts)
        probes = RecordedProbes(*fits, Store(), probe_seconds=self.probe_seconds)
        return FoldsEnvironment(probes, self.folds, job.budget)


DEFAULT_BUDGET = 30.0


class SystemOptions(KindOptions, SplitOptions):
    """Options that divide a dataset into training and test rows."""

    test_share: float = Field(default=0.2, gt=0, lt=1)
    """Share of the rows that are held out, of each class alike; all others are learned from."""

    def measure(self) -> str:
        """Return what the scores measure."""
        return "test score"

    def divided(self, dataset: Dataset, seed: int) -> tuple[Rows, Rows]:
        """Return the rows to train on and those to test on."""
        rows = splits.split(dataset, (1 - self.test_share, self.test_share), seed)
        return rows.train, rows.test

    def make(self, dataset: Dataset, job: Job, parts: None = None) -> SystemsEnvironment:
        """Return the environment of `job` on `dataset`; the budget is in CPU seconds."""
        seed = job.environment_seed
        train, test = self.divided(dataset, seed)
        if dataset.task == "classification" and dataset.target.nunique() < 2:
            raise UsageError(f"{job.data} has one class: nothing to learn")
        by = self.model_dump() | {"seed": seed}
        return SystemsEnvironment(
            SystemFits(dataset, train, test, split=by, store=Store()),
            labels_of(dataset)[test].astype(np.float64),
            dataset.task,
            DEFAULT_BUDGET if job.budget is None else job.budget,
        )

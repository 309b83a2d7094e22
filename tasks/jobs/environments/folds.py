"""The folds environment of a job: a dataset, drawn configurations, and the probe store."""

from typing import Annotated

from pydantic import Field

from leaseboard.algorithms.environments.samples import FoldsEnvironment
from leaseboard.tasks.evaluate import learners
from leaseboard.tasks.evaluate.probes import RecordedProbes, Samples
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments.samples import SelectionOptions
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.store.database import Store


class Options(SelectionOptions):
    """Options of the environment, which do not depend on the seed."""

    folds: Annotated[int, Field(ge=2)] = 5
    """Into how many parts the training rows are divided."""

    def make(self, dataset: Dataset, job: Job, parts: Samples | None = None) -> FoldsEnvironment:
        """Return the environment of `job` on `dataset`; probes are recorded in the store."""
        fits = learners.on_split(dataset, self, job.environment_seed, parts)
        probes = RecordedProbes(*fits, Store(), probe_seconds=self.probe_seconds)
        return FoldsEnvironment(probes, self.folds, job.environment_seed, job.budget)

"""Environment of whole frameworks: a fifth of the rows is predicted from the others."""

import numpy as np
from pydantic import Field

from leaseboard.algorithms.environments.holdout import SystemsEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.frameworks import SystemFits
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments import KindOptions
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.preprocess import splits
from leaseboard.tasks.preprocess.encoders import labels_of
from leaseboard.tasks.store.database import Store

DEFAULT_BUDGET = 30.0


class Options(KindOptions, splits.SplitOptions):
    """Options that divide a dataset into training and test rows."""

    test_share: float = Field(default=0.2, gt=0, lt=1)
    """Share of the rows that are held out, of each class alike; all others are learned from."""

    def measure(self) -> str:
        """Return what the scores measure."""
        return "test score"

    def divided(self, dataset: Dataset, seed: int) -> tuple[splits.Rows, splits.Rows]:
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

"""The systems bench of a data set: all rows but a fifth to learn from, that fifth to forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from leaseboard.algorithms.benches.systems import SystemsBench
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.frameworks.runs import ESTIMATORS, SystemFits, truth
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.preprocess.splits import split
from leaseboard.tasks.store.recorded import Store

if TYPE_CHECKING:
    from leaseboard.tasks.fetch import Dataset
    from leaseboard.tasks.jobs.job import Job

DEFAULT_BUDGET = 30.0


class Options(BaseModel):
    """How a data set becomes training and test rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    test_share: float = Field(default=0.2, gt=0, lt=1)
    """Share of the rows that are held out, of each class alike; all others are learned from."""


def measure(options: Options) -> str:
    """What its scores measure."""
    return "test score"


def identity(options: Options) -> str:
    """Our own estimators' code, which the bench knows by name alone."""
    code: str = recorded_key(code=(ESTIMATORS,))["code"]
    return code


def make(dataset: Dataset, job: Job, parts: None = None) -> SystemsBench:
    """The bench of `job` on `dataset`; the budget is in CPU seconds."""
    share = Options(**job.bench).test_share
    rows = split(dataset, (1 - share, share), job.environment_seed)
    if dataset.task == "classification" and dataset.target.nunique() < 2:
        raise UsageError(f"{job.data} has one class: nothing to learn")
    return SystemsBench(
        SystemFits(
            dataset,
            rows.train,
            rows.test,
            split={"seed": job.environment_seed, "test_share": share},
            store=Store(),
        ),
        truth(dataset)[rows.test].astype(np.float64),
        dataset.task,
        DEFAULT_BUDGET if job.budget is None else job.budget,
        job.environment_seed,
    )

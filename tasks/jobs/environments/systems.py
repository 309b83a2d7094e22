"""The systems environment of a dataset: a fifth of the rows is predicted from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from leaseboard.algorithms.environments.systems import SystemsEnvironment
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.frameworks.runs import ESTIMATORS, SystemFits
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.preprocess.encoders import labels_of
from leaseboard.tasks.preprocess.splits import Rows, SplitOptions, split
from leaseboard.tasks.store.recorded import Store

if TYPE_CHECKING:
    from leaseboard.tasks.fetch.dataset import Dataset
    from leaseboard.tasks.jobs.job import Job

DEFAULT_BUDGET = 30.0


class Options(SplitOptions):
    """Options that divide a dataset into training and test rows."""

    test_share: float = Field(default=0.2, gt=0, lt=1)
    """Share of the rows that are held out, of each class alike; all others are learned from."""


def measure(options: Options) -> str:
    """Return what the scores measure."""
    return "test score"


def identity(options: Options) -> str:
    """Return the version of our own estimators' code, which options do not name."""
    return recorded_key(code=(ESTIMATORS,))["code"]


def divided(dataset: Dataset, options: Options, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to test on."""
    rows = split(dataset, (1 - options.test_share, options.test_share), seed)
    return rows.train, rows.test


def make(dataset: Dataset, job: Job, parts: None = None) -> SystemsEnvironment:
    """Return the environment of `job` on `dataset`; the budget is in CPU seconds."""
    options = Options(**job.environment)
    train, test = divided(dataset, options, job.environment_seed)
    if dataset.task == "classification" and dataset.target.nunique() < 2:
        raise UsageError(f"{job.data} has one class: nothing to learn")
    return SystemsEnvironment(
        SystemFits(
            dataset,
            train,
            test,
            split=options.model_dump() | {"seed": job.environment_seed},
            store=Store(),
        ),
        labels_of(dataset)[test].astype(np.float64),
        dataset.task,
        DEFAULT_BUDGET if job.budget is None else job.budget,
        job.environment_seed,
    )

"""The pulls environment of a dataset: a space of arms whose trials come from the trial store."""

from functools import cache, partial
from typing import Any, Literal

from pydantic import Field

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.pulls import PullsEnvironment, Trials, Unit
from leaseboard.algorithms.errors import SettingError, UsageError, unknown
from leaseboard.algorithms.policy import JointSpace
from leaseboard.algorithms.seeds import derive_seed, generator
from leaseboard.tasks.evaluate import spaces, trials
from leaseboard.tasks.evaluate.replay import StoredTrials, TableTrials
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments import KindOptions
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.preprocess import splits
from leaseboard.tasks.preprocess.encoders import Scale
from leaseboard.tasks.processes.child import Limits
from leaseboard.tasks.store.database import Store

DEFAULT_BUDGET: dict[Unit, float] = {"trials": 200.0, "cpu_seconds": 60.0, "wall_seconds": 60.0}
RECORDED = ("table", "curves")
"""Protocols whose data are the feedbacks: nothing is trained."""


class Options(KindOptions, splits.SplitOptions):
    """Options of a suite for the environment."""

    space: str = ""
    """A space of ``conf/spaces`` or a YAML file; empty: `spaces.SUITED` for the data's task."""
    arms: list[str] | None = Field(default=None, min_length=1)
    """Only these arms of the space, in this order."""
    permuted: bool = False
    """Whether a repetition has the arms in an order of its own, so that none is always first."""
    optimiser: Literal["tpe", "random", "smac"] = "tpe"
    """What tunes an arm."""
    unit: Unit = "trials"
    """What the budget counts; seconds are those recorded when a trial was run."""
    protocol: Literal["holdout", "cv", "table", "curves"] = "holdout"
    """``holdout``: 64 % training, 16 % validation, 20 % test, as in Rising Bandits. ``cv``: the
    mean of stratified folds, as in ER-UCB, and the test score of a fit on all of them. ``table``:
    the data are the feedbacks themselves, a column for each arm and a row for each pull; a
    repetition draws its rows at random. ``curves``: the same with the rows in order, as an
    optimiser's best values rise."""
    folds: int = Field(default=5, ge=2)
    """Of ``cv``."""
    split_column: str | None = None
    """A column that says ``train`` or ``test`` of each row, for ``cv``."""
    scale: Scale = "none"
    """Whether numbers are standardised; the papers do not."""
    trial_cpu_seconds: float = Field(default=60.0, gt=0)
    """CPU seconds of one trial, beyond which it is stopped."""
    trial_memory_mb: int = Field(default=4000, ge=200)
    """Megabytes, for one trial."""

    def check_names(self) -> None:
        """Raise SettingError for a space that does not exist, or an arm that it does not have."""
        for key, arms in (("space", None), ("arms", self.arms)):
            try:
                if self.space and key in self.model_fields_set:
                    spaces.searched(self.space, arms)
            except UsageError as error:
                raise SettingError(error, key) from error

    def measure(self) -> str:
        """Return what the scores measure."""
        return "best feedback" if self.protocol in RECORDED else "validation score"

    def divided(self, dataset: Dataset, seed: int) -> tuple[trials.Rows, ...]:
        """Return the rows to train on, to validate on and to test on; feedbacks have none."""
        if self.protocol in RECORDED:
            return ()
        _, rows = trials.scored(dataset, seed, self.protocol, self.split_column)
        return rows.train, rows.validation, rows.test

    def identity(self) -> str:
        """Return the content of the space, so that another content is another job.

        It covers each possible space, since the task of the data is unknown before they are read.
        """
        if self.protocol in RECORDED:
            return ""
        return "".join(map(spaces.digest, spaces.searched(self.space, self.arms)))

    def make(self, dataset: Dataset, job: Job, parts: None = None) -> PullsEnvironment:
        """Return the environment of `job`; nothing is encoded or run until a trial is missing."""
        budget = DEFAULT_BUDGET[self.unit] if job.budget is None else job.budget
        trials: Trials
        if self.protocol in RECORDED:
            if self.unit != "trials":
                raise UsageError(f"a table's feedbacks cost no {self.unit}: use unit=trials")
            seed = job.environment_seed if self.protocol == "table" else None
            trials, metric = TableTrials(dataset.features, seed), "best_feedback"
        else:
            trials = stored_trials(dataset, self, job.environment_seed)
            regression = dataset.task == "regression"
            metric = "validation_reward" if regression else "validation_accuracy"
        joint = issubclass(registry.algorithm_class(job.algorithm), JointSpace)
        if not joint and self.unit == "trials" and budget < len(trials.arms):
            raise UsageError(
                f"a budget of {budget:g} trials is smaller than the {len(trials.arms)} arms, and"
                f" policies pull each once at first: give at least {len(trials.arms)}"
            )
        return PullsEnvironment(trials, budget, self.unit, metric)


def stored_trials(dataset: Dataset, options: Options, seed: int) -> StoredTrials:
    """Return the trials of a dataset under `options`, with the split and optimisers of `seed`."""
    space = space_for(dataset, options)
    if options.permuted:
        names = list(space.arms)
        order = generator(seed, "arms").permutation(len(names))
        space = space.restricted([names[arm] for arm in order])
    if options.protocol == "cv" and dataset.task == "regression":
        raise UsageError("protocol=cv is for classification: use protocol=holdout")
    split: dict[str, Any] = {"protocol": options.protocol, "seed": seed, "by": dataset.split}
    arrays = partial(trials.holdout, dataset, seed, options.scale)
    if options.protocol == "cv":
        if options.split_column not in (None, *dataset.features.columns):
            raise unknown("split column", str(options.split_column), dataset.features.columns)
        split |= {"folds": options.folds, "column": options.split_column}
        if options.split_column is not None:
            del split["seed"]  # the rows are the data's own, for any seed
        given = options.folds, options.split_column, options.scale
        arrays = partial(trials.cross_validation, dataset, seed, *given)
    return StoredTrials(
        space=space,
        optimiser=options.optimiser,
        seed=derive_seed(seed, "trials"),
        data={"digest": dataset.digest, "split": split, "scale": options.scale},
        arrays=cache(arrays),
        store=Store(),
        limits=Limits(cpu_seconds=options.trial_cpu_seconds, memory_mb=options.trial_memory_mb),
    )


def space_for(dataset: Dataset, options: Options) -> spaces.Space:
    """Return the space that is searched on `dataset`; UsageError for one of another task."""
    suited = spaces.SUITED[dataset.task]
    space = spaces.load_space(options.space or suited)
    if dataset.task != space.task:
        raise UsageError(
            f"{dataset.reference} is a {dataset.task} and space {options.space} is for"
            f" {space.task}: name one for a {dataset.task}, --set space={suited}, or leave it out"
        )
    return space if options.arms is None else space.restricted(options.arms)

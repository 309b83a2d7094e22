"""Environment whose drawn configurations are trained on samples; its probes are recorded."""

from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from leaseboard.algorithms.environments.samples import Probes, SamplesEnvironment
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.evaluate import learners
from leaseboard.tasks.evaluate.frameworks import SearchSession
from leaseboard.tasks.evaluate.probes import (
    Build,
    RecordedProbes,
    RecordedVerdicts,
    Samples,
    Shuffled,
    split,
)
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.environments import KindOptions
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.preprocess.splits import Rows, SplitOptions
from leaseboard.tasks.store.database import Store


class Options(KindOptions, SplitOptions):
    """Options of the environment, which do not depend on the seed."""

    configurations: Annotated[int, Field(ge=1)] = 20
    """Number of drawn ones; the first N of a longer draw are the shorter draw."""
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of rows that no configuration is trained on: the choice is tested on them."""
    probe_seconds: Annotated[float, Field(gt=0)] = 3600.0
    """CPU seconds after which a fit is given up and its configuration has failed."""
    protocol: Literal["train", "verdicts"] = "train"
    """``train``: learners are trained on the data. ``verdicts``: the data are verdicts, a column
    for each configuration, 1 in the rows where it is right and 0 in the others."""
    initial_rows: Annotated[int, Field(ge=1)] = 1000
    """Training rows of a first probe."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        trained = self.model_fields_set & {"configurations", "probe_seconds", "split"}
        if self.protocol == "verdicts" and trained:
            raise ValueError(f"verdicts are taken unchanged: remove {', '.join(sorted(trained))}")
        return self

    def measure(self) -> str:
        """Return what the scores measure."""
        return "test accuracy"

    def identity(self) -> str:
        """See `learners.identity`; nothing of verdicts, which have no candidates."""
        return "" if self.protocol == "verdicts" else learners.identity()

    def shared_by(self, seed: int) -> Any:
        """Return the seed and what divides the rows."""
        return self.model_dump(include={"protocol", "test_fraction", "split"}) | {"seed": seed}

    def parts(self, dataset: Dataset, seed: int) -> Samples | None:
        """Return the rows in the order in which they are dealt out; nothing of verdicts."""
        if self.protocol == "verdicts":
            return None
        return split(dataset, seed, self.test_fraction).samples

    def divided(self, dataset: Dataset, seed: int) -> tuple[Rows, ...]:
        """Return the rows to train on and those to test on; verdicts have none to learn from."""
        if self.protocol == "verdicts":
            return ()
        return split(dataset, seed, self.test_fraction).rows()

    def candidates(
        self, dataset: Dataset, seed: int, made: Samples | None = None
    ) -> tuple[Shuffled, list[Parameters], Build]:
        """Return the rows of a dataset by a seed, the configurations on them, and their builder.

        The same seed draws and builds the same ones; see `split`.
        """
        drawn = learners.draw_configurations(self.configurations, seed)
        build = partial(learners.build, seed=derive_seed(seed, "learner"))
        return split(dataset, seed, self.test_fraction, made), drawn, build

    def make(self, dataset: Dataset, job: Job, parts: Samples | None = None) -> SamplesEnvironment:
        """Return the environment of `job` on `dataset`; probes are recorded in the store."""
        seed = job.environment_seed
        if self.protocol == "verdicts":
            probes: Probes = RecordedVerdicts(dataset.features, seed, self.test_fraction)
        else:
            found = self.candidates(dataset, seed, parts)
            probes = RecordedProbes(*found, Store(), probe_seconds=self.probe_seconds)
        return SamplesEnvironment(probes, job.budget, self.initial_rows, SearchSession)

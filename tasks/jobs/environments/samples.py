"""The samples environment of a job: a dataset, drawn configurations, and the probe store."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from leaseboard.algorithms.environments.samples import Probes, SamplesEnvironment
from leaseboard.tasks.evaluate.frameworks.sessions import SearchSession
from leaseboard.tasks.evaluate.learners import candidates
from leaseboard.tasks.evaluate.learners.candidates import CandidateOptions
from leaseboard.tasks.evaluate.probes import (
    RecordedProbes,
    RecordedVerdicts,
    Rows,
    Samples,
    split,
)
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.store.recorded import Store


class Options(CandidateOptions):
    """Options of the environment, which do not depend on the seed."""

    protocol: Literal["train", "verdicts"] = "train"
    """``train``: learners are trained on the data. ``verdicts``: the data are verdicts, a column
    for each configuration, 1 in the rows where it is right and 0 in the others."""
    initial_rows: Annotated[int, Field(ge=1)] = 1000
    """Training rows of a first probe."""
    unit: Literal["rows", "seconds"] = "rows"
    """What the job's budget counts."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        trained = self.model_fields_set & {*CandidateOptions.model_fields} - {"test_fraction"}
        if self.protocol == "verdicts" and trained:
            raise ValueError(f"verdicts are taken unchanged: remove {', '.join(sorted(trained))}")
        return self


def measure(options: Options) -> str:
    """Return what the scores measure."""
    return "test accuracy"


def identity(options: Options) -> str:
    """See `candidates.identity`; verdicts have no candidates."""
    return "" if options.protocol == "verdicts" else candidates.identity(options)


def shared_by(options: Options, seed: int) -> dict[str, Any]:
    """Return the seed and what divides the rows."""
    return options.model_dump(include={"protocol", "test_fraction", "split"}) | {"seed": seed}


def parts(dataset: Dataset, options: Options, seed: int) -> Samples | None:
    """Return the array whose prefixes are the samples; verdicts need none."""
    if options.protocol == "verdicts":
        return None
    return split(dataset, seed, options.test_fraction).samples


def divided(dataset: Dataset, options: Options, seed: int) -> tuple[Rows, ...]:
    """Return the rows to train on and those to test on; verdicts have none."""
    if options.protocol == "verdicts":
        return ()
    return split(dataset, seed, options.test_fraction).rows()


def make(dataset: Dataset, job: Job, parts: Samples | None = None) -> SamplesEnvironment:
    """Return the environment of `job` on `dataset`; probes are recorded in the store."""
    options, seed = Options(**job.environment), job.environment_seed
    if options.protocol == "verdicts":
        probes: Probes = RecordedVerdicts(dataset.features, seed, options.test_fraction)
    else:
        rows, drawn = candidates.on_split(dataset, options, seed, parts)
        probes = RecordedProbes(rows, drawn, Store(), probe_seconds=options.probe_seconds)
    return SamplesEnvironment(
        probes, seed, job.budget, options.unit, options.initial_rows, SearchSession
    )

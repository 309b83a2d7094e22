"""The samples bench of a job: a data set, drawn configurations, and the probe store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from leaseboard.algorithms.benches.samples import SamplesBench
from leaseboard.tasks.evaluate.frameworks.sessions import SearchFrameworks
from leaseboard.tasks.evaluate.learners import candidates
from leaseboard.tasks.evaluate.probes.client import RecordedProbes
from leaseboard.tasks.evaluate.probes.sampled import split
from leaseboard.tasks.evaluate.probes.split import Prefixes
from leaseboard.tasks.evaluate.probes.verdicts import RecordedVerdicts
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.store.recorded import Store


class Options(BaseModel):
    """What a job may set of its bench; all of it belongs to the environment, none to the seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    protocol: Literal["train", "verdicts"] = "train"
    """``train``: learners are trained on the data. ``verdicts``: the data are verdicts, a column
    for each configuration, 1 in the rows where it is right and 0 in the others."""
    configurations: Annotated[int, Field(ge=1)] = 20
    """How many are drawn; the first N of a longer draw are the shorter draw."""
    profile: Literal["bounded", "paper"] = "bounded"
    """The domains of the learners, see `leaseboard.tasks.evaluate.learners.spaces`."""
    pipelines: Path | None = None
    """A Python file with a list ``PIPELINES`` of scikit-learn classifiers, in place of the
    draw."""
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of rows that are D_te."""
    initial_rows: Annotated[int, Field(ge=1)] = 1000
    """Training rows of a first probe."""
    unit: Literal["rows", "seconds"] = "rows"
    """What the job's budget counts."""
    shared_bins: bool = False
    """LightGBM bins the features of all training rows once, as set-up that nobody is charged for;
    then for Full-run too."""
    probe_seconds: Annotated[float, Field(gt=0)] = 3600.0
    """CPU seconds after which a probe is given up and its configuration has failed."""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        drawn = self.model_fields_set & {"configurations", "profile", "shared_bins"}
        if self.pipelines is not None and self.pipelines.suffix != ".py":
            raise ValueError(f"{str(self.pipelines)!r} is no Python file: name a .py of pipelines")
        if self.pipelines is not None and drawn:
            raise ValueError(f"pipelines are taken as they are: remove {', '.join(sorted(drawn))}")
        trained = drawn | self.model_fields_set & {"pipelines", "probe_seconds"}
        if self.protocol == "verdicts" and trained:
            raise ValueError(
                f"verdicts are taken as they are: remove {', '.join(sorted(trained))}"
            )
        return self


def measure(options: Options) -> str:
    """What its scores measure."""
    return "test accuracy"


def shared_by(options: Options, seed: int) -> dict[str, Any]:
    """The seed and the share of the rows to test on."""
    return options.model_dump(include={"protocol", "test_fraction"}) | {"seed": seed}


def parts(dataset: Dataset, options: Options, seed: int) -> Prefixes | None:
    """The array whose prefixes are the samples; verdicts need none."""
    if options.protocol == "verdicts":
        return None
    return split(dataset, seed, options.test_fraction).samples


def make(dataset: Dataset, job: Job, parts: Prefixes | None = None) -> SamplesBench:
    """The bench of `job` on `dataset`; probes are recorded in the store."""
    options = Options(**job.bench)
    if options.protocol == "verdicts":
        verdicts = RecordedVerdicts(dataset.features, job.environment_seed, options.test_fraction)
        return SamplesBench(
            verdicts,
            job.environment_seed,
            job.budget,
            options.unit,
            options.initial_rows,
            SearchFrameworks(),
        )
    rows, drawn = candidates.on_split(dataset, options, job.environment_seed, parts)
    probes = RecordedProbes(
        rows,
        drawn.configurations,
        drawn.build,
        Store(),
        code=candidates.__name__,
        classes=drawn.classes,
        probe_seconds=options.probe_seconds,
        variant="shared bins" if options.shared_bins else "",
        prepare=drawn.prepare,
    )
    return SamplesBench(
        probes,
        job.environment_seed,
        job.budget,
        options.unit,
        options.initial_rows,
        SearchFrameworks(),
    )

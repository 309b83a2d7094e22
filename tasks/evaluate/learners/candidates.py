"""The configurations that are chosen from: drawn by a seed, or a user's own pipelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.evaluate.probes.fitting import Classifier
from leaseboard.tasks.evaluate.probes.recording import Build
from leaseboard.tasks.evaluate.probes.sampled import split
from leaseboard.tasks.evaluate.probes.split import Prefixes, Shuffled
from leaseboard.tasks.fetch import Dataset

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.learners.shared_bins import SharedBins


class Wanted(Protocol):
    """Which configurations are wanted, as the options of a bench say."""

    @property
    def configurations(self) -> int:
        """How many are drawn."""

    @property
    def profile(self) -> str:
        """The domains of the learners."""

    @property
    def pipelines(self) -> Path | None:
        """A file of pipelines, in place of the draw."""

    @property
    def test_fraction(self) -> float:
        """The share of rows to test on."""

    @property
    def shared_bins(self) -> bool:
        """Whether LightGBM bins all training rows once."""


@dataclass(frozen=True, slots=True)
class GivenConfigurations:
    """The configurations, what builds them, and what to make before the first is built."""

    configurations: list[Parameters]
    build: Build
    prepare: Callable[[], object] = lambda: None
    classes: Sequence[str] = ()


def on_split(
    dataset: Dataset, wanted: Wanted, seed: int, made: Prefixes | None = None
) -> tuple[Shuffled, GivenConfigurations]:
    """The rows of a data set by a seed, and those that are `wanted` on them; see `split`."""
    rows = split(dataset, seed, wanted.test_fraction, made)
    return rows, candidates(wanted, rows, seed)


def candidates(wanted: Wanted, rows: Shuffled, seed: int) -> GivenConfigurations:
    """Those that are `wanted` on a split; the same seed draws and builds the same ones."""
    if wanted.pipelines is not None:
        from leaseboard.tasks.evaluate.learners import pipelines

        own = pipelines.read(wanted.pipelines)
        return GivenConfigurations(own.configurations(), own.build, classes=own.classes())

    from leaseboard.tasks.evaluate.learners import spaces

    learner_seed = derive_seed(seed, "learner")
    drawn = spaces.draw_configurations(wanted.profile, wanted.configurations, seed)

    def build(parameters: Parameters) -> Classifier:
        from leaseboard.tasks.evaluate.learners.build import build

        model: Classifier = build(parameters, learner_seed)
        return model

    if not wanted.shared_bins:
        return GivenConfigurations(drawn, build, prepare=_import_learners)

    @cache
    def bins() -> SharedBins:
        from leaseboard.tasks.evaluate.learners.shared_bins import SharedBins

        return SharedBins(*rows.samples.train(rows.train_rows))

    def build_on_bins(parameters: Parameters) -> Classifier:
        if parameters["learner"] == "LightGBM":
            return bins().classifier(parameters, learner_seed)
        return build(parameters)

    def prepare() -> None:
        _import_learners()
        bins()

    return GivenConfigurations(drawn, build_on_bins, prepare)


def _import_learners() -> None:
    """Load the learners' libraries before a probe's process is forked; a replay needs none."""
    import leaseboard.tasks.evaluate.learners.build  # noqa: F401

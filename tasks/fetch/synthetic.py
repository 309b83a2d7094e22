"""Synthetic data sets, drawn from a seed.

Rows are drawn in blocks of `BLOCK`, each from its own generator derived from the seed and the
block's number. So memory beside the result stays small, and a shorter stream is the beginning
of a longer one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.random import default_rng

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.fetch import generators, references
from leaseboard.tasks.fetch.dataset import RawTable
from leaseboard.tasks.fetch.generators import Columns, Stretch
from leaseboard.tasks.fetch.references import Reference

BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Maker:
    """A generator: what draws a block, how many rows it has by default, and its task."""

    draw: Callable[..., Columns]
    rows: int
    task: str

    def options(self) -> dict[str, float]:
        """Its own options with their defaults."""
        parameters = inspect.signature(self.draw).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def summary(self) -> str:
        """The first line of the generator's docstring."""
        return (inspect.getdoc(self.draw) or "").partition("\n")[0]


GENERATORS = {
    "2dplanes": Maker(generators.planes, 40_768, "regression"),
    "fried": Maker(generators.fried, 40_768, "regression"),
    "fried-drift": Maker(generators.fried_drift, 40_768, "regression"),
    "mv": Maker(generators.mv, 40_768, "regression"),
    "waveform": Maker(generators.waveform, 5_000, "classification"),
    "separated": Maker(generators.separated, 100_000, "classification"),
    "seven-gaussians": Maker(generators.seven_gaussians, 100_000, "regression"),
    "rising-arms": Maker(generators.rising_arms, 1_000, "regression"),
    "near-ties": Maker(generators.near_ties, 2_500, "regression"),
    "ambush": Maker(generators.ambush, 500, "regression"),
}


def own_options(name: str) -> tuple[str, ...]:
    """The options that generator `name` takes beside the general ones."""
    return ("seed", *_maker(name).options())


def read(reference: Reference) -> RawTable:
    """Draw the set that `reference` describes; rows and seed have defaults."""
    maker = _maker(reference.name)
    rows = references.whole_number(reference, "rows", least=1) or maker.rows
    seed = references.whole_number(reference, "seed", least=0) or 0
    own = {key: _option(reference, key, default) for key, default in maker.options().items()}
    frame = _assemble(partial(maker.draw, **own), rows, seed)
    return RawTable(frame, reference.name, task=maker.task, source=f"generator: {maker.summary()}")


def _maker(name: str) -> Maker:
    if name not in GENERATORS:
        raise unknown("generator", name, GENERATORS)
    return GENERATORS[name]


def _option(reference: Reference, key: str, default: float) -> float:
    if isinstance(default, int):
        value = references.whole_number(reference, key, least=1)
    else:
        value = references.number(reference, key)
    if value is not None and value < 0:
        raise UsageError(f"{key}={value:g} of {reference}: must not be negative")
    return default if value is None else value


def _blocks(rows: int, seed: int) -> Iterator[Stretch]:
    for number, start in enumerate(range(0, rows, BLOCK)):
        # Drawn whole and cut afterwards: a shorter stream begins a longer one.
        yield Stretch(start, BLOCK, seed, default_rng([seed, number]))


def _assemble(draw: Callable[[Stretch], Columns], rows: int, seed: int) -> pd.DataFrame:
    """Draw all blocks into columns of `rows` values, which are the only copy in memory."""
    made: Columns = {}
    categories: dict[str, list[str]] = {}
    for block in _blocks(rows, seed):
        stop = min(block.start + block.size, rows)
        for name, drawn in draw(block).items():
            values = drawn
            if isinstance(drawn, tuple):
                values, categories[name] = np.asarray(drawn[0], dtype=np.int8), list(drawn[1])
            if name not in made:
                made[name] = np.empty(rows, dtype=values.dtype)
            made[name][block.start : stop] = values[: stop - block.start]
    for name, labels in categories.items():
        made[name] = pd.Categorical.from_codes(made[name], labels)
    return pd.DataFrame(made, copy=False)

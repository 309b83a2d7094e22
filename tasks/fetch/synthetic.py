"""Synthetic datasets, drawn from a seed.

Rows are drawn in blocks of `BLOCK`, each from its own generator derived from the seed and the
block's number. So little memory is needed next to the result, and a shorter stream is the
beginning of a longer one.
"""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng
from pydantic import Field, create_model

from leaseboard.algorithms.errors import unknown
from leaseboard.tasks.fetch.dataset import Count, Finite, Options, RawTable

Columns = dict[str, Any]
Positive = Annotated[Finite, Field(ge=0)]
Whole = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows `start` to `start` + `size` of a dataset with `seed`, and their generator."""

    start: int
    size: int
    seed: int
    rng: Generator


def planes(block: Stretch, *, noise: Positive = 1.0) -> Columns:
    """Draw 2dplanes (Breiman et al. 1984, p. 238; OpenML 215): two planes, chosen by x1."""
    rng, rows = block.rng, block.size
    x = rng.integers(-1, 2, size=(rows, 10), dtype=np.int8)
    x[:, 0] = 2 * rng.integers(0, 2, size=rows, dtype=np.int8) - 1
    upper = 3 + 3 * x[:, 1] + 2 * x[:, 2] + x[:, 3]
    lower = -3 + 3 * x[:, 4] + 2 * x[:, 5] + x[:, 6]
    y = np.where(x[:, 0] == 1, upper, lower) + noise * rng.standard_normal(rows)
    return _numbered(x) | {"y": y}


def fried(block: Stretch, *, noise: Positive = 1.0) -> Columns:
    """Draw Friedman's first function (Friedman 1991; OpenML 564): five of ten inputs matter."""
    return fried_drift(block, noise=noise, period=sys.maxsize)


def fried_drift(block: Stretch, *, noise: Positive = 1.0, period: Count = 10_000) -> Columns:
    """Draw Friedman's first function; its inputs swap roles at random every `period` rows."""
    x = block.rng.random((block.size, 10), dtype=np.float32)
    x = np.round(x, 3, out=x)
    roles = np.empty_like(x)
    stop = block.start + block.size
    for concept in range(block.start // period, (stop - 1) // period + 1):
        of = slice(max(concept * period - block.start, 0), (concept + 1) * period - block.start)
        order = default_rng([block.seed, concept, 1]).permutation(10) if concept else np.arange(10)
        roles[of] = x[of][:, order]
    y = friedman_value(roles) + noise * block.rng.standard_normal(block.size)
    return _numbered(x) | {"y": np.round(y, 3)}


def friedman_value(x: np.ndarray) -> np.ndarray:
    """Return 10 sin(pi x1 x2) + 20 (x3 - 0.5)^2 + 10 x4 + 5 x5, for `x` of shape (n, 10)."""
    from leaseboard.algorithms.transcendental import sin_all

    x1, x2, x3, x4, x5 = x[:, :5].T.astype(np.float64)
    return 10 * sin_all(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5


def mv(block: Stretch) -> Columns:
    """Draw Torgo's mv (OpenML 344): numeric and nominal inputs that depend on each other.

    The published text of the rules does not give the real set; this formula fits all its rows.
    """
    rng, rows = block.rng, block.size
    x1, x2 = rng.uniform(-5, 5, rows), rng.uniform(-15, -10, rows)
    u = rng.random(rows)
    green, red = np.where(x1 > 0, 0.24, 0.0), np.where(x1 > 0, 0.48, 0.316)
    x3 = np.where(u < green, 2, np.where(u < red, 1, 0))
    x4 = np.where(rng.random(rows) < 0.3, x1 / 2, x2 / 2)
    x5 = rng.uniform(-1, 1, rows)
    x6 = x4 * rng.uniform(0, 5, rows)
    yes = rng.random(rows) < 0.297
    normal = x5 < 0.5
    x9, x10 = rng.uniform(100, 500, rows), rng.integers(1000, 1201, rows, dtype=np.int16)
    y = mv_value(x1, x4, x6, yes=yes, normal=normal)
    real = {"x1": x1, "x2": x2, "x4": x4, "x5": x5, "x6": x6, "x9": x9}
    inputs: Columns = {name: values.astype(np.float32) for name, values in real.items()}
    inputs["x3"] = (x3, ("brown", "red", "green"))
    inputs["x7"] = (yes, ("no", "yes"))
    inputs["x8"] = (~normal, ("normal", "large"))
    inputs["x10"] = x10
    return {name: inputs[name] for name in (f"x{i}" for i in range(1, 11))} | {"y": y}


def mv_value(
    x1: np.ndarray, x4: np.ndarray, x6: np.ndarray, *, yes: np.ndarray, normal: np.ndarray
) -> np.ndarray:
    """Return the least of x1/2; x6 + x1 where x8 is normal; 3 - x1/x4 where x7 is yes.

    A fourth rule, 10 - 2 x1 where |x4| <= 2, is part of the formula and never the least:
    x1 <= 5 makes it at least 0, and where it is below x1/2, x1 > 4, so x4 = x1/2 > 2 or
    x4 = x2/2 <= -5.
    """
    y = np.minimum(x1 / 2, np.where(normal, x6 + x1, np.inf))
    return np.minimum(y, np.where(yes, 3 - x1 / x4, np.inf))


def waveform(block: Stretch) -> Columns:
    """Draw Breiman's waveforms with 19 noise columns (Breiman et al. 1984, p. 49; OpenML 60)."""
    rng, rows = block.rng, block.size
    centres = np.array([7, 15, 11])
    triangles = np.maximum(6 - np.abs(np.arange(1, 22) - centres[:, None]), 0)
    first, second = np.array([0, 0, 2]), np.array([1, 2, 1])
    label = rng.integers(0, 3, rows, dtype=np.int8)
    u = rng.random((rows, 1))
    x = rng.standard_normal((rows, 40), dtype=np.float32)
    x[:, :21] += u * triangles[first[label]] + (1 - u) * triangles[second[label]]
    return _numbered(np.round(x, 2)) | {"class": (label, ("0", "1", "2"))}


def separated(
    block: Stretch,
    *,
    classes: Annotated[int, Field(ge=2, le=100)] = 2,
    features: Annotated[int, Field(ge=6)] = 28,
    flip: Annotated[float, Field(ge=0, le=1)] = 0.1,
    bend: Positive = 1.0,
) -> Columns:
    """Draw noisy nonlinear classes: learners of different capacity are well apart.

    A class's score is a random linear function of the first six inputs plus `bend` times one of
    their products x1 x2, x3 x4 and x5 x6; the class with the largest score wins, and a share
    `flip` of the rows gets any label. So the best accuracy is 1 - flip (1 - 1/classes).
    """
    fixed = default_rng([block.seed, 0, 1])  # the same function in every block
    weights = fixed.standard_normal((9, classes), dtype=np.float32)
    weights /= np.linalg.norm(weights[:6], axis=0)
    weights[6:] *= bend * np.sqrt(2) / np.linalg.norm(weights[6:], axis=0)
    rng, rows = block.rng, block.size
    x = rng.standard_normal((rows, features), dtype=np.float32)
    score = x[:, :6] @ weights[:6] + (x[:, 0:6:2] * x[:, 1:6:2]) @ weights[6:]
    label = np.argmax(score, axis=1)
    label = np.where(rng.random(rows) < flip, rng.integers(0, classes, rows), label)
    names = tuple(str(k) for k in range(classes))
    return _numbered(x) | {"class": (label.astype(np.int8), names)}


SEVEN_MEANS = (0.84, 0.84, 0.85, 0.85, 0.88, 0.88, 0.89)
SEVEN_DEVIATIONS = (0.07, 0.01, 0.04, 0.02, 0.01, 0.02, 0.01)
"""Section 4.1 of the ER-UCB paper; arm 1 has the largest extreme region."""


def seven_gaussians(block: Stretch, *, decimals: Whole = 0) -> Columns:
    """Draw feedbacks of the seven arms of ER-UCB's synthetic problem; a row is a pull of each."""
    drawn = block.rng.normal(SEVEN_MEANS, SEVEN_DEVIATIONS, (block.size, len(SEVEN_MEANS)))
    return _arms(np.round(drawn, decimals) if decimals else drawn) | {"pull": _row_numbers(block)}


def rising_arms(block: Stretch) -> Columns:
    """Draw four arms whose feedbacks rise as a tuner's do, without noise; row n is pull n.

    Two rise for long, one ends lower, and one stops early. The curve ``limit - drop / n**rate`` is
    increasing, bounded and concave: Assumption 1 of Rising Bandits.
    """
    pull = _row_numbers(block)
    limits, drops = np.array([0.9, 0.85, 0.8, 0.88]), np.array([0.4, 0.25, 0.1, 0.6])
    curves = limits - drops / pull[:, None] ** np.array([0.5, 1.0, 1.0, 0.5])
    return _arms(np.round(curves, 6)) | {"pull": pull}


NEAR_TIES = (0.81, 0.80, 0.785, 0.78)
"""Accuracies so close that a wrong interval can cost the right answer."""


def near_ties(block: Stretch) -> Columns:
    """Draw verdicts of four classifiers, 1 for a right one: .81, .80, .785 and .78 of all rows."""
    right = block.rng.random((block.size, len(NEAR_TIES))) < NEAR_TIES
    return {f"h{i + 1}": right[:, i].astype(np.int8) for i in range(len(NEAR_TIES))} | {
        "row": _row_numbers(block)
    }


def ambush(block: Stretch, *, at: Count = 200, lie: Positive = 1000.0) -> Columns:
    """Return a stream whose target is a product of inputs, until row `at` has the label -`lie`.

    A linear model cannot see the product. A model that follows it has gained by then, and predicts
    far from the linear model: the wrong label comes where that costs most.
    """
    x = np.round(block.rng.uniform(-1, 1, (block.size, 4)), 3)
    y = 40 * x[:, 0] * x[:, 1] + 5 * x[:, 2] + 0.1 * block.rng.standard_normal(block.size)
    row = at - 1 - block.start
    if 0 <= row < block.size:
        x[row], y[row] = (1, 1, 0, 0), -lie
    return _numbered(x.astype(np.float32)) | {"y": np.round(y, 3)}


def _arms(feedbacks: np.ndarray) -> Columns:
    return {f"arm{arm + 1}": feedbacks[:, arm] for arm in range(feedbacks.shape[1])}


def _row_numbers(block: Stretch) -> np.ndarray:
    return np.arange(block.start + 1, block.start + block.size + 1)


def _numbered(x: np.ndarray) -> Columns:
    return {f"x{i}": x[:, i - 1] for i in range(1, x.shape[1] + 1)}


BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Maker:
    """Generator of a dataset: what draws a block, its rows by default, and its task."""

    draw: Callable[..., Columns]
    rows: int
    task: str

    def options(self) -> dict[str, float]:
        """Return its own options with their defaults."""
        parameters = inspect.signature(self.draw).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def summary(self) -> str:
        """Return the first line of the generator's docstring."""
        return (inspect.getdoc(self.draw) or "").partition("\n")[0]


GENERATORS = {
    "2dplanes": Maker(planes, 40_768, "regression"),
    "fried": Maker(fried, 40_768, "regression"),
    "fried-drift": Maker(fried_drift, 40_768, "regression"),
    "mv": Maker(mv, 40_768, "regression"),
    "waveform": Maker(waveform, 5_000, "classification"),
    "separated": Maker(separated, 100_000, "classification"),
    "seven-gaussians": Maker(seven_gaussians, 100_000, "regression"),
    "rising-arms": Maker(rising_arms, 1_000, "regression"),
    "near-ties": Maker(near_ties, 2_500, "regression"),
    "ambush": Maker(ambush, 500, "regression"),
}


def options_of(name: str) -> type[Options]:
    """Return the options that generator `name` takes; UsageError if there is none of the name."""
    if name not in GENERATORS:
        raise unknown("generator", name, GENERATORS)
    maker = GENERATORS[name]
    kinds = get_type_hints(maker.draw, include_extras=True)
    own: dict[str, Any] = {key: (kinds[key], value) for key, value in maker.options().items()}
    seed: Any = Whole, 0
    return create_model(f"Options of {name}", __base__=Options, seed=seed, **own)


def read(name: str, options: Any) -> RawTable:
    """Draw the set `name` by its options; rows and seed have defaults."""
    maker = GENERATORS[name]
    own = {key: getattr(options, key) for key in maker.options()}
    rows, blocks = options.rows or maker.rows, list[pd.DataFrame]()
    for number, start in enumerate(range(0, rows, BLOCK)):
        rng = default_rng([options.seed, number])
        drawn = maker.draw(Stretch(start, BLOCK, options.seed, rng), **own)
        for column, values in drawn.items():
            if isinstance(values, tuple):
                codes, labels = values
                drawn[column] = pd.Categorical.from_codes(np.asarray(codes, np.int8), list(labels))
        # Drawn whole and cut afterwards: a shorter stream begins a longer one.
        blocks.append(pd.DataFrame(drawn)[: rows - start])
    frame = pd.concat(blocks, ignore_index=True)
    return RawTable(frame, name, task=maker.task, source=f"generator: {maker.summary()}")

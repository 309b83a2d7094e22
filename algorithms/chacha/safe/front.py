"""What stands before the live models: representations of each example, and simple companions.

An example comes as its features. What models see of it is wider (`representations`): the features
as they are, the same standardised by the rows before, the last three labels, and the label one
season ago. Beside the models five *companions* forecast, which need no search: the mean of the
labels, the last one, the one a season ago (`algorithms.reference.labels`), and two ridge
regressions (`algorithms.reference.ridge`), on the standardised features alone and with the
labels' past.

All of it learns labels that are clipped to the range of `algorithms.chacha.safe.scale`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from algorithms.chacha.safe.scale import (
    COUNT,
    HIGH,
    LOW,
    MEAN,
    admit,
    clipped,
    deviation,
    new_scale,
)
from algorithms.online.configuration import VWConfiguration
from algorithms.online.schema import Schema
from algorithms.plain import fill, values_of
from algorithms.reference.labels import LONGEST, compare, least_period, remember
from algorithms.reference.ridge import CLIP, add_moments, rotate, solve, standardise

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

MEAN_SO_FAR, LAST, SEASON, RIDGE, RIDGE_ON_PAST = range(5)
"""The companions."""

N_COMPANIONS = 5
N_PAST = 4
"""Features of the labels' past: the last three, and the one a season ago."""

RATES = (0.0625, 4.0)
"""Learning rates that a new representation is tried at, beside the champion's."""

FARTHEST = 1e6
"""Deviations from the mean beyond which no model learns a label."""

MOST_RIDGE = 64
"""With more features the ridge regressions forecast the mean: they cost 8 d² an example."""


class Front:
    """The state of representations and companions for examples of `n_features`.

    Attributes
    ----------
    scale : ndarray of float64
        See `algorithms.chacha.safe.scale`.
    moments : ndarray of float64, shape (2, n_features)
        Of the features, see `algorithms.reference.ridge.standardise`.
    past, losses : ndarray of float64
        See `algorithms.reference.labels.learn_seasonal`.
    triangle, rotated, weights : ndarray of float64
        Of the ridge regression on features, see `algorithms.reference.ridge.learn_ridge`.
    past_triangle, past_rotated, past_weights : ndarray of float64
        Of the one that has the labels' past before them.
    """

    kept: ClassVar[tuple[str, ...]] = (
        *("scale", "moments", "past", "losses"),
        *("triangle", "rotated", "weights", "past_triangle", "past_rotated", "past_weights"),
    )

    def __init__(self, n_features: int) -> None:
        self.scale = new_scale()
        self.moments = np.zeros((2, n_features))
        self.past = np.zeros(2 * LONGEST)
        self.losses = np.zeros(LONGEST + 1)
        ridge = n_features <= MOST_RIDGE
        self.triangle, self.rotated, self.weights = _new_ridge(n_features if ridge else 0)
        self.past_triangle, self.past_rotated, self.past_weights = _new_ridge(
            N_PAST + n_features if ridge else 0
        )

    @property
    def arrays(self) -> tuple[Doubles, ...]:
        """The state, in the order of the compiled loops' arguments."""
        return tuple(getattr(self, name) for name in self.kept)

    def grow(self, n_features: int) -> None:
        """Go on with more features, which were 0 until now."""
        grown = Front(n_features)
        for old, new in zip(self.arrays, grown.arrays, strict=True):
            if all(have >= had for have, had in zip(new.shape, old.shape, strict=True)):
                new[tuple(slice(size) for size in old.shape)] = old
        vars(self).update(vars(grown))

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain values."""
        return values_of(self, self.kept)

    def fill(self, state: Any) -> None:
        """Go on from `state`; ValueError if it is of another size."""
        fill(self, state, self.kept)


@dataclass(frozen=True, slots=True)
class Representations:
    """The namespaces of a wide schema.

    Attributes
    ----------
    schema : Schema
        The columns of a wide example: the labels' past, the standardised features, the features.
    raw, standard : tuple of str
        Those of the features as they are, and their twins.
    last, season : str
        Those of the last three labels, and of the one a season ago.
    """

    schema: Schema
    raw: tuple[str, ...]
    standard: tuple[str, ...]
    last: str
    season: str

    def variants(self, champion: VWConfiguration) -> list[VWConfiguration]:
        """The champion with its features as they are and standardised, with and without a past.

        Interactions go with their namespaces; those of a past that is left out go too. Each has
        the champion's learning rate, and before that others come that are far from it: which
        rate a representation needs is not known from another one.
        """
        twins = dict(zip(self.raw, self.standard, strict=True))
        back = {twin: name for name, twin in twins.items()}
        found = []
        for names in (twins, back):
            for past in ((), (self.last,), (self.last, self.season)):
                left = {*names.values(), *past}
                crosses = [
                    cross
                    for cross in (
                        tuple(names.get(name, name) for name in interaction)
                        for interaction in champion.interactions
                    )
                    if left >= set(cross)
                ]
                found.append(VWConfiguration(tuple(crosses), champion.learning_rate, tuple(left)))
        variants = [variant for variant in found if variant != champion]
        others = [replace(variant, learning_rate=rate) for rate in RATES for variant in variants]
        return [*others, *variants]

    def told(self, names: Iterable[str]) -> str:
        """Which features namespaces are, in words; those of a kind that is not whole by name.

        Examples
        --------
        >>> known = represent(Schema(("a", "b"), ((0,), (1,)), ("0", "1")))
        >>> known.told(("a", "b")), known.told(("a:", "b:", ":last", ":season"))
        ('as they are', 'standardised, last, season')
        """
        left = sorted(names)
        words = []
        for kind, word in ((self.raw, "as they are"), (self.standard, "standardised")):
            if set(kind) <= set(left):
                left = [name for name in left if name not in kind]
                words.append(word)
        return ", ".join([*words, *(name.strip(":") for name in left)])

    def whole(self, configuration: VWConfiguration) -> VWConfiguration:
        """The configuration with all features as they are, or standardised, if it has some."""
        names = set(configuration.namespaces or ())
        for kind in (self.raw, self.standard):
            names |= set(kind) if names & set(kind) else set()
        return replace(configuration, namespaces=tuple(names))


def represent(schema: Schema) -> Representations:
    """The representations of examples with the columns of `schema`."""
    # No namespace of a user's has a colon, which VW's text keeps for values.
    names = (*schema.namespaces, *(f"{name}:" for name in schema.namespaces), ":last", ":season")
    n = len(schema.namespaces)
    columns = (
        *_shifted(schema, N_PAST + schema.n_features),
        *_shifted(schema, N_PAST),
        tuple(range(N_PAST - 1)),
        (N_PAST - 1,),
    )
    features = ("1", "2", "3", "1", *schema.features, *schema.features)
    return Representations(
        Schema(names, columns, features, schema.bits),
        names[:n],
        names[n : 2 * n],
        *names[2 * n :],
    )


def _shifted(schema: Schema, by: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(by + column for column in columns) for columns in schema.columns)


def _new_ridge(n_features: int) -> tuple[Doubles, Doubles, Doubles]:
    """Triangle, rotated labels and weights of a ridge regression that has seen nothing."""
    triangle = np.diag([0.0, *[1.0] * n_features])
    return triangle, np.zeros(n_features + 1), np.zeros(n_features + 1)


@njit(cache=True, nogil=True)
def look(
    example: Floats,
    extended: Doubles,
    wide: Floats,
    companions: Doubles,
    scale: Doubles,
    moments: Doubles,
    past: Doubles,
    losses: Doubles,
    triangle: Doubles,
    rotated: Doubles,
    weights: Doubles,
    past_triangle: Doubles,
    past_rotated: Doubles,
    past_weights: Doubles,
) -> None:
    """Write an example's representations, and what the companions forecast.

    Parameters
    ----------
    example : ndarray of float32, shape (n_features,)
    extended : ndarray of float64, shape (N_PAST + n_features,)
        Written: the labels' past and the features, as they are.
    wide : ndarray of float32, shape (N_PAST + 2 * n_features,)
        Written: the same standardised, then the features as they are.
    companions : ndarray of float64, shape (N_COMPANIONS,)
        Written: forecasts within the range of labels.
    scale and all that follow
        See `Front`; only read.
    """
    d, seen = len(example), int(scale[COUNT])
    start, period = -seen % (len(past) // 2), least_period(losses, seen)
    for lag in range(1, N_PAST):
        extended[lag - 1] = past[start + lag - 1] if seen >= lag else scale[MEAN]
    extended[N_PAST - 1] = past[start + period - 1] if seen else 0.0
    for j in range(d):
        extended[N_PAST + j] = example[j]
        wide[N_PAST + d + j] = example[j]
    row = np.empty(N_PAST + d)
    spread = deviation(scale)
    for j in range(N_PAST):
        value = (extended[j] - scale[MEAN]) / spread if spread > 0.0 else 0.0
        row[j] = min(max(value, -CLIP), CLIP)
    standardise(extended[N_PAST:], moments, scale[COUNT], row[N_PAST:])
    for j in range(N_PAST + d):
        wide[j] = row[j]
    companions[MEAN_SO_FAR] = scale[MEAN]
    companions[LAST], companions[SEASON] = extended[0], extended[N_PAST - 1]
    if len(weights) == 1 + d:
        narrow, broad = weights[0], past_weights[0]
        for j in range(N_PAST + d):
            broad += past_weights[1 + j] * row[j]
            if j >= N_PAST:
                narrow += weights[1 + j - N_PAST] * row[j]
        companions[RIDGE], companions[RIDGE_ON_PAST] = narrow, scale[MEAN] + spread * broad
    else:
        companions[RIDGE] = companions[RIDGE_ON_PAST] = scale[MEAN]
    for k in range(N_COMPANIONS):
        companions[k] = min(max(companions[k], scale[LOW]), scale[HIGH])


@njit(cache=True, nogil=True)
def advance(
    examples: Floats,
    labels: Floats,
    importances: Floats,
    wide: Floats,
    companions: Doubles,
    shown: Doubles,
    limits: Doubles,
    scale: Doubles,
    moments: Doubles,
    past: Doubles,
    losses: Doubles,
    triangle: Doubles,
    rotated: Doubles,
    weights: Doubles,
    past_triangle: Doubles,
    past_rotated: Doubles,
    past_weights: Doubles,
) -> None:
    """`look` at each example of a block in order, then learn its label.

    Parameters
    ----------
    examples : ndarray of float32, shape (n, n_features)
    labels, importances : ndarray of float32, shape (n,)
        An example of importance 0 teaches nothing; beyond that they do not matter here.
    wide, companions : ndarray, shapes (n, N_PAST + 2 * n_features) and (n, N_COMPANIONS)
        Written.
    shown : ndarray of float64, shape (n,)
        Written: the labels as learners see them.
    limits : ndarray of float64, shape (n, 2)
        Written: the range of labels before each.
    """
    d = examples.shape[1]
    extended, broad, narrow = np.empty(N_PAST + d), np.empty(1 + N_PAST + d), np.empty(1 + d)
    for t in range(len(labels)):
        look(
            examples[t], extended, wide[t], companions[t], scale, moments, past, losses, triangle,
            rotated, weights, past_triangle, past_rotated, past_weights,
        )  # fmt: skip
        seen = int(scale[COUNT])
        limits[t, 0], limits[t, 1] = scale[LOW], scale[HIGH]
        label = clipped(np.float64(labels[t]), scale)
        shown[t] = label
        if importances[t] <= 0.0:
            continue
        if len(weights) == 1 + d:
            broad[0] = narrow[0] = 1.0
            for j in range(N_PAST + d):
                broad[1 + j] = wide[t, j]
                if j >= N_PAST:
                    narrow[1 + j - N_PAST] = wide[t, j]
            rotate(triangle, rotated, narrow, label)
            solve(triangle, rotated, weights)
            spread = deviation(scale)
            if spread > 0.0:
                target = (label - scale[MEAN]) / spread
                target = min(max(target, -FARTHEST), FARTHEST)
                rotate(past_triangle, past_rotated, broad, target)
                solve(past_triangle, past_rotated, past_weights)
        compare(label, past, losses, seen)
        remember(label, past, seen)
        admit(np.float64(labels[t]), scale)
        add_moments(examples[t], moments, scale[COUNT])

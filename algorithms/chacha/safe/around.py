"""What an ensemble computes before its models and after them, each in one compiled call."""

from __future__ import annotations

import numpy as np
from numba import njit

from algorithms.chacha.safe.front import (
    FARTHEST,
    MEAN_SO_FAR,
    N_PAST,
    Doubles,
    Floats,
    State,
    advance,
    look,
    width,
)
from algorithms.chacha.safe.mixture import Slots, consider, mix
from algorithms.chacha.safe.scale import COUNT, HIGH, LOW
from algorithms.reference.labels import least_period


@njit(cache=True, nogil=True)
def mixed(live: Slots, b: int, n_slots: int) -> Slots:
    """The `live` slots and the companions', which are those from `b` on."""
    found = np.empty(len(live) + n_slots - b, dtype=np.int64)
    found[: len(live)] = live
    found[len(live) :] = np.arange(b, n_slots)
    return found


@njit(cache=True, nogil=True)
def before_forecast(
    example: Floats, b: int, n_slots: int, front: State, classes: bool
) -> tuple[Floats, Doubles]:
    """What models see of an example, and a row with the companions' forecasts from `b` on."""
    scale, losses = front[0], front[3]
    wide, row = np.empty(width(len(example)), dtype=np.float32), np.zeros(n_slots)
    period = least_period(losses, int(scale[COUNT]))
    look(example, np.empty(N_PAST + len(example)), wide, row[b:], front, classes, period)
    return wide, row


@njit(cache=True, nogil=True)
def after_forecast(
    row: Doubles,
    predictions: Floats,
    place: Doubles,
    scale: Doubles,
    live: Slots,
    baselines: Slots,
    losses: Doubles,
    totals: Doubles,
    aggregated: Doubles,
) -> float:
    """Complete the row by the models' predictions; return the mixture's forecast."""
    b = len(predictions)
    _value(row, predictions, place, scale[LOW], scale[HIGH])
    slots, experts = mixed(live, b, len(row)), np.empty(1 + len(baselines))
    exact = consider(row, slots, baselines, losses, totals, aggregated, experts)
    return float(np.float32(exact))


@njit(cache=True, nogil=True)
def before_learning(
    examples: Floats,
    labels: Floats,
    importances: Floats,
    b: int,
    n_slots: int,
    front: State,
    classes: bool,
    place: Doubles,
) -> tuple[Floats, Doubles, Doubles, Doubles, Floats]:
    """Let the companions forecast and learn a block.

    Returns
    -------
    wide, values, shown, limits : ndarray
        See `advance`; the companions' forecasts are in the columns of `values` from `b` on.
    targets : ndarray of float32, shape (n,)
        The labels in the models' unit; 0 while that is unknown.
    """
    n, d = examples.shape
    wide, values = np.empty((n, width(d)), dtype=np.float32), np.zeros((n, n_slots))
    shown, limits = np.zeros(n), np.zeros((n, 2))
    companions = values[:, b:]
    advance(examples, labels, importances, wide, companions, shown, limits, front, classes)
    center, spread = place
    targets = np.zeros(n, dtype=np.float32)
    if spread != 0.0:
        for t in range(n):
            targets[t] = min(max((shown[t] - center) / spread, -FARTHEST), FARTHEST)
    return wide, values, shown, limits, targets


@njit(cache=True, nogil=True)
def after_learning(
    values: Doubles,
    predictions: Floats,
    place: Doubles,
    labels: Floats,
    importances: Floats,
    shown: Doubles,
    limits: Doubles,
    live: Slots,
    baselines: Slots,
    champion: int,
    gamma: float,
    losses: Doubles,
    totals: Doubles,
    aggregated: Doubles,
    windows: Doubles,
    scores: Doubles,
    forecasts: Floats,
) -> None:
    """Complete `values` by the models' predictions, then `mix`."""
    b = predictions.shape[1]
    for t in range(len(values)):
        _value(values[t], predictions[t], place, limits[t, 0], limits[t, 1])
    slots = mixed(live, b, values.shape[1])
    mix(
        values,
        labels,
        importances,
        shown,
        limits,
        slots,
        baselines,
        champion,
        gamma,
        losses,
        totals,
        aggregated,
        windows,
        scores,
        forecasts,
    )


@njit(cache=True, nogil=True)
def _value(row: Doubles, predictions: Floats, place: Doubles, low: float, high: float) -> None:
    """Write what the models predict, in the labels' own unit and range."""
    b, center, spread = len(predictions), place[0], place[1]
    for slot in range(b):
        if spread != 0.0:
            row[slot] = min(max(center + spread * predictions[slot], low), high)
        else:
            row[slot] = row[b + MEAN_SO_FAR]

"""What stands between an ensemble's models and its mixture: units, ranges and slots."""

from __future__ import annotations

import numpy as np
from numba import njit

from leaseboard.algorithms.chacha.safe.front import MEAN_SO_FAR, Doubles, Floats
from leaseboard.algorithms.chacha.safe.mixture import Slots, consider, mix
from leaseboard.algorithms.chacha.safe.scale import HIGH, LOW
from leaseboard.algorithms.chacha.safe.selected import FARTHEST


@njit(cache=True, nogil=True)
def mixed(live: Slots, b: int, n_slots: int) -> Slots:
    """The `live` slots and the companions', which are those from `b` on."""
    found = np.empty(len(live) + n_slots - b, dtype=np.int64)
    for place in range(len(found)):
        found[place] = live[place] if place < len(live) else b + place - len(live)
    return found


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
def targets_of(shown: Doubles, place: Doubles) -> Floats:
    """The labels in the models' unit, of which `place` has a spread."""
    targets = np.empty(len(shown), dtype=np.float32)
    for t in range(len(shown)):
        targets[t] = min(max((shown[t] - place[0]) / place[1], -FARTHEST), FARTHEST)
    return targets


@njit(cache=True, nogil=True)
def mix_models(
    values: Doubles,
    predictions: Floats,
    place: Doubles,
    limits: Doubles,
    labels: Floats,
    importances: Floats,
    shown: Doubles,
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
    """`mix` of what the models predict, in the labels' own unit and range, and the companions."""
    n, b = predictions.shape
    for t in range(n):
        _value(values[t], predictions[t], place, limits[t, 0], limits[t, 1])
    slots = mixed(live, b, values.shape[1])
    mix(
        values, labels, importances, shown, limits, slots, baselines, champion, gamma, losses,
        totals, aggregated, windows, scores, forecasts,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _value(row: Doubles, predictions: Floats, place: Doubles, low: float, high: float) -> None:
    """Write what the models predict, in the labels' own unit and range."""
    b, center, spread = len(predictions), place[0], place[1]
    for slot in range(b):
        if spread != 0.0:
            row[slot] = min(max(center + spread * predictions[slot], low), high)
        else:
            row[slot] = row[b + MEAN_SO_FAR]

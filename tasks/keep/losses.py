"""What a forecast cost when the label came, and what its losses of a day add up to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from leaseboard.tasks.models.continued import Told

Sums = dict[str, float]
"""Of a day's rows: ``loss`` and, of numbers, ``absolute``, ``square``, ``inside``, ``told``; of
classes ``error`` and ``sure``, the probability of the likeliest."""


def loss_of_row(forecast: Told, label: Any) -> Sums:
    """The losses of one forecast.

    ``loss`` is what comparisons and promotions go by: of numbers the squared error, of classes the
    Brier score, which is 0 for the right class with certainty and 2 for a wrong one [1]_.

    References
    ----------
    .. [1] Brier. Verification of Forecasts Expressed in Terms of Probability. Monthly Weather
           Review 78, 1950.

    Examples
    --------
    >>> loss_of_row(3.0, 5.0)
    {'loss': 4.0, 'absolute': 2.0, 'square': 4.0}
    >>> loss_of_row([3.0, 1.0, 4.0], 5.0)
    {'loss': 4.0, 'absolute': 2.0, 'square': 4.0, 'inside': 0.0, 'told': 1.0}
    >>> loss_of_row({"no": 0.75, "yes": 0.25}, "no")
    {'loss': 0.125, 'error': 0.0, 'sure': 0.75}
    """
    if isinstance(forecast, Mapping):
        label = str(label)
        likeliest = max(forecast, key=forecast.__getitem__)
        brier = sum((p - (name == label)) ** 2 for name, p in forecast.items())
        return {
            "loss": brier + (label not in forecast),
            "error": float(likeliest != label),
            "sure": forecast[likeliest],
        }
    middle, *ends = forecast if isinstance(forecast, list) else [forecast]
    error = middle - float(label)
    found = {"loss": error * error, "absolute": abs(error), "square": error * error}
    if ends:
        found |= {"inside": float(ends[0] <= label <= ends[1]), "told": 1.0}
    return found


def added(sums: Mapping[str, float], more: Mapping[str, float]) -> Sums:
    """Both together.

    Examples
    --------
    >>> added({"loss": 1.0}, {"loss": 2.0, "error": 1.0})
    {'loss': 3.0, 'error': 1.0}
    """
    return {**sums, **{name: sums.get(name, 0.0) + value for name, value in more.items()}}


def measures_of(sums: Mapping[str, float], rows: int) -> dict[str, float]:
    """What people read of a day, in the target's own unit: mae and rmse, or error and brier.

    Examples
    --------
    >>> measures_of({"loss": 8.0, "absolute": 4.0, "square": 8.0, "inside": 1.0, "told": 2.0}, 2)
    {'loss': 4.0, 'mae': 2.0, 'rmse': 2.0, 'coverage': 0.5}
    """
    found = {"loss": sums["loss"] / rows}
    if "absolute" in sums:
        found |= {"mae": sums["absolute"] / rows, "rmse": math.sqrt(sums["square"] / rows)}
    else:
        found |= {"error": sums["error"] / rows, "brier": sums["loss"] / rows}
    if sums.get("told"):
        found["coverage"] = sums["inside"] / sums["told"]
    return found

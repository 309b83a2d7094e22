"""What people import: ``from leaseboard import ChaChaRegressor, race``.

Each name is loaded from its place when it is first asked for, so that one costs nothing of what
the others need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.algorithms.apple.classifier import AppleClassifier
    from leaseboard.algorithms.apple.estimator import AppleRegressor
    from leaseboard.algorithms.base import Algorithm
    from leaseboard.algorithms.chacha.scikit import StreamClassifier, StreamRegressor
    from leaseboard.algorithms.chacha.streaming import (
        ChaChaClassifier,
        ChaChaRegressor,
        learn_many,
    )
    from leaseboard.tasks.models.automl.estimators import PolicyClassifier, PolicyRegressor
    from leaseboard.tasks.models.automl.search import SelectionSearch
    from leaseboard.tasks.models.automl.select import select
    from leaseboard.tasks.steps.interactive import race

__all__ = [
    "Algorithm",
    "AppleClassifier",
    "AppleRegressor",
    "ChaChaClassifier",
    "ChaChaRegressor",
    "PolicyClassifier",
    "PolicyRegressor",
    "SelectionSearch",
    "StreamClassifier",
    "StreamRegressor",
    "learn_many",
    "race",
    "select",
]

_PLACES = {
    "Algorithm": "leaseboard.algorithms.base",
    "AppleClassifier": "leaseboard.algorithms.apple.classifier",
    "AppleRegressor": "leaseboard.algorithms.apple.estimator",
    "ChaChaClassifier": "leaseboard.algorithms.chacha.streaming",
    "ChaChaRegressor": "leaseboard.algorithms.chacha.streaming",
    "PolicyClassifier": "leaseboard.tasks.models.automl.estimators",
    "PolicyRegressor": "leaseboard.tasks.models.automl.estimators",
    "SelectionSearch": "leaseboard.tasks.models.automl.search",
    "StreamClassifier": "leaseboard.algorithms.chacha.scikit",
    "StreamRegressor": "leaseboard.algorithms.chacha.scikit",
    "learn_many": "leaseboard.algorithms.chacha.streaming",
    "race": "leaseboard.tasks.steps.interactive",
    "select": "leaseboard.tasks.models.automl.select",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        told = import_module("leaseboard.algorithms.parts").lacking(error.name)
        if told is None:
            raise
        raise ModuleNotFoundError(f"{name}: {told}", name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(globals().keys() | _PLACES.keys())

"""What people import: ``from leaseboard import ChaChaRegressor, race``.

Each name is loaded from its place when it is first asked for, so that one costs nothing of what
the others need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leaseboard._names import check

if TYPE_CHECKING:
    from algorithms.apple.classifier import AppleClassifier
    from algorithms.apple.estimator import AppleRegressor
    from algorithms.base import Algorithm
    from algorithms.chacha.scikit import StreamClassifier, StreamRegressor
    from algorithms.chacha.streaming import ChaChaClassifier, ChaChaRegressor, learn_many
    from tasks.models.automl.estimators import PolicyClassifier, PolicyRegressor
    from tasks.models.automl.search import SelectionSearch
    from tasks.models.automl.select import select
    from tasks.steps.interactive import race

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
    "Algorithm": "algorithms.base",
    "AppleClassifier": "algorithms.apple.classifier",
    "AppleRegressor": "algorithms.apple.estimator",
    "ChaChaClassifier": "algorithms.chacha.streaming",
    "ChaChaRegressor": "algorithms.chacha.streaming",
    "PolicyClassifier": "tasks.models.automl.estimators",
    "PolicyRegressor": "tasks.models.automl.estimators",
    "SelectionSearch": "tasks.models.automl.search",
    "StreamClassifier": "algorithms.chacha.scikit",
    "StreamRegressor": "algorithms.chacha.scikit",
    "learn_many": "algorithms.chacha.streaming",
    "race": "tasks.steps.interactive",
    "select": "tasks.models.automl.select",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Who needs no more than the science may have a folder `tasks` of their own.
    check(*dict.fromkeys(("algorithms", _PLACES[name].partition(".")[0])))
    try:
        value = getattr(import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        told = import_module("algorithms.parts").lacking(error.name)
        if told is None:
            raise
        raise ModuleNotFoundError(f"{name}: {told}", name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(globals().keys() | _PLACES.keys())

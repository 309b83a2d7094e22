"""What people import: ``from leaseboard import OnlineAutoMLRegressor, race``.

Each name is loaded from its place when it is first asked for, so that one costs nothing of what
the others need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leaseboard import kernels as _kernels  # noqa: F401  finds what is compiled

if TYPE_CHECKING:
    from leaseboard.algorithms.apple.estimator import (
        PolynomialExpansionClassifier,
        PolynomialExpansionRegressor,
    )
    from leaseboard.algorithms.base import Algorithm, Run
    from leaseboard.algorithms.chacha.estimators import ChaChaClassifier, ChaChaRegressor
    from leaseboard.algorithms.environments.stream import StreamEnvironment
    from leaseboard.algorithms.errors import UsageError
    from leaseboard.algorithms.online_automl.scikit import StreamClassifier, StreamRegressor
    from leaseboard.algorithms.online_automl.streaming import (
        OnlineAutoMLClassifier,
        OnlineAutoMLRegressor,
    )
    from leaseboard.algorithms.policies.policy import ArmPolicy, Policy, Problem
    from leaseboard.algorithms.sequential_test import SequentialTest
    from leaseboard.tasks.models.automl.estimators import AutoMLClassifier, AutoMLRegressor
    from leaseboard.tasks.models.automl.search import SelectionSearch
    from leaseboard.tasks.steps.interactive import Leaderboard, race

__all__ = [
    "Algorithm",
    "ArmPolicy",
    "AutoMLClassifier",
    "AutoMLRegressor",
    "ChaChaClassifier",
    "ChaChaRegressor",
    "Leaderboard",
    "OnlineAutoMLClassifier",
    "OnlineAutoMLRegressor",
    "Policy",
    "PolynomialExpansionClassifier",
    "PolynomialExpansionRegressor",
    "Problem",
    "Run",
    "SelectionSearch",
    "SequentialTest",
    "StreamClassifier",
    "StreamEnvironment",
    "StreamRegressor",
    "UsageError",
    "race",
]

_PLACES = {
    "Algorithm": "leaseboard.algorithms.base",
    "ArmPolicy": "leaseboard.algorithms.policies.policy",
    "AutoMLClassifier": "leaseboard.tasks.models.automl.estimators",
    "AutoMLRegressor": "leaseboard.tasks.models.automl.estimators",
    "ChaChaClassifier": "leaseboard.algorithms.chacha.estimators",
    "ChaChaRegressor": "leaseboard.algorithms.chacha.estimators",
    "OnlineAutoMLClassifier": "leaseboard.algorithms.online_automl.streaming",
    "OnlineAutoMLRegressor": "leaseboard.algorithms.online_automl.streaming",
    "Leaderboard": "leaseboard.tasks.steps.interactive",
    "Policy": "leaseboard.algorithms.policies.policy",
    "PolynomialExpansionClassifier": "leaseboard.algorithms.apple.estimator",
    "PolynomialExpansionRegressor": "leaseboard.algorithms.apple.estimator",
    "Problem": "leaseboard.algorithms.policies.policy",
    "Run": "leaseboard.algorithms.base",
    "SelectionSearch": "leaseboard.tasks.models.automl.search",
    "SequentialTest": "leaseboard.algorithms.sequential_test",
    "StreamClassifier": "leaseboard.algorithms.online_automl.scikit",
    "StreamEnvironment": "leaseboard.algorithms.environments.stream",
    "StreamRegressor": "leaseboard.algorithms.online_automl.scikit",
    "UsageError": "leaseboard.algorithms.errors",
    "race": "leaseboard.tasks.steps.interactive",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("leaseboard")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        reason = import_module("leaseboard.algorithms.parts").missing(error.name)
        if reason is None:
            raise
        raise ModuleNotFoundError(f"{name}: {reason}", name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

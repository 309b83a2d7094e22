"""What people import: ``from leaseboard import OnlineAutoMLRegressor, race``.

Each name is loaded from its place when it is first asked for, so that one costs nothing of what
the others need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leaseboard import kernels as _kernels  # noqa: F401  finds what is compiled

if TYPE_CHECKING:
    from leaseboard.algorithms.base import Algorithm as Algorithm
    from leaseboard.algorithms.base import Run as Run
    from leaseboard.algorithms.chacha.presets import ChaChaClassifier as ChaChaClassifier
    from leaseboard.algorithms.chacha.presets import ChaChaRegressor as ChaChaRegressor
    from leaseboard.algorithms.environments.stream import StreamEnvironment as StreamEnvironment
    from leaseboard.algorithms.errors import UsageError as UsageError
    from leaseboard.algorithms.online_automl.scikit import StreamClassifier as StreamClassifier
    from leaseboard.algorithms.online_automl.scikit import StreamRegressor as StreamRegressor
    from leaseboard.algorithms.online_automl.streaming import (
        OnlineAutoMLClassifier as OnlineAutoMLClassifier,
    )
    from leaseboard.algorithms.online_automl.streaming import (
        OnlineAutoMLRegressor as OnlineAutoMLRegressor,
    )
    from leaseboard.algorithms.policy import ArmPolicy as ArmPolicy
    from leaseboard.algorithms.policy import Policy as Policy
    from leaseboard.algorithms.policy import Problem as Problem
    from leaseboard.algorithms.sequential_test import SequentialTest as SequentialTest
    from leaseboard.tasks.models.automl.estimators import AutoMLClassifier as AutoMLClassifier
    from leaseboard.tasks.models.automl.estimators import AutoMLRegressor as AutoMLRegressor
    from leaseboard.tasks.models.automl.search import SelectionSearch as SelectionSearch
    from leaseboard.tasks.steps.interactive import Leaderboard as Leaderboard
    from leaseboard.tasks.steps.interactive import race as race

_NAMES = {
    "leaseboard.algorithms.base": ("Algorithm", "Run"),
    "leaseboard.algorithms.chacha.presets": ("ChaChaClassifier", "ChaChaRegressor"),
    "leaseboard.algorithms.environments.stream": ("StreamEnvironment",),
    "leaseboard.algorithms.errors": ("UsageError",),
    "leaseboard.algorithms.online_automl.scikit": ("StreamClassifier", "StreamRegressor"),
    "leaseboard.algorithms.online_automl.streaming": (
        "OnlineAutoMLClassifier",
        "OnlineAutoMLRegressor",
    ),
    "leaseboard.algorithms.policy": ("ArmPolicy", "Policy", "Problem"),
    "leaseboard.algorithms.sequential_test": ("SequentialTest",),
    "leaseboard.tasks.models.automl.estimators": ("AutoMLClassifier", "AutoMLRegressor"),
    "leaseboard.tasks.models.automl.search": ("SelectionSearch",),
    "leaseboard.tasks.steps.interactive": ("Leaderboard", "race"),
}
PLACES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(PLACES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("leaseboard")
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(PLACES[name]), name)
    except ModuleNotFoundError as error:
        reason = import_module("leaseboard.algorithms.errors").missing(error.name)
        if reason is None:
            raise
        raise ModuleNotFoundError(f"{name}: {reason}", name=error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

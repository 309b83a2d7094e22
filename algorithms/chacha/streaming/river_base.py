"""River's own base classes where River is installed, so that the models are its estimators.

River stays optional: without it the models work the same, less what River gives its estimators
(``clone``, ``mutate``, ``|`` and the like). Its base classes load in milliseconds.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or find_spec("river") is None:
    MiniBatchRegressor: Any = object
    MiniBatchClassifier: Any = object
else:
    from river.base import MiniBatchClassifier, MiniBatchRegressor

__all__ = ["MiniBatchClassifier", "MiniBatchRegressor"]

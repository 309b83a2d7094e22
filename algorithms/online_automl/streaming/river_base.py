"""River's own base classes where River is installed, so that the models are its estimators.

River stays optional: without it the models work the same, except for what River gives its
estimators (``clone``, ``mutate``, ``|`` and others). Its base classes load in milliseconds.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

MiniBatchRegressor: Any = object
MiniBatchClassifier: Any = object
if not TYPE_CHECKING:
    with suppress(ImportError):  # also of a river.py of the user's
        from river.base import MiniBatchClassifier, MiniBatchRegressor

__all__ = ["MiniBatchClassifier", "MiniBatchRegressor"]

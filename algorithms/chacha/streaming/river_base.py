"""River's own base classes where River is installed, so that the models are its estimators.

River stays optional: without it the models work the same, less what River gives its estimators
(``clone``, ``mutate``, ``|`` and the like). Its base classes load in milliseconds.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any


def _is_river() -> bool:
    """Whether a module that is called river is River's package: anybody may have a river.py."""
    try:
        package = Path(str(distribution("river").locate_file("river"))).resolve()
    except PackageNotFoundError:
        return False
    spec = find_spec("river")
    return spec is not None and Path(spec.origin or "").resolve().parent == package


if TYPE_CHECKING or not _is_river():
    MiniBatchRegressor: Any = object
    MiniBatchClassifier: Any = object
else:
    from river.base import MiniBatchClassifier, MiniBatchRegressor

__all__ = ["MiniBatchClassifier", "MiniBatchRegressor"]

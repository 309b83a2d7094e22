"""River's own base classes where River is installed, so that the models are its estimators.

River stays optional: without it the models work the same, except for what River gives its
estimators (``clone``, ``mutate``, ``|`` and others). Its base classes load in milliseconds.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any


def _is_river() -> bool:
    """Return whether River is installed and is what is imported: users may have a river.py."""
    try:
        distribution("river")
    except PackageNotFoundError:
        return False
    # Where an installed package is, its distribution need not know: an editable one is elsewhere.
    found = find_spec("river")
    folders = None if found is None else found.submodule_search_locations
    return folders is not None and PathFinder.find_spec("river.base", folders) is not None


if TYPE_CHECKING or not _is_river():
    MiniBatchRegressor: Any = object
    MiniBatchClassifier: Any = object
else:
    from river.base import MiniBatchClassifier, MiniBatchRegressor

__all__ = ["MiniBatchClassifier", "MiniBatchRegressor"]

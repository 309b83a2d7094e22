"""What people import: ``from leaseboard import OnlineAutoMLRegressor, race``.

Each name is loaded from its place when it is first asked for, so that one costs nothing of what
the others need. The names are those of ``__init__.pyi``.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

from leaseboard import kernels as _kernels  # noqa: F401  finds what is compiled

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
PLACES = {
    each.name: str(node.module)
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom)
    for each in node.names
}
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

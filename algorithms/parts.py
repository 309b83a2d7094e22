"""What an installation may lack: the packages of a part, and the line that brings them.

``pip install .`` brings what learns a stream, example by example; the others are extras.
"""

from __future__ import annotations

from importlib.util import find_spec

from leaseboard.algorithms.errors import UsageError

PARTS = {
    "tables": ("pandas", "pyarrow", "sklearn", "threadpoolctl", "vowpalwabbit", "lightgbm",
               "hyperopt", "psutil", "arff", "openml", "sqlalchemy"),
    "flows": ("prefect", "fastapi", "starlette", "uvicorn", "httpx", "apprise",
              "prometheus_client", "mlflow", "plotly", "jinja2", "cronsim"),
}  # fmt: skip
"""The names by which the packages of each extra are imported; a part has those before it too."""


def mend(part: str) -> str:
    """The line that installs a part, or another extra, from where the project is."""
    return f"pip install '.[{part}]' in a checkout"


def lacking(module: str | None) -> str | None:
    """What to say where `module` cannot be found; None unless a part brings it.

    Examples
    --------
    >>> lacking("prefect")
    "'prefect' is not installed, and this needs it: pip install '.[flows]' in a checkout"
    >>> lacking("antigravity")
    """
    for part, modules in PARTS.items():
        if module in modules:
            return f"{module!r} is not installed, and this needs it: {mend(part)}"
    return None


def require(part: str, user: str) -> None:
    """Do nothing if all that `part` brings can be found.

    Raises
    ------
    UsageError
        In one line that names the first package that is missing, its `user` and the mend.
    """
    for name, modules in PARTS.items():
        for module in modules:
            if find_spec(module) is None:
                raise UsageError(f"{user} needs {module!r}, which is not installed: {mend(part)}")
        if name == part:
            return

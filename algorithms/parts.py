"""Packages that may be missing in an installation, and the line that brings them.

``pip install .`` brings what learns a stream, example by example; the others are extras.
"""

from importlib.util import find_spec

from leaseboard.algorithms.errors import UsageError

PARTS = {
    "tables": ("pandas", "pyarrow", "sklearn", "threadpoolctl", "vowpalwabbit", "lightgbm",
               "hyperopt", "psutil", "arff", "openml", "sqlalchemy", "joblib", "skops", "requests",
               "packaging", "scipy"),
    "flows": ("prefect", "fastapi", "starlette", "uvicorn", "httpx", "apprise",
              "prometheus_client", "mlflow", "plotly", "jinja2", "markupsafe", "cronsim"),
}  # fmt: skip
"""The names by which the packages of each extra are imported; a part has those before it too."""


def command_for(part: str) -> str:
    """Return the line that installs a part, or another extra, from where the project is."""
    return f"pip install '.[{part}]' in a checkout"


def missing(module: str | None) -> str | None:
    """Return what to say where `module` cannot be found; None unless a part brings it.

    Examples
    --------
    >>> missing("prefect")
    "'prefect' is not installed, and this needs it: pip install '.[flows]' in a checkout"
    >>> missing("antigravity")
    """
    for part, modules in PARTS.items():
        if module in modules:
            return f"{module!r} is not installed, and this needs it: {command_for(part)}"
    return None


def require(part: str, user: str) -> None:
    """Do nothing if all that `part` brings can be found.

    Raises
    ------
    UsageError
        In one line that names the first package that is missing, its `user` and the fix.
    """
    for name, modules in PARTS.items():
        for module in modules:
            if find_spec(module) is None:
                raise UsageError(
                    f"{user} needs {module!r}, which is not installed: {command_for(part)}"
                )
        if name == part:
            return

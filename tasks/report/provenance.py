"""With what a page was made."""

from __future__ import annotations

import platform
from importlib import metadata

PACKAGES = (
    "leaseboard", "numpy", "scipy", "pandas", "numba", "scikit-learn", "lightgbm", "hyperopt",
    "vowpalwabbit", "prefect", "mlflow", "plotly",
)  # fmt: skip


def packages() -> dict[str, str]:
    """Versions of Python and of the installed packages that scores depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found

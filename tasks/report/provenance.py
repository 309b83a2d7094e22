"""With what a page was made."""

from __future__ import annotations

from tasks.machine.environment import versions

PACKAGES = (
    "leaseboard", "numpy", "scipy", "pandas", "numba", "scikit-learn", "lightgbm", "hyperopt",
    "vowpalwabbit", "prefect", "mlflow", "plotly",
)  # fmt: skip


def packages() -> dict[str, str]:
    """Versions of Python and of the installed packages that scores depend on."""
    return versions(PACKAGES)

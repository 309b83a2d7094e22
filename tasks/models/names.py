"""Names of models: what MLflow takes for a registered model and for a logged one at once."""

from __future__ import annotations

import re

from leaseboard.algorithms.errors import UsageError

REFUSED = "/:.%\"'"
"""The characters that MLflow refuses in the name of a logged model."""


def check_name(name: str) -> str:
    """`name`, which MLflow will take; UsageError names the characters that it refuses.

    Examples
    --------
    >>> check_name("sales-2026")
    'sales-2026'
    """
    if not name.strip() or set(name) & set(REFUSED):
        raise UsageError(
            f"model name {name!r} must not be empty or hold one of {' '.join(REFUSED)}"
            " (MLflow's rule): use letters, digits and hyphens"
        )
    return name


def slug(text: str) -> str:
    """`text` as a part of a model's name: letters, digits, underscores and single hyphens.

    Examples
    --------
    >>> slug("file:data/cls.csv?target=y")
    'file-data-cls-csv-target-y'
    """
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")

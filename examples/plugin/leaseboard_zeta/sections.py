"""A section of the plugin in the report of a run."""

from typing import Any


def learned(results: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Show what share of its pool the zeta-policy trained in each job."""
    rows = [
        [row["name"], row["data"], row["metrics"]["trained_share"]]
        for row in results
        if "trained_share" in (row["metrics"] or {})
    ]
    if not rows:
        return None
    return {
        "title": "Trained share of the pool",
        "text": ["Each block of examples trains a part of the pool. 1 would be all of it."],
        "columns": ["Algorithm", "Data", "Share"],
        "rows": rows,
    }

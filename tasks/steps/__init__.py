"""The steps of a benchmark as Prefect tasks: ``from leaseboard.tasks.steps import fetch``.

Prefect is loaded with the first of them; `leaseboard.tasks.steps.interactive` runs the same steps
without it.
"""

from typing import Any

__all__ = ["fetch", "prepare", "record", "report", "results_of", "run", "score"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from leaseboard.tasks.steps import prefect_tasks

    return getattr(prefect_tasks, name)

"""The sections of the report of a run, and what they read in the event logs."""

from collections.abc import Callable
from typing import Any

from leaseboard.tasks.report.material import Material, Reader
from leaseboard.tasks.report.page import Section
from leaseboard.tasks.report.sections import (
    board,
    curves,
    jobs,
    policies,
    published,
    selections,
)
from leaseboard.tasks.score.diagnostics import signals

SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
    board.leaderboard,
    board.diagnostics,
    curves.curves,
    board.datasets,
    selections.ranks,
    selections.selections,
    policies.policies,
    published.published,
    jobs.leases,
    jobs.jobs,
)
"""In the order of the page; one that has nothing to say of a run gives None."""

READERS: tuple[Reader[Any], ...] = (
    curves.job_curves,
    selections.selection_log,
    policies.job_progress,
    jobs.job_log,
    signals,
)
"""All that any section asks of the event logs, each of which is read once."""

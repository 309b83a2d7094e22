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
    whole_systems,
)
from leaseboard.tasks.score.diagnostics import signals

SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
    board.leaderboard,
    board.diagnostics,
    curves.curves,
    board.significance,
    board.datasets,
    selections.ranks,
    selections.selections,
    published.relative_error,
    whole_systems.systems,
    whole_systems.own_processes,
    policies.regret,
    policies.speed_up,
    policies.exploitation,
    policies.retired,
    published.published,
    jobs.jobs,
    jobs.every_configuration,
    jobs.repeat,
)
"""In the order of the page; one that has nothing to say of a run gives None."""

READERS: tuple[Reader[Any], ...] = (
    curves.job_curves,
    selections.selection_log,
    policies.job_progress,
    policies.job_retired,
    jobs.job_log,
    signals,
)
"""All that any section asks of the event logs, each of which is read once."""

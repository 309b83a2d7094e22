"""The sections of a page, a module each, and what they read in the event logs."""

from collections.abc import Callable
from typing import Any

from tasks.report.material import Material, Reader
from tasks.report.section import Section
from tasks.report.sections import (
    agreement,
    anytime,
    data_sets,
    every_job,
    exploitation,
    ranking,
    relative_error,
    repeat,
    selections,
    significance_tests,
    speed_ups,
)

SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
    ranking.section,
    anytime.section,
    significance_tests.section,
    data_sets.section,
    selections.section,
    relative_error.section,
    speed_ups.section,
    exploitation.section,
    agreement.section,
    every_job.section,
    repeat.section,
)
"""In the order of the page; one that has nothing to say of a run gives None."""

READERS: tuple[Reader[Any], ...] = (
    anytime.job_curves,
    selections.selection_log,
    speed_ups.job_progress,
    every_job.log_page,
)
"""All that any section asks of the event logs, each of which is read once."""

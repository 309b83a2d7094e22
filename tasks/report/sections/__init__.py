"""The sections of a page, a module each, and what they read in the event logs."""

from collections.abc import Callable
from typing import Any

from leaseboard.tasks.report.section import Material, Reader, Section
from leaseboard.tasks.report.sections import (
    agreement,
    anytime,
    data_sets,
    every_job,
    exploitation,
    over_nights,
    own_processes,
    ranking,
    relative_error,
    repeat,
    retired_arms,
    selection_ranks,
    selections,
    significance_tests,
    speed_ups,
    whole_systems,
)

SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
    ranking.section,
    anytime.section,
    over_nights.section,
    significance_tests.section,
    data_sets.section,
    selection_ranks.section,
    selections.section,
    relative_error.section,
    whole_systems.section,
    own_processes.section,
    speed_ups.section,
    exploitation.section,
    retired_arms.section,
    agreement.section,
    every_job.section,
    repeat.section,
)
"""In the order of the page; one that has nothing to say of a run gives None."""

READERS: tuple[Reader[Any], ...] = (
    anytime.job_curves,
    selections.selection_log,
    speed_ups.job_progress,
    retired_arms.job_retired,
    every_job.log_page,
)
"""All that any section asks of the event logs, each of which is read once."""

"""Build ``report.html`` from ``results.parquet`` and the event logs of a run folder."""

import json
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.results import (
    SUITE_FILE,
    place_in_mlflow,
    shown_at,
    write_atomically,
)
from leaseboard.tasks.jobs.diagnostic_codes import Diagnostic
from leaseboard.tasks.jobs.job import plain_value
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.report import sections
from leaseboard.tasks.report.page import Section, page_of, wording
from leaseboard.tasks.report.sections import Material, Reader, read_logs
from leaseboard.tasks.score.diagnostics import signals
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.summary import Compared, compared

PAGE, DIAGNOSTICS = "report.html", "diagnostics.json"
SECTIONS: tuple[Callable[[Material], Section | None], ...] = (
    sections.leaderboard,
    sections.diagnostics,
    sections.curves,
    sections.datasets,
    sections.selections,
    sections.published,
    sections.jobs,
)
"""In the order of the page; one that has nothing to say of a run gives None."""
READERS: tuple[Reader, ...] = (
    sections.job_curve,
    sections.selection_log,
    signals,
)
"""All that any section asks of the event logs, each of which is read once."""


def read_diagnostics(out: Path) -> list[Diagnostic]:
    """Return the diagnostics of a run folder that `build` stored next to its page."""
    return [Diagnostic(**row) for row in json.loads((out / DIAGNOSTICS).read_bytes())]


def build(
    out: Path,
    suite: Suite | None = None,
    found: Compared | None = None,
) -> Path:
    """Write ``report.html`` of the run folder `out`, whole or not at all.

    - `out`: holds ``results.parquet`` and ``jobs/<key>/events.jsonl.gz``.
    - `suite`: gives title, scale and published numbers; it is stored next to the page, so that
      `suite_of` finds it when the report is built again.
    - `found`: the comparison of these results, where it has been made already.

    Returns the path of the page.
    """
    frame = as_frame(shown_at(out))
    found, mlflow = found or compared(frame, suite), place_in_mlflow(out)
    made = Material(out.name, frame, suite, found, *read_logs(out, frame, READERS), mlflow)
    makers = counted(SECTIONS, "building the page", "sections")
    asked = wording("questions")
    page = page_of(
        made.suite.title if made.suite else made.folder,
        [section for make in makers if (section := make(made)) is not None],
        description=made.suite.description if made.suite else "",
        answers=[[(asked[name], said) for name, said in made.found.answer.items()]],
        pictures=sections.pictures(made.found.board),
    )
    if suite is not None:  # only now: what cannot be compared leaves the folder unchanged
        write_atomically(out / SUITE_FILE, suite.model_dump_json(indent=1).encode())
    rows = json.dumps(plain_value([each._asdict() for each in made.diagnostics])).encode()
    write_atomically(out / DIAGNOSTICS, rows)
    write_atomically(out / PAGE, page.encode())
    return out / PAGE


def suite_of(out: Path) -> Suite | None:
    """Return the suite that `build` stored with an earlier page, None without such a page."""
    path = out / SUITE_FILE
    if not path.is_file():
        return None
    try:
        return Suite.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise UsageError(
            f"{path} is of another version ({error.error_count()} errors): run the suite again"
        ) from error

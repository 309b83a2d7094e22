"""Build ``report.html`` from ``results.parquet`` and the event logs of a run folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from algorithms.errors import UsageError
from tasks.folder.results import SUITE_FILE, shown_at, superseded, write_atomically
from tasks.jobs.suites.suite import Suite
from tasks.report.draw import svg
from tasks.report.material import Material, read_logs
from tasks.report.sections import READERS, SECTIONS
from tasks.report.shell import page_of
from tasks.report.stamp import is_stamped, stamp
from tasks.report.summary import summary
from tasks.score import board as terminal
from tasks.score.compared import Compared, compared
from tasks.score.frame import as_frame

PAGE = "report.html"


def build(
    out: Path,
    suite: Suite | None = None,
    found: Compared | None = None,
    *,
    ranked: Suite | None = None,
) -> Path:
    """Write ``report.html`` of the run folder `out`, whole or not at all.

    - `out`: holds ``results.parquet`` and ``jobs/<key>/events.jsonl.gz``.
    - `suite`: gives title, scale, published numbers and the commands; it is stored beside the
      page, so that `suite_of` finds it when the report is built again.
    - `found`: the comparison of these results, where it has been made already.
    - `ranked`: the suite by another measure, for this page alone; it is not stored.

    Returns the path of the page.
    """
    frame = as_frame(shown_at(out))
    page, shown = out / PAGE, ranked or suite
    made = Material(
        out.name,
        frame,
        shown,
        found or compared(frame, shown),
        *read_logs(out, frame, READERS),
        earlier=superseded(out, set(frame["key"])),
    )
    content = render(made, made_from=stamp(out, shown)).encode()
    _store(out, suite)  # only now: what cannot be compared leaves the folder as it is
    write_atomically(page, content)
    return page


def refresh(out: Path, suite: Suite | None, found: Compared) -> Path:
    """`build` the page, unless it is there and would come out the same."""
    page = out / PAGE
    if not is_stamped(page, stamp(out, suite)):
        return build(out, suite, found)
    _store(out, suite)
    return page


def figures(found: Compared) -> str:
    """The pictures of the summary, small, as HTML without scripts."""
    board, tests = found.board, found.tests
    name = terminal.score_name(board)
    pictures = [
        (f"{name[:1].upper()}{name[1:]}", svg.intervals(board.rows, name)),
        ("Score against CPU seconds", svg.costs(board.rows, name)),
    ]
    if not board.one_set:
        pictures.append(("Mean ranks", svg.critical_difference(tests)))
    return svg.sheet(pictures)


def suite_of(out: Path) -> Suite | None:
    """The suite that `build` stored beside an earlier page, None if there is none."""
    path = out / SUITE_FILE
    if not path.is_file():
        return None
    try:
        return Suite.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise UsageError(
            f"{path} is of another version ({error.error_count()} errors): run the suite again"
        ) from error


def _store(out: Path, suite: Suite | None) -> None:
    """Write what `suite_of` finds, unless it is there."""
    if suite is None:
        return
    path, content = out / SUITE_FILE, suite.model_dump_json(indent=1).encode()
    if not (path.is_file() and path.read_bytes() == content):
        write_atomically(path, content)


def render(made: Material, *, made_from: str, home: str = "") -> str:
    """The page as HTML; `home`: the address of the site that it is of, if it is of one."""
    return page_of(
        "report.html",
        title=made.suite.title if made.suite else made.folder,
        description=made.suite.description if made.suite else "",
        made_from=made_from,
        home=home,
        summary=summary(made),
        sections=[found for make in SECTIONS if (found := make(made)) is not None],
    )

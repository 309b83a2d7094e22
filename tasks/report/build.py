"""Build ``report.html`` from ``results.parquet`` and the event logs of a run folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.results import (
    RESULT,
    SUITE_FILE,
    TABLE,
    shown_at,
    superseded,
    write_atomically,
)
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report.draw import svg
from leaseboard.tasks.report.section import Material, data_cell, read_logs
from leaseboard.tasks.report.sections import READERS, SECTIONS
from leaseboard.tasks.report.shell import packages, page_of
from leaseboard.tasks.score import board as terminal
from leaseboard.tasks.score.compared import Compared, compared
from leaseboard.tasks.score.frame import as_frame

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
        ("Score against CPU seconds", svg.costs(board.rows, name, less=board.less_is_better)),
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


def summary(made: Material) -> dict[str, Any]:
    """The answers, the pictures beside them, and every job that is not ok."""
    board, answer = made.found.board, made.found.answer
    lead = (
        f"Relative loss in {board.metric}, below 1 is better than the best baseline"
        if board.baselines
        else terminal.score_name(board)
    )
    questions = (
        ("What is measured?", answer.metric),
        ("Which is best?", answer.best),
        ("Does the test agree?", answer.on_test),
        ("Better than naive baselines?", answer.first_tries),
        ("By how much?", answer.relative),
        (
            f"By how much in {board.scale.partition(':')[0]}?"
            if answer.relative
            else "By how much?",
            answer.by_how_much,
        ),
        ("What does that number say?", answer.meaning),
        ("How sure?", answer.how_sure),
        ("At what cost?", answer.cost),
        ("What is missing?", answer.missing),
    )
    unfinished = made.frame[made.frame["status"] != "ok"]
    return {
        "answers": [(question, text) for question, text in questions if text],
        "picture": svg.intervals(board.rows, lead),
        "costs": svg.costs(board.rows, terminal.score_name(board), less=board.less_is_better),
        "lead": lead,
        "scale": terminal.score_name(board),
        "jobs": len(made.frame),
        "unfinished": [(row, data_cell(row.data, made.names)) for row in unfinished.itertuples()],
    }


_CODE = Path(__file__).resolve().parents[2]
_SUFFIXES = {".py", ".html", ".css", ".js"}
_HEAD = 4096
"""The stamp stands among the first bytes of a page."""


def stamp(out: Path, suite: Suite | None) -> str:
    """A digest of all that the page of `out` shows: results, suite, our code, the packages.

    The event logs count by their digests, which the sealed results hold.
    """
    digest = hashlib.sha256((out / TABLE).read_bytes())
    for sealed in sorted(out.glob(f"jobs/*/{RESULT}")):
        digest.update(sealed.read_bytes())
    described = "" if suite is None else suite.model_dump_json()
    digest.update(json.dumps([out.name, described, packages()]).encode())
    for source in sorted(_sources()):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def is_stamped(page: Path, with_stamp: str) -> bool:
    """Whether the page is there and was made from what `with_stamp` stands for."""
    if not page.is_file():
        return False
    with page.open("rb") as file:
        return with_stamp.encode() in file.read(_HEAD)


def _sources() -> list[Path]:
    """Our files that can change a page; conservatively all of them."""
    return [
        path
        for top in ("algorithms", "tasks")
        for path in (_CODE / top).rglob("*")
        if path.suffix in _SUFFIXES
    ]

"""Build ``report.html`` from ``results.parquet`` and the event logs of a run folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

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
from leaseboard.tasks.report import pictures
from leaseboard.tasks.report.material import Material, read_logs
from leaseboard.tasks.report.page import Section, packages, page_of
from leaseboard.tasks.report.sections import READERS, SECTIONS
from leaseboard.tasks.report.sections.jobs import unfinished
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
    """Build the page, unless it is there and would come out the same."""
    page = out / PAGE
    if not is_stamped(page, stamp(out, suite)):
        return build(out, suite, found)
    _store(out, suite)
    return page


def figures(found: Compared) -> str:
    """Return the pictures of the summary as a page of their own."""
    shown = Section("figures", "Figures", figures=pictures.figures(found))
    return page_of(found.title, [shown])


def suite_of(out: Path) -> Suite | None:
    """Return the suite that `build` stored beside an earlier page, None if there is none."""
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
    """Return the page as HTML; `home`: the address of the site that it is of, if it is of one."""
    return page_of(
        made.suite.title if made.suite else made.folder,
        [found for make in SECTIONS if (found := make(made)) is not None],
        description=made.suite.description if made.suite else "",
        made_from=made_from,
        home=home,
        answers=[answers(made.found)],
        pictures=pictures.summary(made.found.board),
        callout=unfinished(made.frame, made.names),
    )


def answers(found: Compared) -> list[tuple[str, str]]:
    """Return the questions that a reader has, with what the board says."""
    answer, scale = found.answer, found.board.scale.partition(":")[0]
    questions = (
        ("What is measured?", answer.metric),
        ("Which is best?", answer.best),
        ("Does the test agree?", answer.on_test),
        ("Better than naive baselines?", answer.first_tries),
        ("By how much?", answer.relative),
        (f"By how much in {scale}?" if answer.relative else "By how much?", answer.by_how_much),
        ("What does that number say?", answer.meaning),
        ("How sure?", answer.how_sure),
        ("At what cost?", answer.cost),
        ("What is missing?", answer.missing),
    )
    return [(question, text) for question, text in questions if text]


_CODE = Path(__file__).resolve().parents[2]
_SUFFIXES = {".py", ".html", ".css", ".js"}
_HEAD = 4096
"""The stamp stands among the first bytes of a page."""


def stamp(out: Path, suite: Suite | None) -> str:
    """Return a digest of all that the page of `out` shows: results, suite, our code, the packages.

    The event logs count by their digests, which the sealed results hold.
    """
    digest = hashlib.sha256((out / TABLE).read_bytes())
    for sealed in sorted(out.glob(f"jobs/*/{RESULT}")):
        digest.update(sealed.read_bytes())
    described = "" if suite is None else suite.model_dump_json()
    digest.update(json.dumps([out.name, described, packages()]).encode())
    for top in ("algorithms", "tasks"):  # conservatively all files of ours
        for source in sorted((_CODE / top).rglob("*")):
            if source.suffix in _SUFFIXES:
                digest.update(source.read_bytes())
    return digest.hexdigest()


def is_stamped(page: Path, with_stamp: str) -> bool:
    """Return whether the page is there and was made from what `with_stamp` stands for."""
    if not page.is_file():
        return False
    with page.open("rb") as file:
        return with_stamp.encode() in file.read(_HEAD)

"""Build ``report.html`` from ``results.parquet`` and the event logs of a run folder."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.results import (
    MLFLOW_FILE,
    RESULT,
    SUITE_FILE,
    TABLE,
    shown_at,
    write_atomically,
)
from leaseboard.tasks.jobs.diagnostic_codes import Diagnostic
from leaseboard.tasks.jobs.job import plain_value
from leaseboard.tasks.jobs.plugin_check import usable
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.report import pictures
from leaseboard.tasks.report.charts import wording
from leaseboard.tasks.report.material import Material, Reader, read_logs
from leaseboard.tasks.report.page import packages, page_of
from leaseboard.tasks.report.sections import READERS, SECTIONS
from leaseboard.tasks.report.sections.added import added
from leaseboard.tasks.report.sections.jobs import unfinished
from leaseboard.tasks.score.diagnostics import signals
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.summary import Compared, compared

PAGE, DIAGNOSTICS, FIGURES = "report.html", "diagnostics.json", "figures.html"


def material(
    out: Path,
    suite: Suite | None,
    found: Compared | None = None,
    readers: Iterable[Reader[Any]] = READERS,
) -> Material:
    """Return the results, comparison and logs of a run folder.

    - `readers`: those that the sections ask for, by default.

    Raises UsageError if its results cannot be compared.
    """
    frame = as_frame(shown_at(out))
    found = found or compared(frame, suite)
    logs = read_logs(out, frame, readers)
    place = out / MLFLOW_FILE
    mlflow = json.loads(place.read_bytes()) if place.is_file() else {}
    return Material(out.name, frame, suite, found, *logs, mlflow)


def diagnose(out: Path, suite: Suite | None, found: Compared | None = None) -> list[Diagnostic]:
    """Return the diagnostics of a run folder, from its results and event logs."""
    return material(out, suite, found, [signals]).diagnostics


def read_diagnostics(out: Path) -> list[Diagnostic]:
    """Return the diagnostics of a run folder that `build` stored next to its page."""
    return [Diagnostic(**row) for row in json.loads((out / DIAGNOSTICS).read_bytes())]


def build(
    out: Path,
    suite: Suite | None = None,
    found: Compared | None = None,
    *,
    ranked: Suite | None = None,
) -> Path:
    """Write ``report.html`` of the run folder `out`, whole or not at all.

    - `out`: holds ``results.parquet`` and ``jobs/<key>/events.jsonl.gz``.
    - `suite`: gives title, scale, published numbers and the commands; it is stored next to the
      page, so that `suite_of` finds it when the report is built again.
    - `found`: the comparison of these results, where it has been made already.
    - `ranked`: the suite by another measure, for this page alone; it is not stored.

    Returns the path of the page.
    """
    page, shown = out / PAGE, ranked or suite
    made = material(out, shown, found)
    content = render(made, made_from=fingerprint(out, shown)).encode()
    _store(out, suite)  # only now: what cannot be compared leaves the folder unchanged
    rows = json.dumps(plain_value([each._asdict() for each in made.diagnostics])).encode()
    write_atomically(out / DIAGNOSTICS, rows)
    write_atomically(page, content + _SEAL + _seal(content, rows))
    return page


def refresh(out: Path, suite: Suite | None, found: Compared) -> Path:
    """Build the page, unless it is there and would come out the same."""
    if not current(out, suite):
        return build(out, suite, found)
    _store(out, suite)
    return out / PAGE


def current(out: Path, suite: Suite | None) -> str:
    """Return the fingerprint of page and diagnostics; empty unless they would come out the same.

    It is empty, too, if one of them is absent or was changed.
    """
    try:
        page, rows = (out / PAGE).read_bytes(), (out / DIAGNOSTICS).read_bytes()
    except OSError:
        return ""
    content, _, seal = page.rpartition(_SEAL)
    made_from = fingerprint(out, suite)
    is_ours = made_from.encode() in content[:_HEAD] and seal == _seal(content, rows)
    return made_from if is_ours else ""


def _seal(*contents: bytes) -> bytes:
    return f"{hashlib.sha256(b''.join(contents)).hexdigest()} -->\n".encode()


def draw(out: Path, found: Compared) -> Path:
    """Write ``figures.html``, the page's still pictures, unless it is there with the same page."""
    page, file = out / PAGE, out / FIGURES
    code = Path(pictures.__file__).read_bytes()  # other code draws other pictures of one page
    of = hashlib.sha256(page.read_bytes() + code).hexdigest() if page.is_file() else "no page"
    head = f"<!-- of {of} -->".encode()
    content, _, seal = file.read_bytes().rpartition(_SEAL) if file.is_file() else (b"",) * 3
    if not (page.is_file() and content.startswith(head) and seal == _seal(content)):
        content = head + pictures.figures(found).encode()
        write_atomically(file, content + _SEAL + _seal(content))
    return file


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


def _store(out: Path, suite: Suite | None) -> None:
    """Write what `suite_of` finds, unless it is there."""
    if suite is None:
        return
    path, content = out / SUITE_FILE, suite.model_dump_json(indent=1).encode()
    if not (path.is_file() and path.read_bytes() == content):
        write_atomically(path, content)


def render(made: Material, *, made_from: str) -> str:
    """Return the page as HTML."""
    sections = counted(SECTIONS, "building the page", "sections")
    return page_of(
        made.suite.title if made.suite else made.folder,
        [*(found for make in sections if (found := make(made)) is not None), *added(made)],
        description=made.suite.description if made.suite else "",
        made_from=made_from,
        answers=[answers(made.found)],
        pictures=pictures.summary(made.found.board, made.names),
        callout=unfinished(made.frame, made.names),
    )


def answers(found: Compared) -> list[tuple[str, str]]:
    """Return a reader's questions with the leaderboard's answers; one is the headline."""
    answer, asked = found.answer, wording("questions")
    if answer.relative:  # the common scale has its own table
        asked = {name: asked[name] for name in asked if name not in ("by_how_much", "meaning")}
    answered = {name: getattr(answer, name) for name in asked}
    headline = "relative" if answer.relative else "best"
    answered[headline] = Markup("<strong>{}</strong>").format(answered[headline])
    return [(asked[name], text) for name, text in answered.items() if text]


_CODE = Path(__file__).resolve().parents[2]
_SUFFIXES = {".py", ".html", ".css", ".js", ".yaml"}
_HEAD = 4096
"""The fingerprint is among the first bytes of a page."""
_SEAL = b"\n<!-- sealed: "
"""What is before the digest by which a change of a page, or of its diagnostics, is noticed."""


def fingerprint(out: Path, suite: Suite | None) -> str:
    """Return a digest of all that the page of `out` shows: results, suite, our code, the packages.

    The event logs count by their digests, which the results hold.
    """
    digest = hashlib.sha256((out / TABLE).read_bytes())
    for path in (*sorted(out.glob(f"jobs/*/{RESULT}")), *out.glob(MLFLOW_FILE)):
        digest.update(path.read_bytes())
    described = "" if suite is None else suite.model_dump_json()
    sections = [each.digest() for each in usable("sections")]
    digest.update(json.dumps([out.name, described, packages(), sections]).encode())
    for top in ("algorithms", "tasks"):  # conservatively all files of ours
        for source in sorted((_CODE / top).rglob("*")):
            if source.suffix in _SUFFIXES:
                digest.update(source.read_bytes())
    return digest.hexdigest()

"""The page of a live model, which opens offline, and a few lines for a terminal."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from leaseboard.tasks.folder.results import write_atomically
from leaseboard.tasks.live.page import quality, summary, tables
from leaseboard.tasks.live.page.summary import status
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.live.settings import FOLDER
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.report.page import Section, Table, page_of

__all__ = ["PAGE", "build", "status"]

PAGE = "report.html"

SECTIONS: Sequence[Callable[[ModelRecord], Section | None]] = (
    quality.losses,
    tables.candidates,
    tables.comparison,
    tables.incidents,
    tables.quarantine,
    tables.categories,
    tables.drift,
    quality.calibration,
    tables.batches,
)
"""In the order of the page; one that has nothing to show returns None."""


def build(record: ModelRecord, folder: Path) -> Path:
    """Write ``report.html`` into the live model's folder, whole or not at all; return its path."""
    settings = record.settings
    source = settings.data
    place = "/".join(Path(source.place).parts[-2:])
    if source.kind != FOLDER:
        place = redacted(source.place)
    questions: dict[str, Callable[[ModelRecord], str]] = {
        "Is anything wrong?": lambda record: Markup('<span class="{}">{}</span>').format(
            "bad" if record.open else "good", summary.trouble(record)
        ),
        "Who is champion?": summary.champion,
        "How good is it?": summary.quality,
        "Who challenges it?": summary.challenge,
        "Which labels are missing?": summary.labels,
        "What did the last update do?": summary.last_update,
    }
    answers = [(question, answer(record)) for question, answer in questions.items()]
    rows = [
        {
            "Incident": incident.kind,
            "What": incident.what,
            "Since (UTC)": tables.moment(incident.since.isoformat()),
            "See": incident.command,
        }
        for incident in (case.incident for case in record.open)
    ]
    title = "Open incidents"
    html = page_of(
        settings.name,
        [found for make in SECTIONS if (found := make(record)) is not None],
        description=f"Predicts {source.target} with {settings.model.algorithm} from {place}. As of"
        f" {record.now:%Y-%m-%d %H:%M} UTC.",
        answers=[answers[:3], answers[3:]],
        callout=Table("open-table", title, pd.DataFrame(rows), folded=title) if rows else None,
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / PAGE, html.encode())
    return folder / PAGE

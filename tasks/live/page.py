"""The page of a live model, which opens offline, and a few lines for a terminal."""

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from leaseboard.tasks.folder.results import PAGE, write_atomically
from leaseboard.tasks.live.candidates import CHALLENGER, CHAMPION, PREVIOUS, evidence_so_far
from leaseboard.tasks.live.record import ModelRecord, in_words, measures_of, name_of
from leaseboard.tasks.report import page as report
from leaseboard.tasks.score.frame import short

MOST_ROWS = 200
"""Of a table."""
MOST_INCIDENTS = 5
LATELY = timedelta(days=7)
"""The days that the summary is of."""
EMPHASIS = {"opened": "bad", "resolved": "good"}


def build(record: ModelRecord, folder: Path) -> Path:
    """Write ``report.html`` into the live model's folder, whole or not at all; return its path."""
    data, settings = record.settings.data, record.settings
    said = list(answers(record).items())
    html = report.page_of(
        settings.name,
        [history(record), quarantine(record)],
        description=f"Predicts {data.target} with {settings.model.algorithm} from"
        f" {'/'.join(Path(data.pattern).parts[-2:])}. As of {record.now:%Y-%m-%d %H:%M} UTC.",
        answers=[said[:3], said[3:]],
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / PAGE, html)
    return folder / PAGE


def history(record: ModelRecord) -> report.Section:
    """Return what happened to candidates, incidents and rows, the newest first."""
    names = {str(number): name_of(each) for number, each in record.candidates.items()}
    rows = [
        {
            "When (UTC)": moment(each.at),
            "Of": names.get(each.subject, each.subject),
            "What": each.what,
            "Event": report.Cell(each.kind, EMPHASIS.get(each.kind, "")),
        }
        for each in reversed(record.history)
    ]
    return listed("history", "History", rows, "Nothing has happened yet.")


def quarantine(record: ModelRecord) -> report.Section:
    """Return rows that broke the contract, by batch and reason, the newest first."""
    batches = {each["number"]: each for each in record.batches}
    found = pd.DataFrame(record.state.quarantined_rows(), columns=["batch", "reason", "id"])
    rows = [
        {
            "Came (UTC)": moment(batches[number]["at"]),
            "Batch": batches[number]["name"],
            "Reason": reason,
            "The first of them": ids.iloc[0],
            "Rows": len(ids),
        }
        for (number, reason), ids in found.groupby(["batch", "reason"], sort=False)["id"]
    ]
    return listed("quarantine", "Quarantined rows", rows, "No row was quarantined.")


def listed(name: str, title: str, rows: Sequence[dict[str, Any]], empty: str) -> report.Section:
    """Return a section with a table of the first rows; without rows with the sentence `empty`."""
    if not rows:
        return report.Section(name, title, nav=title, text=[empty])
    frame, more = pd.DataFrame(rows[:MOST_ROWS]), len(rows) - MOST_ROWS
    note = f"{more:,} older ones are not listed." if more > 0 else ""
    table = report.Table(f"{name}-table", title, frame, key=1, note=note)
    return report.Section(name, title, nav=title, tables=[table])


def moment(at: str) -> report.Cell:
    """Return a time to the minute."""
    return report.Cell(at[:16].replace("T", " "), "day")


def champion(record: ModelRecord) -> str:
    """Return who is champion, and since when."""
    found = record.champion
    if found is None:
        return "The model has no champion yet: the first is made when enough labels have come."
    moves = [each.at for each in record.history if each.kind == CHAMPION]
    since = (moves or [found.created])[-1][:10]
    return (
        f"{name_of(found)} has been champion since {since} and has learned {found.learned:,} rows."
    )


def quality(record: ModelRecord) -> str:
    """Return the loss of the last days in the target's unit, and of the best naive baseline."""
    days = record.days_of(record.champion.number) if record.champion else {}
    if record.champion is None or not days:
        return "No prediction of a champion has met its label yet."
    last, target, measure = max(days), record.settings.data.target, record.measure
    first = (date.fromisoformat(last) - LATELY).isoformat()
    lately = [day for day in days if day > first]
    total = record.total(record.champion.number, lately)
    mine = measures_of(total)
    labels = f"{total['rows']:,.0f} labels of the {LATELY.days} days up to {last}"
    if measure == "rmse":
        text = f"Over the {labels} its predictions of {target} have an RMSE of"
        text += f" {short(mine['rmse'], 3)} (MAE {short(mine['mae'], 3)})"
    else:
        text = f"Over the {labels} {100 * mine['error']:.1f} % of its predictions of {target} were"
        text += f" wrong, and their Brier score is {short(mine['brier'], 3)}"
    if "coverage" in mine:
        text += f", {100 * mine['coverage']:.0f} % of labels were inside their intervals"
    naive = {each.name: record.total(each.number, lately) for each in record.baselines}
    known = {name: measures_of(each)[measure] for name, each in naive.items() if each}
    best = min(known, key=known.__getitem__, default="")
    if not known.get(best):
        return f"{text}; it has no naive baseline to compare with."
    skill = 1 - mine[measure] / known[best]
    verdict = "better" if skill > 0 else "worse" if skill < 0 else "no better"
    return (
        f"{text}: {verdict} than {best} with {short(known[best], 3)}, the best naive baseline"
        f" (skill {short(skill, 2)})."
    )


def challenge(record: ModelRecord) -> str:
    """Return who challenges, and the evidence so far."""
    alpha, tests = record.settings.compare.alpha, record.lifecycle.tests
    parts = [
        f"{name_of(rival)}, {role}: {evidence_so_far(tests.get(role), alpha)}."
        for role in (CHALLENGER, PREVIOUS)
        if (rival := record.in_role(role)) and (role in tests or role == CHALLENGER)
    ]
    return " ".join(parts) or "The champion has no challenger."


def labels(record: ModelRecord) -> str:
    """Return how many rows wait for their label."""
    total = sum(record.waiting.values())
    if not total:
        return "No labels are missing."
    return f"{total:,} rows wait for a label, the oldest since {min(record.waiting)}."


def trouble(record: ModelRecord) -> str:
    """Return which incidents are open, the oldest first."""
    count = len(record.open)
    shown = [
        f"since {each.since:%Y-%m-%d %H:%M} {each.kind}: {each.what}; see {each.command}"
        for each in record.open[:MOST_INCIDENTS]
    ]
    more = [f"and {count - MOST_INCIDENTS} more"] if count > MOST_INCIDENTS else []
    text = f"{count or 'No'} open incident{'' if count == 1 else 's'}"
    return f"{text}{': ' * bool(count)}{'. '.join(shown + more)}."


def last_update(record: ModelRecord) -> str:
    """Return what the last update did."""
    found = record.state.last_update()
    if not found:
        return "There was no update yet."
    began = f"{found['began'][:16].replace('T', ' ')} UTC"
    if found["ended"] is None:
        return f"The last update began {began} and has not ended: it is running, or was stopped."
    if found["outcome"] == "failure":
        return f"The last update began {began}, and failed."
    return f"The last update was {began}: {in_words(found['summary'])}."


def answers(record: ModelRecord) -> dict[str, str]:
    """Return how the live model is doing, a sentence or two for each question."""
    return {
        "incidents": trouble(record),
        "champion": champion(record),
        "lately": quality(record),
        "against": challenge(record),
        "labels": labels(record),
        "update": last_update(record),
    }


def status(record: ModelRecord) -> str:
    """Return what `leaseboard live status` prints."""
    lines = [f"{record.settings.name}: {record.settings.data.target}"]
    lines += [f"  {name:<10} {text}" for name, text in answers(record).items()]
    return "\n".join(lines)

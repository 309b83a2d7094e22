"""The model card of a candidate: what it is, which data it learned, its scores and limits."""

import json
from calendar import day_name
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from leaseboard.tasks.jobs.diagnostic_codes import lines_of
from leaseboard.tasks.live.diagnostics import diagnostics_of
from leaseboard.tasks.live.explanation import TEXTS, explanation_of
from leaseboard.tasks.live.losses import LossTotal, label_of, loss_of_row
from leaseboard.tasks.live.record import ModelRecord
from leaseboard.tasks.live.update import LiveModel
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.report.page import cell
from leaseboard.tasks.store.live_tables import ModelCandidate

DAYS = 28
"""Last days that the scores are of, at most."""
SHOWN = 14
"""Last days that have a line each, at most."""
SLICED = 1000
"""Last labelled rows that are scored by category, at most."""
FEW_WORDS = 8
"""A column with more categories has no table."""

_ESCAPED = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "\\<", "\n": " ", "\r": " "})
"""Characters of names and words that would end a cell, or begin HTML."""

_SCORES = """## Scores

Of predictions made before the label was known, in the target's own unit. Skill is the share of
the loss of the best naive baseline (running mean, last label) that is avoided.

"""
_LIMITS = """## Limits

- It predicts rows that conform to the contract below; others are refused.
- Scores are of the past: the monitor of the live model reports when data or errors change.
- Intervals hold the share of labels that they say on average over time, not for each kind of row.
- Features are not causes: to change a feature need not change the target."""


def card(live: LiveModel, record: ModelRecord, candidate: ModelCandidate) -> str:
    """Return the card of a candidate, as Markdown."""
    days = sorted(record.days)[-DAYS:]
    scores = {day: record.scores(candidate.number, [day]) for day in days[-SHOWN:]}
    scores[f"{len(days)} days"] = record.scores(candidate.number, days)
    weekdays: dict[int, list[str]] = {}
    for day in days:
        weekdays.setdefault(date.fromisoformat(day).weekday(), []).append(day)
    by_weekday = {
        day_name[each]: record.scores(candidate.number, weekdays[each])
        for each in sorted(weekdays)
    }
    data, batches = live.settings.data, record.batches
    last = f", the last `{batches[-1]['name']}`" if batches else ""
    rules = {
        name: rule.model_dump(mode="json", exclude_defaults=True, exclude={"kind"})
        for name, rule in live.contract.columns.items()
    }
    contract = [
        [name, live.contract.columns[name].kind, ", ".join(f"{k} {v}" for k, v in rule.items())]
        for name, rule in rules.items()
    ]
    parts = [
        f"# {live.settings.name}: candidate {candidate.number}",
        f"""\
`{candidate.name}` predicts `{data.target}`. It was created on {candidate.created[:10]}
({candidate.why}) and has learned {candidate.learned:,} rows.

## Data

- source: `{redacted(data.source)}`
- time `{data.time}`, identity `{data.id}`, target `{data.target}`
- {len(batches)} batches{last}""",
        _SCORES + _table("day", scores),
        f"## By weekday\n\n{_table('weekday', by_weekday)}",
        *_by_category(live, candidate.number),
        *_explained(record, candidate),
        *_diagnosed(record),
        _LIMITS,
        f"## Contract\n\n{_lines(['column', 'kind', 'rule'], contract)}",
    ]
    return "\n\n".join(parts) + "\n"


def _diagnosed(record: ModelRecord) -> Iterator[str]:
    """Yield what the diagnostics find, if anything."""
    if found := diagnostics_of(record):
        yield "## Diagnostics\n\n" + "\n".join(f"- {line}" for line in lines_of(found))


def _explained(record: ModelRecord, candidate: ModelCandidate) -> Iterator[str]:
    """Yield what a candidate goes by, if it learns a stream."""
    for title, table in explanation_of(record, candidate).items():
        cells = [[cell(value).text for value in row] for row in table.itertuples(index=False)]
        yield f"## {title}\n\n{TEXTS[title]}\n\n{_lines(list(table), cells)}"


def _by_category(live: LiveModel, number: int) -> Iterator[str]:
    """Yield a table of the last rows for each column of few categories."""
    known = [
        (
            json.loads(row.features),
            LossTotal(1, loss_of_row(predictions[str(number)], label_of(row))),
        )
        for row in live.state.labelled_rows(SLICED)
        if str(number) in (predictions := json.loads(row.predictions or "{}"))
    ]
    for name, rule in live.contract.columns.items():
        if not 1 < len(rule.categories) <= FEW_WORDS:
            continue
        if name in (live.settings.data.target, live.settings.data.id):
            continue
        found: dict[str, list[LossTotal]] = {}
        for features, total in known:
            found.setdefault(str(features.get(name)), []).append(total)
        totals = {word: LossTotal.of(found[word]) for word in sorted(found)}
        scores = {
            word: {"rows": float(each.rows)} | each.measures for word, each in totals.items()
        }
        yield f"## By {name}\n\nThe last {len(known)} labels.\n\n{_table(name, scores)}"


def _table(title: str, scores: Mapping[str, Mapping[str, float]]) -> str:
    """Return measures line by line."""
    names = list(dict.fromkeys(name for each in scores.values() for name in each))
    if not names:
        return "No label has come yet."
    rows = [
        [what, *(f"{each[name]:.4g}" if name in each else "" for name in names)]
        for what, each in scores.items()
        if each
    ]
    return _lines([title, *names], rows)


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([text.translate(_ESCAPED) for text in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)

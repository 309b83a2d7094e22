"""The model card of a lineage: what it is, which data it learned, how it did, its limits."""

from __future__ import annotations

import json
from calendar import day_name
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from leaseboard.algorithms.benches.measures import skill_over
from leaseboard.tasks.keep.contract import Contract
from leaseboard.tasks.keep.losses import Sums, added, loss_of_row, measures_of
from leaseboard.tasks.keep.rows import label_of
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import REFERENCE
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import KeptRow, Lineage

DAYS = 28
"""The days that a score is of, at most: the last ones."""
SHOWN = 14
"""Of those, the days that are told one by one."""
SLICED = 1000
"""The rows that are told by category: the last ones whose label has come."""
FEW_WORDS = 8
"""A column with more categories is no slice."""

_SCORES = """## Scores

Of forecasts made before the label was known, in the target's own unit. Skill is the share of the
loss of the best first try (running mean, last label) that is avoided.

"""
_LIMITS = """## Limits

- It forecasts rows that keep the contract below; others are refused.
- Scores are of the past: the watch of the keep tells when data or errors change.
- Intervals hold the share of labels that they say on average over time, not for each kind of row.
- What it forecasts is no cause: to change a feature need not change the target."""

Scored = tuple[int, Sums]
"""Rows, and the sums of their losses."""


@dataclass(frozen=True)
class TrackRecord:
    """What a keep knows of its lineages, read once for all cards of a turn."""

    keep: Keep
    contract: Contract
    lineages: Sequence[Lineage]
    batches: Sequence[Mapping[str, Any]]
    days: Mapping[str, Mapping[int, Scored]]
    """By day and lineage, the last `DAYS` with labels."""
    rows: Sequence[KeptRow]

    @classmethod
    def of(cls, keep: Keep, contract: Contract, state: State) -> TrackRecord:
        """What the state says now."""
        days: dict[str, dict[int, Scored]] = {}
        for each in state.days():
            days.setdefault(each["day"], {})[each["lineage"]] = each["rows"], each["sums"]
        last = {day: days[day] for day in sorted(days)[-DAYS:]}
        rows = state.settled(SLICED)
        return cls(keep, contract, state.lineages(), state.batches(), last, rows)

    def scores(self, lineage: Lineage, days: Iterable[str] | None = None) -> dict[str, float]:
        """The measures of a lineage over days, all by default, with the skill over first tries.

        The skill counts the days alone that the lineage and a first try both have forecast.
        """
        chosen = list(self.days if days is None else days)
        mine = self._total(lineage.number, chosen)
        if not mine[0]:
            return {}
        found = {"rows": float(mine[0])} | measures_of(mine[1], mine[0])
        tried = [each.number for each in self.lineages if each.role == REFERENCE]
        both = [day for day in chosen if {lineage.number, *tried} <= self.days[day].keys()]
        if both and tried:
            loss = _mean(self._total(lineage.number, both))
            found["skill"] = skill_over([_mean(self._total(n, both)) for n in tried], loss)
        return found

    def _total(self, number: int, days: Iterable[str]) -> Scored:
        rows, sums = 0, Sums()
        for day in days:
            more, these = self.days[day].get(number, (0, {}))
            rows, sums = rows + more, added(sums, these)
        return rows, sums


def card(record: TrackRecord, lineage: Lineage) -> str:
    """The card of a lineage, as Markdown."""
    by_day = {day: record.scores(lineage, [day]) for day in [*record.days][-SHOWN:]}
    by_day[f"{len(record.days)} days"] = record.scores(lineage)
    parts = [
        f"# {record.keep.name}: {lineage.role}, lineage {lineage.number}",
        _what(record, lineage),
        _SCORES + _table("day", by_day),
        _by_weekday(record, lineage),
        *_by_category(record, lineage),
        _LIMITS,
        _contract(record.contract),
    ]
    return "\n\n".join(parts) + "\n"


def _what(record: TrackRecord, lineage: Lineage) -> str:
    data = record.keep.data
    last = f", the last `{record.batches[-1]['name']}`" if record.batches else ""
    return f"""\
`{lineage.name}` forecasts `{data.target}`. It was made on {lineage.born[:10]} ({lineage.why}) and
has learned {lineage.learned:,} rows.

## Data

- source: `{redacted(data.source)}`
- time `{data.time}`, identity `{data.id}`, target `{data.target}`
- {len(record.batches)} batches{last}"""


def _by_weekday(record: TrackRecord, lineage: Lineage) -> str:
    days: dict[int, list[str]] = {}
    for day in record.days:
        days.setdefault(date.fromisoformat(day).weekday(), []).append(day)
    scores = {day_name[each]: record.scores(lineage, days[each]) for each in sorted(days)}
    return f"## By weekday\n\n{_table('weekday', scores)}"


def _by_category(record: TrackRecord, lineage: Lineage) -> Iterator[str]:
    """Of the last rows, by each column of few categories."""
    told = [
        (json.loads(row.features), forecasts[str(lineage.number)], label_of(row))
        for row in record.rows
        if row.features and str(lineage.number) in (forecasts := json.loads(row.forecasts or "{}"))
    ]
    for name, rule in record.contract.columns.items():
        few = 1 < len(rule.categories) <= FEW_WORDS
        if not few or name in (record.keep.data.target, record.keep.data.id):
            continue
        found: dict[str, Scored] = {}
        for features, forecast, label in told:
            rows, sums = found.get(str(features.get(name)), (0, {}))
            found[str(features.get(name))] = rows + 1, added(sums, loss_of_row(forecast, label))
        scores = {
            word: {"rows": float(rows)} | measures_of(sums, rows)
            for word, (rows, sums) in sorted(found.items())
        }
        yield f"## By {name}\n\nThe last {len(told)} labels.\n\n{_table(name, scores)}"


def _table(title: str, scores: Mapping[str, Mapping[str, float]]) -> str:
    """Measures line by line."""
    names = list(dict.fromkeys(name for each in scores.values() for name in each))
    if not names:
        return "No label has come yet."
    return _lines(
        [title, *names],
        [
            [what, *(f"{each[name]:.4g}" if name in each else "" for name in names)]
            for what, each in scores.items()
            if each
        ],
    )


def _contract(contract: Contract) -> str:
    rules = {
        name: rule.model_dump(mode="json", exclude_defaults=True, exclude={"kind"})
        for name, rule in contract.columns.items()
    }
    said = [
        [name, contract.columns[name].kind, ", ".join(f"{key} {rule[key]}" for key in rule)]
        for name, rule in rules.items()
    ]
    return f"## Contract\n\n{_lines(['column', 'kind', 'rule'], said)}"


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([text.replace("|", "\\|").replace("\n", " ") for text in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _mean(scored: Scored) -> float:
    return scored[1].get("loss", 0.0) / scored[0]

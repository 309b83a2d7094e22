"""What the watch sees of a batch, day by day: alarms for people, drift for retraining.

A day is one point of the watch, in however many batches it comes: what came of it before is read
from the state, and the day is looked at again as it is now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from leaseboard.tasks.keep.changes import Happened, KeptRow
from leaseboard.tasks.keep.content import frame_of
from leaseboard.tasks.keep.keeping import Keeping
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.keep.taking import label_of
from leaseboard.tasks.keep.turn import Work
from leaseboard.tasks.keep.watch.stream_watch import INPUTS, OUTCOMES, Noticed, StreamWatch
from leaseboard.tasks.models.continued import Told

WATCH = "watch"
"""In the memory: the state of the watch."""

LEAST_ROWS = 10
"""Of a day: fewer say too little."""

UNSEEN = "unseen"
"""In the memory: by part of the watch and day, the rows since it looked at the day last."""

GROWN = 0.25
"""By so much a day must have grown to be looked at again before the end of the turn, so that what
comes row by row is looked at a few times, and not each time with all that came before."""


def watch(keeping: Keeping, work: Work, *, rest: bool = False) -> None:
    """Look at the rows that are new, and at the labels that came.

    - `rest`: look at all days that have grown at all since they were looked at last.
    """
    champion = keeping.shadow.of_role(CHAMPION)
    if champion is None:
        return
    state, number = keeping.memory.get(WATCH), str(champion.number)
    for day in {row.day for row in work.settled}:
        rows_of_day, was_alarming = _last(state, OUTCOMES, day)
        if rows_of_day:
            work.doubtful[day] = was_alarming
    inputs = list(_days(keeping, work.taken.new, number, INPUTS, rest=rest))
    outcomes = list(_days(keeping, work.settled, number, OUTCOMES, rest=rest))
    if not inputs and not outcomes:
        return
    seen = StreamWatch() if state is None else StreamWatch.from_dict(state)
    for day, rows, told in inputs:
        features = _features(keeping, rows)
        points = pd.Series([_point(each) for each in told])
        _alarm(keeping, work, INPUTS, day, seen.observe(day, features, points).alarms)
    for day, rows, told in outcomes:
        labels = [label_of(row) for row in rows]
        losses = [_loss(each, label) for each, label in zip(told, labels, strict=True)]
        forecasts: pd.Series | pd.DataFrame = pd.Series([_point(each) for each in told])
        if isinstance(told[0], Mapping):
            labels, forecasts = [str(label) for label in labels], pd.DataFrame(told).fillna(0.0)
        found = seen.settle(day, pd.Series(labels), forecasts, pd.Series(losses))
        if work.has_begun:  # the past, which the first champion has learned just now
            continue
        _alarm(keeping, work, OUTCOMES, day, found.alarms or found.worse)
        work.doubtful[day] = bool(found.alarms)
        work.drift += tuple(each.what for each in found.drift)
        keeping.shadow.tell(
            Happened(keeping.at, "drift", each.series, each.what) for each in found.drift
        )
    keeping.memory[WATCH] = seen.to_dict()


def _last(state: Mapping[str, Any] | None, part: str, day: str) -> tuple[int, bool]:
    """How many rows of a day the watch saw last, 0 if none, and whether they were alarming."""
    if state is None or day not in state[part]["days"]:
        return 0, False
    place = state[part]["days"].index(day)
    return state[part]["rows"][place], bool(state[part]["alarmed"][place])


def _days(
    keeping: Keeping, rows: Sequence[KeptRow], number: str, part: str, *, rest: bool
) -> Iterator[tuple[str, list[KeptRow], list[Told]]]:
    """The days of rows that the champion has forecast, in their order, with its forecasts.

    Each is whole, as far as it has come; of `OUTCOMES` as far as its labels have.
    """
    new: dict[str, dict[str, KeptRow]] = {}
    for row in rows:
        if row.day <= keeping.last_day:
            new.setdefault(row.day, {})[row.id] = row
    unseen = keeping.memory.setdefault(UNSEEN, {}).setdefault(part, {})
    for day in sorted({*unseen} if rest else new):
        unseen[day] = unseen.get(day, 0) + len(new.get(day, ()))
        last = _last(keeping.memory.get(WATCH), part, day)[0]
        if not rest and unseen[day] < (GROWN * last or LEAST_ROWS):
            continue
        stored = keeping.state.rows_on(day, settled=part == OUTCOMES)
        rows_of_day = {row.id: row for row in stored} | new.get(day, {})
        told = [
            (row, json.loads(row.forecasts or "{}").get(number)) for row in rows_of_day.values()
        ]
        known = [(row, each) for row, each in told if each is not None]
        if rest or len(known) >= LEAST_ROWS:
            del unseen[day]
        if len(known) >= LEAST_ROWS:
            yield day, [row for row, _ in known], [each for _, each in known]


def _features(keeping: Keeping, rows: Sequence[KeptRow]) -> pd.DataFrame:
    """What rows hold; flags are no numbers, whose median would leap from 0 to 1."""
    features = frame_of([json.loads(row.features) for row in rows], keeping.shadow.dates)
    columns = keeping.contract.columns
    flags = [name for name in features if name in columns and columns[name].kind == "flag"]
    told = {name: features[name].map(bool, na_action="ignore").astype(object) for name in flags}
    return features.assign(**told)


def _alarm(
    keeping: Keeping, work: Work, subject: str, day: str, alarms: Sequence[Noticed]
) -> None:
    """One incident for all that is unlike the days before; none for the past."""
    if alarms and not work.has_begun:
        more = f", and {len(alarms) - 1} more" if len(alarms) > 1 else ""
        keeping.incident("alarm", subject, f"{day}: {alarms[0].what}{more}")


def _point(told: Told) -> Any:
    """The number, or the likeliest class."""
    if isinstance(told, Mapping):
        return max(told, key=told.__getitem__)
    return told[0] if isinstance(told, list) else told


def _loss(told: Told, label: Any) -> float:
    """The absolute error, or 1 minus the probability of the class."""
    if isinstance(told, Mapping):
        return 1 - told.get(str(label), 0.0)
    return abs(float(_point(told)) - float(label))

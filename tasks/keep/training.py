"""What is learned and when: doubtful labels wait, and challengers are made when they are due."""

from __future__ import annotations

import itertools
from operator import attrgetter

from leaseboard.tasks.keep.lifecycle import DoubtfulDay
from leaseboard.tasks.keep.rows import label_of
from leaseboard.tasks.keep.shadow import CHALLENGER, RETIRED
from leaseboard.tasks.keep.update import ModelUpdate, Work
from leaseboard.tasks.store.live_tables import Happened, KeptRow, Lineage

_day_of = attrgetter("day")


def make_first_champion(update: ModelUpdate, work: Work) -> None:
    """Make the first champion, once labels suffice; it forecasts the past day by day."""
    earlier = update.state.settled(update.keep.retrain.window)
    rows = [*earlier, *work.settled]
    if not update.shadow.recipe.suffices([label_of(row) for row in rows]):
        return
    work.has_begun = True
    work.settled = update.shadow.begin(rows, update.at)[len(earlier) :]
    told = {row.id: row for row in work.settled}
    waiting = [row for row in work.taken.new if row.id not in told]
    told |= {row.id: row for row in update.shadow.forecast(waiting)}
    work.taken.new = [told[row.id] for row in work.taken.new]


def make_challenger(update: ModelUpdate, work: Work, champion: Lineage, why: str) -> None:
    """Make a challenger of the last rows, if these suffice; one that is there is retired."""
    shadow, lifecycle, window = update.shadow, update.lifecycle, update.keep.retrain.window
    if shadow.goes_on:  # of all that the champion knows it would be the same again
        window = min(window, (champion.learned + 1) // 2)
    rows = [*update.state.settled(window), *work.settled][-window:]
    doubted = {*(lifecycle.doubtful.rows if lifecycle.doubtful else ()), *lifecycle.left_out}
    rows = [row for row in rows if row.id not in doubted]
    if not shadow.recipe.suffices([label_of(row) for row in rows]):
        return
    before = shadow.of_role(CHALLENGER)
    if before is not None:
        shadow.move(before, RETIRED, update.at, "retired", f"a new challenger: {why}")
    shadow.bear(rows, update.at, why)
    lifecycle.challenger_since = update.moment
    lifecycle.rows_since_challenger = 0
    lifecycle.duels.pop(CHALLENGER, None)


def why_due(update: ModelUpdate, work: Work) -> str:
    """Why a challenger is to be made; empty if none is."""
    wanted, lifecycle = update.keep.retrain, update.lifecycle
    lifecycle.rows_since_challenger += len(work.settled)
    since = lifecycle.challenger_since = lifecycle.challenger_since or update.moment
    if wanted.when == "drift" and work.drift:
        return f"drift: {work.drift[0]}"
    if wanted.rows is not None and lifecycle.rows_since_challenger >= wanted.rows:
        return f"{lifecycle.rows_since_challenger} rows since the last"
    if wanted.every is not None and update.now - since >= wanted.every:
        return f"{(update.now - since).days} days since the last"
    return ""


def rows_to_learn(update: ModelUpdate, work: Work) -> list[KeptRow]:
    """The rows to learn: a day's labels that are doubtful wait for those of the next day.

    If these are as doubtful, the world has changed, and both are learned, with all that follow
    until one is doubtful no more; if not, the labels of the first were wrong, and are never
    learned. A day that is doubtful no more when the rest of it has come is learned.
    """
    believed, changed = list[KeptRow](), update.lifecycle.has_changed
    held = update.lifecycle.doubtful
    for day, group in itertools.groupby(sorted(work.settled, key=_day_of), key=_day_of):
        rows, is_doubtful = list(group), work.doubtful.get(day)
        if held and day == held.day and is_doubtful:
            held.rows += [row.id for row in rows]
        elif is_doubtful and not held and not changed:
            held = DoubtfulDay(day, [row.id for row in rows])
        elif held and (day == held.day or is_doubtful):
            believed += [*_waited(update, work, held), *rows]
            changed = day != held.day
            held = None
        else:
            believed += rows
            changed &= is_doubtful is not False
            if held and is_doubtful is False and day > held.day:
                _leave_out(update, held.rows)
                held = None
    update.lifecycle.doubtful, update.lifecycle.has_changed = held, changed
    return believed


def _waited(update: ModelUpdate, work: Work, held: DoubtfulDay) -> list[KeptRow]:
    """The rows that waited, in the order in which they came, as far as they are known still."""
    new = {row.id: row for row in work.settled}
    known = update.state.rows_of([each for each in held.rows if each not in new])
    there = sorted((row for row in known.values() if row.features), key=attrgetter("number"))
    return [*there, *(new[each] for each in held.rows if each in new)]


def _leave_out(update: ModelUpdate, rows: list[str]) -> None:
    """Never learn rows."""
    what = f"{len(rows)} rows are not learned: their labels were unlike those before and after"
    update.shadow.tell([Happened(update.at, "left out", "labels", what)])
    lifecycle = update.lifecycle
    lifecycle.left_out = [*lifecycle.left_out, *rows][-update.keep.retrain.window :]

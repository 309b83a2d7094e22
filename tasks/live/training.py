"""Training: doubtful labels wait, and challengers are made when they are due."""

from __future__ import annotations

import itertools
from operator import attrgetter
from typing import TYPE_CHECKING

from leaseboard.tasks.live.lifecycle import DoubtfulDay
from leaseboard.tasks.live.losses import label_of
from leaseboard.tasks.live.shadow import CHALLENGER, RETIRED
from leaseboard.tasks.store.live_tables import HistoryEntry, ModelCandidate, StoredRow

if TYPE_CHECKING:
    from leaseboard.tasks.live.update import Update
    from leaseboard.tasks.live.work import Work

_day_of = attrgetter("day")


def make_first_champion(update: Update, work: Work) -> None:
    """Make the first champion, once labels suffice; it predicts the past day by day."""
    earlier = update.state.labelled_rows(update.settings.retrain.window)
    rows = [*earlier, *work.labelled]
    if not update.shadow.recipe.suffices([label_of(row) for row in rows]):
        return
    work.made_champion = True
    work.labelled = update.shadow.create_champion(rows, update.at)[len(earlier) :]
    known = {row.id: row for row in work.labelled}
    waiting = [row for row in work.rows.new if row.id not in known]
    known |= {row.id: row for row in update.shadow.predict(waiting)}
    work.rows.new = [known[row.id] for row in work.rows.new]


def make_challenger(update: Update, work: Work, champion: ModelCandidate, why: str) -> None:
    """Make a challenger of the last rows, if these suffice; one that is there is retired."""
    shadow, lifecycle, window = update.shadow, update.lifecycle, update.settings.retrain.window
    if shadow.recipe.goes_on:  # of all that the champion knows it would be the same again
        window = min(window, (champion.learned + 1) // 2)
    rows = [*update.state.labelled_rows(window), *work.labelled][-window:]
    doubted = {*(lifecycle.doubtful.rows if lifecycle.doubtful else ()), *lifecycle.left_out}
    rows = [row for row in rows if row.id not in doubted]
    if not shadow.recipe.suffices([label_of(row) for row in rows]):
        return
    before = shadow.in_role(CHALLENGER)
    if before is not None:
        shadow.change_role(before, RETIRED, update.at, "retired", f"a new challenger: {why}")
    shadow.create_challenger(rows, update.at, why)
    lifecycle.challenger_since = update.moment
    lifecycle.rows_since_challenger = 0
    lifecycle.tests.pop(CHALLENGER, None)


def why_due(update: Update, work: Work) -> str:
    """Return why a challenger is due; empty if none is."""
    wanted, lifecycle = update.settings.retrain, update.lifecycle
    lifecycle.rows_since_challenger += len(work.labelled)
    since = lifecycle.challenger_since = lifecycle.challenger_since or update.moment
    if wanted.when == "drift" and work.drift:
        return f"drift: {work.drift[0]}"
    if wanted.rows is not None and lifecycle.rows_since_challenger >= wanted.rows:
        return f"{lifecycle.rows_since_challenger} rows since the last"
    if wanted.every is not None and update.now - since >= wanted.every:
        return f"{(update.now - since).days} days since the last"
    return ""


def rows_to_learn(update: Update, work: Work) -> list[StoredRow]:
    """Return the rows to learn: a day's doubtful labels wait for those of the next day.

    If these are as doubtful, the world has changed, and both are learned, with all that follow
    until one is not doubtful any more; if not, the labels of the first were wrong, and are never
    learned. A day that is not doubtful any more when the rest of it has come is learned.
    """
    believed, changed = list[StoredRow](), update.lifecycle.has_changed
    held = update.lifecycle.doubtful
    for day, group in itertools.groupby(sorted(work.labelled, key=_day_of), key=_day_of):
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


def _waited(update: Update, work: Work, held: DoubtfulDay) -> list[StoredRow]:
    """Return the rows that waited, in the order in which they came, if they are known."""
    new = {row.id: row for row in work.labelled}
    known = update.state.rows_of([each for each in held.rows if each not in new])
    there = sorted((row for row in known.values() if row.features), key=attrgetter("number"))
    return [*there, *(new[each] for each in held.rows if each in new)]


def _leave_out(update: Update, rows: list[str]) -> None:
    """Exclude rows from all learning."""
    what = f"{len(rows)} rows are not learned: their labels were unlike those before and after"
    update.shadow.record_history([HistoryEntry(update.at, "left out", "labels", what)])
    lifecycle = update.lifecycle
    lifecycle.left_out = [*lifecycle.left_out, *rows][-update.settings.retrain.window :]

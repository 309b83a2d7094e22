"""One batch of a keep, step by step; nothing is written until `commit`.

The steps are those of `leaseboard.flows.keep`: check, settle, watch, learn, compare, promote. Each
takes the `Work` on the batch and adds to it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.keep.batches import Batch, identify
from leaseboard.tasks.keep.changes import Changes, Happened, KeptRow, TakenIn
from leaseboard.tasks.keep.conform import AHEAD, Remark, check, with_absent
from leaseboard.tasks.keep.content import packed, values_in
from leaseboard.tasks.keep.keeping import Keeping
from leaseboard.tasks.keep.losses import Sums
from leaseboard.tasks.keep.reading import features_of
from leaseboard.tasks.keep.settings import FOLDER
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, RETIRED, by_day, losses_of
from leaseboard.tasks.keep.taking import OTHER_VALUES, Sorted, is_labels_alone, label_of, take
from leaseboard.tasks.models.plain_columns import text_of

UNCLAIMED = timedelta(days=7)
"""How long a label that was posted waits for its row to come: it may be in tomorrow's file."""

HELD = "held"
"""In the memory: the ``rows`` that wait to be learned, and their ``day``."""

CHANGED = "changed"
"""In the memory: whether the last days were doubtful and learned, as of a world that changed."""

LEFT_OUT = "left out"
"""In the memory: the rows that are not learned, as far as a window may reach."""

DUELS = "duels"
"""In the memory: the state of the champion's duel with each role."""

SINCE = "challenger since"
"""In the memory: when the last challenger was made."""

CATEGORIES, MOST_CATEGORIES = "categories", 1000
"""In the memory: by column the last categories that came and that the contract does not name."""

HELD_BACK = "held back"
"""In the memory: what `Keeping.held` was in the last turn."""

REPEATED = 0.5
"""The share of a batch from which on rows that had come before are told."""

BEGIN_AGAIN = (
    ": if {id} begins again, as each month, join the time to it at the source, such as 2026-02-17,"
    " and deliver the file again"
)
"""How to fix ids that are of other rows."""

_CLASSES = {1.0: "True", 0.0: "False"}
"""What flags are called where they are forecast; a missing one stays missing."""

MOST_REMARKS = 3
"""Of a batch, that are told each by itself."""

REMEMBERED = timedelta(days=90)
"""How long the identity of a row is known after its day; without days, for ever."""


@dataclass
class Work:
    """What is done for one batch."""

    batch: Batch
    changes: Changes
    taken: Sorted = field(default_factory=Sorted)
    settled: list[KeptRow] = field(default_factory=list)
    """Rows whose label has come with this batch, in the order they are learned."""
    losses: list[dict[int, Sums]] = field(default_factory=list)
    """What each lineage's forecast of each of them cost."""
    has_begun: bool = False
    """Whether the first champion was made of this batch."""
    doubtful: dict[str, bool] = field(default_factory=dict)
    """By day that the watch has judged: whether its labels are unlike those of other days."""
    drift: tuple[str, ...] = ()
    """Why a challenger should be made."""


def posted_labels(keeping: Keeping) -> Batch | None:
    """The labels that were posted to the server, as a batch of ids and labels."""
    data, before = keeping.keep.data, keeping.now.astimezone(UTC) - UNCLAIMED
    if data.id is None:
        return None
    posted = keeping.state.posted(before.isoformat(timespec="seconds"))
    if not posted:
        return None
    numbers = tuple(number for number, _, _ in posted)
    frame = pd.DataFrame(
        {
            data.id: [identity for _, identity, _ in posted],
            data.target: [json.loads(label) for _, _, label in posted],
        }
    )
    digest = hashlib.sha256(f"posted {numbers}".encode()).hexdigest()
    return Batch(f"labels posted up to {max(numbers)}", digest, frame, posted=numbers)


def checked(keeping: Keeping, batch: Batch) -> Work | None:
    """Hold a batch against the contract; None, with an incident, if it must not be taken in."""
    if batch.frame is None:
        keeping.incident("broken file", batch.name, batch.fault)
        return None
    data, frame = keeping.keep.data, batch.frame
    if not len(frame) and (why := keeping.memory.get(HELD_BACK, {}).get(batch.name)):
        for each in why:  # a header without rows is no fix: what was to come has not come
            keeping.incident(*each)
        return None
    work, alone = Work(batch, Changes(at=keeping.at)), is_labels_alone(frame, data)
    contract = keeping.contract.of_labels(data) if alone else keeping.contract
    held = check(contract, frame, now=keeping.now)
    if held.breaks:  # what else is odd is told when the batch is taken in
        _tell_remarks(keeping, "contract", batch.name, held.breaks)
        return None
    # How old it is, is told at the end, of the newest rows of all.
    told = [remark for remark in held.told if not remark.key.startswith("age of")]
    _tell_remarks(keeping, "data", batch.name, told)
    aside = [(each, values_in(frame.iloc[[each.position]])[0]) for each in held.aside]
    if aside:
        first, count = held.aside[0], f"{len(aside)} of {len(frame)} rows set aside"
        what = f"{batch.name}: {count}, the first of them row {first.position + 1}: {first.reason}"
        keeping.incident("rows set aside", first.column, what)
    frame = held.rows
    if not alone:
        features = [each.name for each in features_of(keeping.contract, data)]
        frame = with_absent(keeping.contract, frame, features)
    if contract.columns[data.target].kind == "flag" and data.target in frame:
        frame = frame.assign(**{data.target: frame[data.target].map(_CLASSES)})
    try:
        ids = list(identify(frame.assign(**held.moments), data))
    except DataError as error:
        keeping.incident("broken file", batch.name, f"{batch.name}: {error}")
        return None
    known = keeping.state.rows_of(list(dict.fromkeys(ids)))
    forgotten = keeping.state.forgotten()
    times = held.moments.get(data.time or "")
    zone = keeping.contract.rows.zone
    local = None if times is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)
    work.taken = take(frame, ids, known, data, keeping.at[:10], forgotten, local)
    if not batch.posted:  # labels that were posted have waited already
        said_at = keeping.now.astimezone(UTC).isoformat(timespec="seconds")
        early = work.taken.may_wait()
        work.changes.early = [(identity, said_at, label) for identity, label in early]
    _tell_ids(keeping, batch, work.taken, len(ids))
    _tell_repeats(keeping, batch, work.taken, len(ids))
    work.taken.aside += [
        (str(row.get(data.id or "", "")), each.reason, packed(row)) for each, row in aside
    ]
    _tell_new_categories(keeping, batch, frame)
    work.taken.new = keeping.shadow.forecast(work.taken.new)
    if times is not None:
        there = times[times <= keeping.now.astimezone(UTC).replace(tzinfo=None) + AHEAD]
        newest = [each.isoformat() for each in (there.max(),) if not pd.isna(each)]
        keeping.memory["newest"] = max([keeping.memory.get("newest", ""), *newest])
    work.changes.batch = TakenIn(batch.name, batch.digest, work.taken.counts(), batch.watermark)
    return work


def _tell_remarks(keeping: Keeping, kind: str, name: str, remarks: Sequence[Remark]) -> None:
    """Each by itself; many, as of a file of another kind, are one incident."""
    if len(remarks) > MOST_REMARKS:
        more = f"{name}: {remarks[0].text}; and {len(remarks) - 1} more such faults"
        keeping.incident(kind, "many faults", more)
        return
    for remark in remarks:
        keeping.incident(kind, remark.key, f"{name}: {remark.text}")


def _tell_new_categories(keeping: Keeping, batch: Batch, rows: pd.DataFrame) -> None:
    """Tell the first sight of categories that neither the contract nor an earlier batch has."""
    seen = keeping.memory.setdefault(CATEGORIES, {})
    for name, rule in keeping.contract.columns.items():
        if rule.kind != "category" or name not in rows:
            continue
        known = seen.get(name, [])
        new = sorted(set(rows[name].dropna()) - {*map(text_of, rule.categories), *known})
        if new:
            seen[name] = [*known, *new][-MOST_CATEGORIES:]
        if new and keeping.shadow.lineages:
            count = f"{int(rows[name].isin(new).sum())} of {len(rows)} rows"
            many = "a category" if len(new) == 1 else f"{len(new)} categories"
            what = f"{batch.name}: {count} hold {many} of {name!r} that never came before"
            fix = "fix the source, or add it to the contract"
            keeping.incident("data", f"categories of {name}", f"{what}: {fix}")


def _tell_ids(keeping: Keeping, batch: Batch, taken: Sorted, count: int) -> None:
    """Tell rows whose identity is that of others; new rows without any show that this is over."""
    if taken.aside:
        reason = taken.aside[0][1]
        again = BEGIN_AGAIN.format(id=keeping.keep.data.id) if OTHER_VALUES in reason else ""
        what = f"{batch.name}: {len(taken.aside)} of {count} rows set aside: {reason}{again}"
        keeping.incident("ids", reason, what)
    elif taken.new:
        keeping.is_over("ids")


def _tell_repeats(keeping: Keeping, batch: Batch, taken: Sorted, count: int) -> None:
    """Tell rows that came again, unless a file has grown, as one to which each day is added."""
    if taken.new and keeping.state.had_batch(batch.name):
        return
    if taken.old:
        what = (
            f"{batch.name}: {taken.old} rows are of days that are forgotten: they may have been"
            " learned, and are not learned again"
        )
        keeping.incident("repeated", "old rows", what)
    elif keeping.keep.data.kind == FOLDER and taken.repeated > REPEATED * count:
        what = f"{batch.name}: {taken.repeated} of {count} rows had come before"
        keeping.incident("repeated", "rows", what)


def settle(keeping: Keeping, work: Work) -> None:
    """Let labels meet the forecasts of their rows."""
    work.settled = work.taken.labelled + [r for r in work.taken.new if r.is_settled]
    if keeping.shadow.of_role(CHAMPION) is None:
        begin(keeping, work)
    work.losses = losses_of(work.settled)
    work.changes.days = by_day(work.settled, work.losses)
    work.changes.rows = work.taken.new
    work.changes.labels = [(row.number, row.label or "") for row in work.taken.labelled]
    work.changes.aside = work.taken.aside


def begin(keeping: Keeping, work: Work) -> None:
    """Make the first champion, once there are labels enough; it forecasts the past day by day."""
    earlier = keeping.state.settled(keeping.keep.retrain.window)
    rows = [*earlier, *work.settled]
    if not keeping.shadow.recipe.suffices([label_of(row) for row in rows]):
        return
    work.has_begun = True
    work.settled = keeping.shadow.begin(rows, keeping.at)[len(earlier) :]
    told = {row.id: row for row in work.settled}
    waiting = [row for row in work.taken.new if row.id not in told]
    told |= {row.id: row for row in keeping.shadow.forecast(waiting)}
    work.taken.new = [told[row.id] for row in work.taken.new]


def learn(keeping: Keeping, work: Work) -> None:
    """Have lineages learn what was settled; make a challenger when one is due."""
    shadow, settled = keeping.shadow, work.settled
    champion = shadow.of_role(CHAMPION)
    if champion is None or work.has_begun:
        return
    shadow.learn(_believed(keeping, work))
    why = due(keeping, work)
    if why and keeping.keep.compare.shadow:
        window = keeping.keep.retrain.window
        if shadow.goes_on:  # of all that the champion knows it would be the same again
            window = min(window, (champion.learned + 1) // 2)
        rows = [*keeping.state.settled(window), *settled][-window:]
        held = keeping.memory.get(HELD, {}).get("rows", [])
        doubted = {*held, *keeping.memory.get(LEFT_OUT, [])}
        rows = [row for row in rows if row.id not in doubted]
        if not shadow.recipe.suffices([label_of(row) for row in rows]):
            return
        before = shadow.of_role(CHALLENGER)
        if before is not None:
            shadow.move(before, RETIRED, keeping.at, "retired", f"a new challenger: {why}")
        shadow.bear(rows, keeping.at, why)
        keeping.memory[SINCE] = keeping.at
        keeping.memory["rows since"] = 0
        keeping.memory.get(DUELS, {}).pop(CHALLENGER, None)


def _believed(keeping: Keeping, work: Work) -> list[KeptRow]:
    """The rows to learn: a day's labels that are doubtful wait for those of the next day.

    If these are as doubtful, the world has changed, and both are learned, with all that follow
    until one is doubtful no more; if not, the labels of the first were wrong, and are never
    learned. A day that is doubtful no more when the rest of it has come is learned.
    """
    memory, believed = keeping.memory, list[KeptRow]()
    changed: bool = memory.get(CHANGED, False)
    held: dict[str, Any] = memory.get(HELD, {})
    new = {row.id: row for row in work.settled}

    def waited() -> list[KeptRow]:
        known = keeping.state.rows_of([each for each in held["rows"] if each not in new])
        there = [*(row for row in known.values() if row.features)]
        there.sort(key=lambda row: row.number)
        return [*there, *(new[each] for each in held["rows"] if each in new)]

    for day, group in itertools.groupby(sorted(work.settled, key=_day_of), key=_day_of):
        rows, is_doubtful = list(group), work.doubtful.get(day)
        if held and day == held["day"] and is_doubtful:
            held["rows"] += [row.id for row in rows]
        elif is_doubtful and not held and not changed:
            held = {"day": day, "rows": [row.id for row in rows]}
        elif held and (day == held["day"] or is_doubtful):
            believed += [*waited(), *rows]
            changed = day != held["day"]
            held = {}
        else:
            believed += rows
            changed &= is_doubtful is not False
            if held and is_doubtful is False and day > held["day"]:
                _leave_out(keeping, held["rows"])
                held = {}
    memory[HELD], memory[CHANGED] = held, changed
    return believed


def _leave_out(keeping: Keeping, rows: list[str]) -> None:
    """Never learn rows."""
    what = f"{len(rows)} rows are not learned: their labels were unlike those before and after"
    keeping.shadow.tell([Happened(keeping.at, "left out", "labels", what)])
    known: list[str] = keeping.memory.get(LEFT_OUT, [])
    keeping.memory[LEFT_OUT] = [*known, *rows][-keeping.keep.retrain.window :]


def _day_of(row: KeptRow) -> str:
    return row.day


def due(keeping: Keeping, work: Work) -> str:
    """Why a challenger is to be made; empty if none is."""
    wanted, memory = keeping.keep.retrain, keeping.memory
    memory["rows since"] = memory.get("rows since", 0) + len(work.settled)
    since = datetime.fromisoformat(memory.setdefault(SINCE, keeping.at))
    if wanted.when == "drift" and work.drift:
        return f"drift: {work.drift[0]}"
    if wanted.rows is not None and memory["rows since"] >= wanted.rows:
        return f"{memory['rows since']} rows since the last"
    if wanted.every is not None and keeping.now - since >= wanted.every:
        return f"{(keeping.now - since).days} days since the last"
    return ""


def commit(keeping: Keeping, work: Work) -> None:
    """Write what the batch brought; `conclude` writes the rest, in the same transaction."""
    work.changes.posted = work.batch.posted
    work.changes.window = keeping.keep.retrain.window
    remembered, today = max(REMEMBERED, 3 * keeping.keep.data.label_delay), keeping.now.date()
    work.changes.served_horizon = (today - remembered).isoformat()
    days = [date.fromisoformat(row.day) for row in work.taken.new]
    days = [day for day in days if day <= today + AHEAD]  # one of the year 2099 forgets no other
    if days and keeping.keep.data.time is not None:
        work.changes.horizon = (max(days) - remembered).isoformat()
    keeping.state.commit(work.changes)


def conclude(keeping: Keeping) -> None:
    """Write what came of the batches since the last time: models, memory, and what is told."""
    changes = Changes(keeping.at)
    keeping.shadow.put_into(changes)
    keeping.record(changes)
    keeping.state.commit(changes)

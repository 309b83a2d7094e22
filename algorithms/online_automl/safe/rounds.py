"""End of a round: tables of slots and candidates, which compiled code advances.

What it decides is written into rows, in order; the race makes events of them afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import quick
from leaseboard.algorithms.online.kernel import Doubles, Slots
from leaseboard.algorithms.online_automl.race import EMPTY
from leaseboard.algorithms.online_automl.safe.mixture import LOSS, LOSS_SQUARES, SQUARES
from leaseboard.algorithms.online_automl.safe.windows import (
    BELOW,
    ENDED,
    WORSE,
    critical_value,
    judge,
)
from leaseboard.algorithms.plain import Saved

REPORT, ELIMINATE, PAUSE, EXTEND, START = range(5)
"""Kinds of decisions."""

KIND, SLOT, NUMBER, AMOUNT = range(4)
"""The columns of a decision: its kind, a slot, the number of its configuration; and examples, of a
report and of what leaves its slot those that it learned there, else those of the lease."""

VALUE, LOWER, UPPER = range(3)
"""Its numbers: of a report the mean loss and its bounds, of what leaves its slot the first is the
sum of the losses there."""

FRONTIER, ELIMINATED, LEASE = range(3)
"""The columns of a candidate."""

NO_CHANGE, TOO_LARGE = -1, -2
"""What `end_round` returns in the place of a new champion's slot."""


class RoundTable(NamedTuple):
    """The slots of a race, its candidates, and what was decided of them.

    Attributes
    ----------
    holders, terms, fresh_at, leases, reported_at, starts : ndarray of int64, shape (b,)
        Of each slot: the number of its configuration; how many of its features are not 0 at a
        time; after which example it went live; its lease, in examples from the beginning of its
        window; after which example its bounds were reported last; the example before which its
        window begins.
    sums : ndarray of float64, shape (at least b, 4)
        Over that window, see `leaseboard.algorithms.online_automl.safe.mixture.Mixture`.
    candidates : ndarray of int64, shape (n, 3)
        Of each configuration, see `FRONTIER` and those after it.
    sizes : ndarray of float64, shape (n,)
        Terms of each configuration.
    queue : ndarray of int64, shape (n + 1,)
        How many wait for a slot, then these.
    decided : ndarray of int64, shape (5 * b, 4)
    values : ndarray of float64, shape (5 * b, 3)
    """

    holders: Slots
    terms: Slots
    fresh_at: Slots
    leases: Slots
    reported_at: Slots
    starts: Slots
    sums: Doubles
    candidates: Slots
    sizes: Doubles
    queue: Slots
    decided: Slots
    values: Doubles


class Candidates(Saved):
    """S of the paper, with the leases that its members have reached.

    Attributes
    ----------
    table : ndarray of int64, shape (n, 3)
        Of each configuration: whether the oracle proposed it for the present champion, whether it
        has left for good, and the lease that it will get after a pause, in examples; 0 if it never
        had one.
    queue : ndarray of int64, shape (n + 1,)
        How many members of the frontier are not live, then these, in the order in which they get
        free slots (Choose, algorithm 3): first those that never had a lease, then by the least
        lease; among equals in the order in which they came.
    sizes : ndarray of float64, shape (n,)
        Terms of each configuration.
    """

    def __init__(self) -> None:
        self.table, self.sizes = np.zeros((0, 3), dtype=np.int64), np.zeros(0)
        self.queue = np.zeros(1, dtype=np.int64)

    def measure(self, sizes: Iterable[float], start: int = 0) -> None:
        """Take the terms of the configurations from number `start` on."""
        given = np.array([*sizes], dtype=np.float64)
        need, have = start + len(given), len(self.sizes)
        if need > have:  # room for twice as many
            more = 2 * need - have
            self.table = np.pad(self.table, ((0, more), (0, 0)))
            self.sizes, self.queue = np.pad(self.sizes, (0, more)), np.pad(self.queue, (0, more))
        self.sizes[start:need] = given

    def forget_frontier(self) -> None:
        """Forget all but the eliminated: a new champion brings its own frontier."""
        self.table[:, [FRONTIER, LEASE]] = 0
        self.queue[0] = 0

    def join(self, numbers: list[int], holders: Slots) -> None:
        """Add configurations to the frontier; those wait that are neither live nor eliminated."""
        join(self.table, self.queue, np.array(numbers, dtype=np.int64), holders)

    @property
    def waiting(self) -> list[int]:
        """Those that wait, in order."""
        return self.queue[1 : 1 + self.queue[0]].tolist()  # type: ignore[no-any-return]

    def state(self) -> dict[str, Any]:
        """See `Saved.state`."""
        frontier, eliminated, leases = self.table.T
        numbers = np.flatnonzero(leases)
        return {
            "frontier": {*np.flatnonzero(frontier).tolist()},
            "pending": self.waiting,
            "eliminated": {*np.flatnonzero(eliminated).tolist()},
            "leases": dict(zip(numbers.tolist(), leases[numbers].tolist(), strict=True)),
        }

    def fill(self, state: Any) -> None:
        """See `Saved.fill`; there is room for all configurations."""
        for column in (FRONTIER, ELIMINATED):
            name = ("frontier", "eliminated")[column]
            self.table[[*state[name]], column] = 1
        for number, lease in state["leases"].items():
            self.table[number, LEASE] = lease
        pending = state["pending"]
        self.queue[: 1 + len(pending)] = len(pending), *pending


@compiled
def wait(candidates: Slots, queue: Slots, number: int) -> None:
    """Let a configuration wait for a slot, by its lease."""
    place = queue[0] = queue[0] + 1
    while place > 1 and candidates[queue[place - 1], LEASE] > candidates[number, LEASE]:
        queue[place] = queue[place - 1]
        place -= 1
    queue[place] = number


@quick
@compiled
def join(candidates: Slots, queue: Slots, numbers: Slots, holders: Slots) -> None:
    """See `Candidates.join`."""
    for number in numbers:
        out = candidates[number, ELIMINATED] > 0
        for slot in range(len(holders)):
            out = out or holders[slot] == number
        for place in range(1, queue[0] + 1):
            out = out or queue[place] == number
        candidates[number, FRONTIER] = 1
        if not out:
            wait(candidates, queue, number)


@compiled
def decide(table: RoundTable, n: int, kind: int, slot: int, amount: int) -> int:
    """Write a decision about what is in `slot` into row n; return the next row."""
    row = table.decided[n]
    row[KIND], row[SLOT], row[NUMBER], row[AMOUNT] = kind, slot, table.holders[slot], amount
    return n + 1


@compiled
def compared(table: RoundTable) -> int:
    """Return |S|; 1 if none is compared."""
    live = 0
    for number in table.holders:
        live += number != EMPTY
    return int(max(1, live - 1 + table.queue[0]))


@compiled
def critical_of(table: RoundTable, slot: int, at: int, length: int, delta: float, n: int) -> float:
    """Return the critical value of a slot's window, of rounds of this length, if |S| is n."""
    return critical_value(n, max((at - table.starts[slot] + length - 1) // length, 1), delta)


@compiled(error_model="numpy")
def report(
    table: RoundTable,
    n: int,
    slot: int,
    champion: int,
    at: int,
    length: int,
    delta: float,
    size: int,
) -> int:
    """Report a mean loss with its bounds, of each model once at most after an example.

    A challenger's radius is that of its mean difference from the champion: the tests are whether
    its bounds leave out the champion's loss on the same examples. The champion, which does not
    differ from itself, has the radius of its own loss around its mean.
    """
    if table.reported_at[slot] == at or table.starts[slot] == at:
        return n
    table.reported_at[slot] = at
    sums, seen = table.sums[slot], at - table.starts[slot]
    loss = sums[LOSS] / seen
    own = max(sums[LOSS_SQUARES] - seen * (loss * loss), 0.0)
    spread = own if slot == champion else sums[SQUARES]
    width = critical_of(table, slot, at, length, delta, size) * math.sqrt(spread) / seen
    values = table.values[n]
    values[VALUE], values[LOWER], values[UPPER] = loss, max(loss - width, 0.0), loss + width
    return decide(table, n, REPORT, slot, at - table.fresh_at[slot])


@quick
@compiled
def report_live(table: RoundTable, champion: int, at: int, length: int, delta: float) -> int:
    """Do `report` for all live models; return how many rows were written."""
    n, size = 0, compared(table)
    for slot in range(len(table.holders)):
        if table.holders[slot] != EMPTY:
            n = report(table, n, slot, champion, at, length, delta, size)
    return n


@compiled
def leave(table: RoundTable, n: int, kind: int, slot: int, at: int, lost: Doubles) -> int:
    """Empty a slot."""
    table.values[n, VALUE] = lost[slot]
    n = decide(table, n, kind, slot, at - table.fresh_at[slot])
    table.holders[slot], table.terms[slot] = EMPTY, 0
    return n


@compiled
def fill(table: RoundTable, n: int, at: int, least: int, most: float) -> int:
    """Give free slots to waiting configurations, as far as terms go."""
    left, queue, place, slot = most - table.terms.sum(), table.queue, 1, 0
    while place <= queue[0]:
        while slot < len(table.holders) and table.holders[slot] != EMPTY:
            slot += 1
        number = queue[place]
        if slot == len(table.holders):
            break
        if table.sizes[number] > left:
            place += 1
            continue
        # It waits no longer, and begins a window and a lease.
        for later in range(place, queue[0]):
            queue[later] = queue[later + 1]
        queue[0] -= 1
        left -= table.sizes[number]
        table.holders[slot], table.terms[slot] = number, int(table.sizes[number])
        table.fresh_at[slot] = table.starts[slot] = at
        for column in range(4):
            table.sums[slot, column] = 0.0
        lease = table.candidates[number, LEASE]
        table.leases[slot] = lease if lease > 0 else least
        n = decide(table, n, START, slot, table.leases[slot])
    return n


@quick
@compiled
def fill_slots(table: RoundTable, at: int, least: int, most: float) -> int:
    """Do `fill`; return how many rows were written."""
    return fill(table, 0, at, least, most)


@compiled
def _drop(
    table: RoundTable,
    n: int,
    live: Slots,
    verdicts: Slots,
    champion: int,
    at: int,
    length: int,
    delta: float,
    lost: Doubles,
) -> int:
    """Report what is worse and the champion that it is compared with; then let it leave."""
    size, failed = compared(table), False
    for slot in live:
        if verdicts[slot] == WORSE:
            n, failed = report(table, n, slot, champion, at, length, delta, size), True
    if failed:
        n = report(table, n, champion, champion, at, length, delta, size)
    for slot in live:
        if verdicts[slot] == WORSE:
            table.candidates[table.holders[slot], ELIMINATED] = 1
            n = leave(table, n, ELIMINATE, slot, at, lost)
    return n


@compiled
def _end_leases(
    table: RoundTable,
    n: int,
    live: Slots,
    verdicts: Slots,
    champion: int,
    at: int,
    length: int,
    delta: float,
    lost: Doubles,
) -> int:
    """Report models whose leases have ended; each gets a longer one, or pauses."""
    size, waits = compared(table), table.queue[0] > 0
    for slot in live:
        if verdicts[slot] >= ENDED:
            n = report(table, n, slot, champion, at, length, delta, size)
    for slot in live:
        if verdicts[slot] < ENDED:
            continue
        lease, number = 2 * table.leases[slot], table.holders[slot]
        if waits and verdicts[slot] & BELOW:
            n = leave(table, n, PAUSE, slot, at, lost)
            table.candidates[number, LEASE] = lease
            if table.candidates[number, FRONTIER]:
                wait(table.candidates, table.queue, number)
        else:
            table.leases[slot] = lease
            n = decide(table, n, EXTEND, slot, table.starts[slot] - table.fresh_at[slot] + lease)
    return n


@quick
@compiled
def end_round(
    table: RoundTable,
    champion: int,
    at: int,
    length: int,
    delta: float,
    least: int,
    most: float,
    lost: Doubles,
    reports: bool,
) -> tuple[int, int]:
    """Test Better, else Worse and the leases; then fill free slots.

    What is proved worse than the champion leaves for good, while others wait for a slot. A lease
    that has ended is doubled; below the median a waiting configuration gets the slot.

    Parameters
    ----------
    champion, at : int
        Its slot, and the examples learned.
    length, delta
        Of a round, in examples, and δ.
    least : int
        The first lease.
    most : float
        Terms of all live models, at most.
    lost : ndarray of float64
        Each slot's sum of the losses that are scored.
    reports : bool
        Whether the bounds of all are due.

    Returns
    -------
    n, best : int
        The rows that were written; and the slot of the challenger that is proved better, else
        `NO_CHANGE`, or `TOO_LARGE` if live models have too many terms. After both others
        nothing is decided.
    """
    n, b, size = 0, len(table.holders), compared(table)
    live, count = np.empty(b, dtype=np.int64), 0
    critical, verdicts = np.empty(b), np.zeros(b, dtype=np.int64)
    for slot in range(b):
        if table.holders[slot] != EMPTY:
            live[count], count = slot, count + 1
            critical[slot] = critical_of(table, slot, at, length, delta, size)
            if reports:
                n = report(table, n, slot, champion, at, length, delta, size)
    if table.terms.sum() > most:  # there were fewer columns when they came
        return n, TOO_LARGE
    live = live[:count]
    best = judge(
        table.sums, table.starts, table.leases, live, champion, at, critical, table.queue[0],
        verdicts,
    )  # fmt: skip
    if best >= 0:
        return n, best
    n = _drop(table, n, live, verdicts, champion, at, length, delta, lost)
    n = _end_leases(table, n, live, verdicts, champion, at, length, delta, lost)
    return fill(table, n, at, least, most), NO_CHANGE

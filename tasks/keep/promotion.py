"""Promotion: the champion against its challenger and against the one before, on evidence.

Each pair has a sequential test, whose evidence holds at every moment one looks, see
`leaseboard.algorithms.sequential.duel`. It begins when the later of the two is born or promoted,
and sees the rows that both have forecast before their label was known, in the order that labels
came.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential.duel import Duel, Side
from leaseboard.tasks.keep.lifecycle import LifecycleState
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED
from leaseboard.tasks.keep.update import ModelUpdate, Work
from leaseboard.tasks.score.summary import short
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, Happened, Lineage, in_role, renamed

BRIER = 2.0
"""The largest difference of two Brier scores."""


def duel_of(update: ModelUpdate, role: str) -> Duel:
    """The champion's test against who has `role`; a new one if it has not begun.

    Against the one before, its evidence may begin at any row: a good reign may end badly.
    """
    bound = None if update.shadow.task == "regression" else BRIER
    return update.lifecycle.duels.get(role) or Duel(bound=bound, restarts=role == PREVIOUS)


def evidence_of(update: ModelUpdate, role: str, side: Side = "challenger") -> str:
    """What the champion's test against who has `role` says for a side, in words."""
    duel = duel_of(update, role)
    better = role if side == "challenger" else "champion"
    evidence = duel.e_value(side)
    return f"the {better} is better: evidence {evidence:.3g} after {duel.rows} labels"


def paired_losses(work: Work, first: Lineage, second: Lineage) -> tuple[list[float], list[float]]:
    """The losses of two lineages on the settled rows that both have forecast."""
    both = [
        (each[first.number]["loss"], each[second.number]["loss"])
        for each in work.losses
        if first.number in each and second.number in each
    ]
    return [ours for ours, _ in both], [theirs for _, theirs in both]


@dataclass(frozen=True, slots=True)
class DuelSoFar:
    """What the duel of champion and challenger says so far; no `duel` before its first row."""

    duel: Duel | None
    alpha: float

    @property
    def suffices(self) -> bool:
        """Whether a turn would promote on it."""
        return self.duel is not None and self.duel.decision(self.alpha) == "challenger"

    @property
    def words(self) -> str:
        """For a person, in one line."""
        if self.duel is None or not self.duel.rows:
            return "no label of a row that both have forecast has come"
        labels = "1 label" if self.duel.rows == 1 else f"{self.duel.rows:,} labels"
        told = (
            f"evidence {short(self.duel.e_value('challenger'), 3)} for it and"
            f" {short(self.duel.e_value('champion'), 3)} against it after {labels},"
            f" {1 / self.alpha:g} decides; it loses {short(self.duel.mean, 3)} less a row"
        )
        low, high = self.duel.interval(self.alpha)
        ends = f" ({short(low, 3)} to {short(high, 3)})" if math.isfinite(low + high) else ""
        return f"{told}{ends}"


def promote_by_hand(
    state: State, alpha: float, at: str, *, anyway: bool = False
) -> tuple[bool, str]:
    """Make the challenger champion if the evidence suffices, or `anyway`.

    Returns whether it was done, and the evidence in one line. The state of the keep alone is
    changed. The caller holds its turn until it has published, or what another turn has learned in
    between would be taken for what is published.

    Raises UsageError if there is no challenger.
    """
    lineages = state.lineages()
    champion, challenger = in_role(lineages, CHAMPION), in_role(lineages, CHALLENGER)
    if champion is None or challenger is None:
        raise UsageError(
            f"the keep {state.name!r} has no challenger: a turn makes one, when `retrain:` of"
            " its file says so"
        )
    duels = LifecycleState.read(state.memory()).duels
    evidence = DuelSoFar(duels.get(CHALLENGER), alpha)
    if not evidence.suffices and not anyway:
        return False, evidence.words
    what = f"{challenger.number} takes the place, by hand: {evidence.words}"
    moved, happened = _succeeded(champion, challenger, at, what)
    before = in_role(lineages, PREVIOUS)
    if before is not None:
        moved.insert(0, replace(renamed(before, RETIRED), model=None))
        happened.insert(0, Happened(at, RETIRED, str(before.number), "two champions ago"))
    state.commit(Changes(at, lineages=moved, memory={"duels": {}}, happened=happened))
    return True, evidence.words


def roll_back(state: State, at: str) -> str:
    """Make the previous champion champion again, and the champion previous; says so in one line.

    As with `promote_by_hand`, the caller holds the turn and publishes.

    Raises UsageError if there is no previous champion.
    """
    lineages = state.lineages()
    champion, previous = in_role(lineages, CHAMPION), in_role(lineages, PREVIOUS)
    if champion is None or previous is None:
        raise UsageError(
            f"the keep {state.name!r} has no previous champion to go back to: it has one once a"
            " challenger was promoted"
        )
    what = f"lineage {previous.number} again, in the place of {champion.number}: by hand"
    moved, happened = _succeeded(champion, previous, at, what)
    state.commit(Changes(at, lineages=moved, memory={"duels": {}}, happened=happened))
    return what


def _succeeded(
    champion: Lineage, successor: Lineage, at: str, what: str
) -> tuple[list[Lineage], list[Happened]]:
    """The two in their new roles, and what is said of each."""
    roles = {PREVIOUS: champion, CHAMPION: successor}
    return (
        [renamed(lineage, role) for role, lineage in roles.items()],
        [Happened(at, role, str(lineage.number), what) for role, lineage in roles.items()],
    )

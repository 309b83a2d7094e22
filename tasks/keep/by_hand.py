"""What a person decides of a keep: to promote its challenger, or to go back to the one before."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential.duel import Duel
from leaseboard.tasks.keep.changes import Changes, Happened, Lineage, in_role, renamed
from leaseboard.tasks.keep.comparing import DUELS
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED
from leaseboard.tasks.keep.state import State
from leaseboard.tasks.score.summary import short


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
    duel = state.memory().get(DUELS, {}).get(CHALLENGER)
    evidence = DuelSoFar(None if duel is None else Duel.from_dict(duel), alpha)
    if not evidence.suffices and not anyway:
        return False, evidence.words
    what = f"{challenger.number} takes the place, by hand: {evidence.words}"
    moved, happened = _succeeded(champion, challenger, at, what)
    before = in_role(lineages, PREVIOUS)
    if before is not None:
        moved.insert(0, replace(renamed(before, RETIRED), model=None))
        happened.insert(0, Happened(at, RETIRED, str(before.number), "two champions ago"))
    state.commit(Changes(at, lineages=moved, memory={DUELS: {}}, happened=happened))
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
    state.commit(Changes(at, lineages=moved, memory={DUELS: {}}, happened=happened))
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

"""Champion against challenger, and against the one before: promoted, or rolled back, on evidence.

Each pair has a duel, whose evidence holds at every moment one looks, see
`leaseboard.algorithms.sequential.duel`. It begins when the later of the two is born or promoted,
and sees the rows that both have forecast before their label was known, in the order that labels
came.
"""

from __future__ import annotations

from leaseboard.algorithms.sequential.duel import Duel, Side
from leaseboard.tasks.keep.changes import Lineage
from leaseboard.tasks.keep.keeping import Keeping
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED
from leaseboard.tasks.keep.turn import DUELS, Work

EVIDENCE, MOST_POINTS = "evidence", 400
"""In the memory: logarithms of the evidence for challengers, after each of the last batches."""

BRIER = 2.0
"""The largest difference of two Brier scores."""


def compare(keeping: Keeping, work: Work) -> None:
    """Show each duel the rows that were settled."""
    champion = keeping.shadow.of_role(CHAMPION)
    if champion is None:
        return
    for role in (CHALLENGER, PREVIOUS):
        rival = keeping.shadow.of_role(role)
        if rival is None:
            continue
        ours, theirs = _paired(work, champion, rival)
        after = duel_of(keeping, role).update_many(ours, theirs)
        keeping.memory.setdefault(DUELS, {})[role] = after.to_dict()
        if role == CHALLENGER and ours:
            points = keeping.memory.setdefault(EVIDENCE, [])
            logs = {"for": after.log_e("challenger"), "against": after.log_e("champion")}
            points.append({"at": keeping.at, **logs})
            del points[:-MOST_POINTS]


def promote(keeping: Keeping, work: Work) -> None:
    """Give the roles that the evidence asks for."""
    del work
    shadow, alpha = keeping.shadow, keeping.keep.compare.alpha
    champion, previous = shadow.of_role(CHAMPION), shadow.of_role(PREVIOUS)
    challenger = shadow.of_role(CHALLENGER)
    if champion is None:
        return
    if previous is not None and duel_of(keeping, PREVIOUS).decision(alpha) == "challenger":
        what = f"{_told(keeping, PREVIOUS)}: {previous.number} is champion again"
        shadow.move(champion, RETIRED, keeping.at, "rolled back", what)
        shadow.move(previous, CHAMPION, keeping.at, "champion", what)
        keeping.incident("rolled back", f"champion {champion.number}", what)
        keeping.memory[DUELS] = {}
        return
    if challenger is None:
        return
    decision = duel_of(keeping, CHALLENGER).decision(alpha)
    if decision == "challenger":
        what = f"{_told(keeping, CHALLENGER)}: {challenger.number} takes the place"
        if previous is not None:
            shadow.move(previous, RETIRED, keeping.at, "retired", "two champions ago")
        shadow.move(champion, PREVIOUS, keeping.at, "previous", what)
        shadow.move(challenger, CHAMPION, keeping.at, "champion", what)
        keeping.memory[DUELS] = {}
    elif decision == "champion":
        what = _told(keeping, CHALLENGER, side="champion")
        shadow.move(challenger, RETIRED, keeping.at, "retired", what)
        keeping.memory[DUELS].pop(CHALLENGER)


def duel_of(keeping: Keeping, role: str) -> Duel:
    """The champion's duel with who has `role`; a new one if it has not begun.

    Against the one before, its evidence may begin at any row: a good reign may end badly.
    """
    state = keeping.memory.get(DUELS, {}).get(role)
    if state is not None:
        return Duel.from_dict(state)
    bound = None if keeping.shadow.task == "regression" else BRIER
    return Duel(bound=bound, restarts=role == PREVIOUS)


def _told(keeping: Keeping, role: str, side: Side = "challenger") -> str:
    duel = duel_of(keeping, role)
    evidence = duel.e_value(side)
    better = role if side == "challenger" else "champion"
    return f"the {better} is better: evidence {evidence:.3g} after {duel.rows} labels"


def _paired(work: Work, first: Lineage, second: Lineage) -> tuple[list[float], list[float]]:
    """The losses of two lineages on the settled rows that both have forecast."""
    both = [
        (each[first.number]["loss"], each[second.number]["loss"])
        for each in work.losses
        if first.number in each and second.number in each
    ]
    return [ours for ours, _ in both], [theirs for _, theirs in both]

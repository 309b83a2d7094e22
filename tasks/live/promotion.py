"""Promotion: the champion against its challenger and against the one before, on evidence.

Each pair has a sequential test, whose evidence holds at every moment one looks, see
`leaseboard.algorithms.sequential_test`. It begins when the later of the two is created or
promoted, and sees the rows that both have predicted before their label was known, in the order
that labels came.
"""

from __future__ import annotations

from dataclasses import replace

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential_test import SequentialTest, Side
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.record import ROLLED_BACK
from leaseboard.tasks.live.shadow import CHALLENGER, CHAMPION, PREVIOUS, RETIRED
from leaseboard.tasks.live.update import ModelUpdate
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry, ModelCandidate, in_role

BRIER = 2.0
"""The largest difference of two Brier scores."""


def sequential_test(update: ModelUpdate, role: str) -> SequentialTest:
    """Return the champion's test against who has `role`; a new one if it has not begun.

    Against the one before, its evidence may begin at any row: a good reign may end badly.
    """
    bound = None if update.recipe.task == "regression" else BRIER
    return update.lifecycle.tests.get(role) or SequentialTest(
        bound=bound, restarts=role == PREVIOUS
    )


def evidence_of(test: SequentialTest, role: str, side: Side = "challenger") -> str:
    """Return the evidence of the champion's test against who has `role` for a side."""
    better = role if side == "challenger" else "champion"
    return f"the {better} is better: evidence {test.e_value(side):.3g} after {test.rows} labels"


def evidence_so_far(test: SequentialTest | None, alpha: float) -> str:
    """Return the evidence between the champion and a rival in one line for a person."""
    if test is None or not test.rows:
        return "no label of a row that both have predicted has come"
    labels = "1 label" if test.rows == 1 else f"{test.rows:,} labels"
    return (
        f"evidence {short(test.e_value('challenger'), 3)} for it and"
        f" {short(test.e_value('champion'), 3)} against it after {labels},"
        f" {1 / alpha:g} decides; it loses {short(test.mean, 3)} less a row"
    )


def promote_by_hand(
    state: State, alpha: float, at: str, *, anyway: bool = False
) -> tuple[bool, str]:
    """Make the challenger champion if the evidence suffices, or `anyway`.

    Returns whether it was done, and the evidence in one line. Only the state is changed. The
    caller holds its update lock until it has published, or what another update has learned in
    between would be taken for what is published.

    Raises UsageError without a challenger.
    """
    champion, challenger, before = _in_roles(state)
    if champion is None or challenger is None:
        raise UsageError(
            f"the live model {state.name!r} has no challenger: an update makes one, when"
            " `retrain:` of its file says so"
        )
    test = LifecycleState.read(state.lifecycle()).tests.get(CHALLENGER)
    evidence = evidence_so_far(test, alpha)
    suffices = test is not None and test.decision(alpha) == "challenger"
    if not suffices and not anyway:
        return False, evidence
    how = "by hand" if suffices else "by hand in spite of the evidence"
    what = f"{challenger.number} is champion now, {how}: {evidence}"
    changes = _succession(champion, challenger, at, what, (CHAMPION, evidence))
    if before is not None:
        changes.candidates.insert(0, replace(before, role=RETIRED, model=None))
        retired = HistoryEntry(at, RETIRED, str(before.number), "two champions ago")
        changes.history.insert(0, retired)
    state.commit(changes)
    return True, evidence


def roll_back(state: State, at: str) -> str:
    """Make the previous champion champion again, and the champion previous; return one line.

    As with `promote_by_hand`, the caller holds the update lock and publishes.

    Raises UsageError without a previous champion.
    """
    champion, _, previous = _in_roles(state)
    if champion is None or previous is None:
        raise UsageError(
            f"the live model {state.name!r} has no previous champion to go back to: it has one"
            " once a challenger was promoted"
        )
    what = f"candidate {previous.number} again, in place of {champion.number}: by hand"
    changes = _succession(champion, previous, at, what, (ROLLED_BACK, what))
    changes.history.insert(0, HistoryEntry(at, ROLLED_BACK, str(champion.number), what))
    state.commit(changes)
    return what


def begun_by_hand(state: State, kind: str) -> str:
    """Return what a command of this kind has changed before it was stopped; empty if none has."""
    champion = in_role(state.candidates(), CHAMPION)
    begun, number, what = LifecycleState.read(state.lifecycle()).by_hand or ("", 0, "")
    return what if champion and (begun, number) == (kind, champion.number) else ""


def _in_roles(state: State) -> list[ModelCandidate | None]:
    candidates = state.candidates()
    return [in_role(candidates, role) for role in (CHAMPION, CHALLENGER, PREVIOUS)]


def _succession(
    champion: ModelCandidate, successor: ModelCandidate, at: str, what: str, said: tuple[str, str]
) -> Changes:
    """Return the two in their new roles; all tests begin again.

    - `said`: the kind of the change, and what the command says of it, see `begun_by_hand`.
    """
    roles = {PREVIOUS: champion, CHAMPION: successor}
    return Changes(
        at,
        candidates=[replace(candidate, role=role) for role, candidate in roles.items()],
        lifecycle={"tests": {}, "by_hand": [said[0], successor.number, said[1]]},
        history=[HistoryEntry(at, role, str(each.number), what) for role, each in roles.items()],
    )

"""Promotion: the champion against its challenger and against the one before, on evidence.

Each pair has a sequential test, whose evidence holds at every moment one looks, see
`leaseboard.algorithms.sequential_test`. It begins when the later of the two is created or
promoted, and sees the rows that both have predicted before their label was known, in the order
that labels came.
"""

from __future__ import annotations

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.model import LiveModel
from leaseboard.tasks.live.shadow import CHALLENGER, CHAMPION, PREVIOUS, ROLLED_BACK, Shadow
from leaseboard.tasks.score.numbers import short
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, in_role


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


def promote_by_hand(live: LiveModel, at: str, *, anyway: bool = False) -> tuple[bool, str]:
    """Make the challenger champion if the evidence suffices, or `anyway`.

    Returns whether it was done, and the evidence in one line. Only the state is changed. The
    caller holds its update lock until it has published, or what another update has learned in
    between would be taken for what is published.

    Raises UsageError without a challenger.
    """
    shadow, alpha = live.shadow(), live.settings.compare.alpha
    champion, challenger = map(shadow.in_role, (CHAMPION, CHALLENGER))
    if champion is None or challenger is None:
        raise UsageError(
            f"the live model {live.settings.name!r} has no challenger: an update makes one, when"
            " `retrain:` of its file says so"
        )
    test = LifecycleState.read(live.state.lifecycle()).tests.get(CHALLENGER)
    evidence = evidence_so_far(test, alpha)
    suffices = test is not None and test.decision(alpha) == "challenger"
    if not suffices and not anyway:
        return False, evidence
    how = "by hand" if suffices else "by hand in spite of the evidence"
    shadow.promote(at, f"{challenger.number} is champion now, {how}: {evidence}")
    _write(live.state, shadow, at, (CHAMPION, challenger.number, evidence))
    return True, evidence


def roll_back(live: LiveModel, at: str) -> str:
    """Make the previous champion champion again, and the champion previous; return one line.

    As with `promote_by_hand`, the caller holds the update lock and publishes.

    Raises UsageError without a previous champion.
    """
    shadow = live.shadow()
    champion, previous = map(shadow.in_role, (CHAMPION, PREVIOUS))
    if champion is None or previous is None:
        raise UsageError(
            f"the live model {live.settings.name!r} has no previous champion to go back to: it has"
            " one once a challenger was promoted"
        )
    what = f"candidate {previous.number} again, in place of {champion.number}: by hand"
    shadow.roll_back(at, what, PREVIOUS)
    _write(live.state, shadow, at, (ROLLED_BACK, previous.number, what))
    return what


def begun_by_hand(state: State, kind: str) -> str:
    """Return what a command of this kind has changed before it was stopped; empty if none has."""
    champion = in_role(state.candidates(), CHAMPION)
    begun, number, what = LifecycleState.read(state.lifecycle()).by_hand or ("", 0, "")
    return what if champion and (begun, number) == (kind, champion.number) else ""


def _write(state: State, shadow: Shadow, at: str, by_hand: tuple[str, int, str]) -> None:
    """Write who has which role now; all tests begin again."""
    changes = Changes(at, lifecycle={"tests": {}, "by_hand": by_hand})
    shadow.write_to(changes)
    state.commit(changes)

"""What is wrong, as incidents: each is told once when it opens, and once when it is resolved.

An incident of a day is not over at the first turn that does not find it, but when it has been
quiet for two days, or, of ids, when a good batch has come. One that every turn looks for, such as
a file that is held back, is over when a turn does not find it any more. Each that returns is told
again, and has to be quiet for longer from then on. So one that comes and goes is told ever more
rarely, and one that lasts once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

QUIET = timedelta(days=2)
"""How long an incident is not found before it is resolved; doubled each time that it returns."""

LOOKED_AT = frozenset({"contract", "broken file", "labels late", "publish", "turn"})
"""Kinds that each turn looks for anew, so that one which does not find them knows."""

MEMORY = timedelta(days=60)
"""How long a resolved incident is remembered, so that one that returns is known."""


@dataclass(frozen=True)
class Incident:
    """Something that a person should know.

    Attributes
    ----------
    kind, subject : str
        Such as ``alarm`` and ``labels``: what is found again under both is the same incident.
    what : str
        One line for a person.
    since : datetime
        When it began, as the data tell it; aware, as all moments here.
    command : str
        Which shows it.
    """

    kind: str
    subject: str
    what: str
    since: datetime
    command: str

    @property
    def key(self) -> tuple[str, str]:
        """What makes two findings one incident."""
        return self.kind, self.subject


@dataclass(frozen=True)
class Case:
    """An incident as it is followed from turn to turn.

    Attributes
    ----------
    incident : Incident
        As it was last found, since it opened.
    seen : datetime
        The last turn that found it.
    returns : int
        How often it has opened again.
    resolved : datetime, optional
        The turn that resolved it; None while it is open.
    """

    incident: Incident
    seen: datetime
    returns: int = 0
    resolved: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has been told and not resolved."""
        return self.resolved is None


@dataclass(frozen=True)
class Message:
    """One thing to tell; with `status` its `id` says whether a receiver has had it before."""

    status: Literal["opened", "resolved"]
    incident: Incident
    returns: int = 0

    @property
    def id(self) -> str:
        """The incident's, the same when it opens and when it is resolved."""
        since = self.incident.since.isoformat()
        each = (*self.incident.key, since, str(self.returns))
        return hashlib.sha256("\0".join(each).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Reconciled:
    """All cases after a turn, and what is to be told of them."""

    cases: list[Case]
    messages: list[Message]


def reconcile(
    cases: Iterable[Case],
    found: Iterable[Incident],
    now: datetime,
    still: Collection[tuple[str, str]] = (),
    over: Collection[str] = (),
) -> Reconciled:
    """Compare what a turn found with what was known.

    Parameters
    ----------
    cases : iterable of Case
        All that `Reconciled.cases` held at the turn before.
    found : iterable of Incident
        Of one key the first counts.
    now : datetime
        The moment of this turn; one before the last turn resolves nothing.
    still : collection of tuple of str
        The keys of cases that are not over, though they are not among `found`.
    over : collection of str
        The kinds that are, however short they have been quiet.

    Returns
    -------
    Reconciled

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> monday = datetime(2026, 11, 23, tzinfo=UTC)
    >>> flipped = Incident("alarm", "labels", "the errors are 9 times as large", monday, "...")
    >>> first = reconcile([], [flipped], monday)
    >>> [message.status for message in first.messages]
    ['opened']
    >>> reconcile(first.cases, [flipped], monday + timedelta(days=1)).messages
    []
    >>> later = reconcile(first.cases, [], monday + timedelta(days=2))
    >>> [message.status for message in later.messages]
    ['resolved']
    """
    known = {case.incident.key: case for case in cases}
    new: dict[tuple[str, str], Incident] = {}
    for incident in found:
        new.setdefault(incident.key, incident)
    followed, messages = [], []
    for key in [*known, *(key for key in new if key not in known)]:
        before = known.get(key)
        if key in new:
            after: Case | None = _found(before, new[key], now)
        else:
            after = known[key] if key in still else _missed(known[key], now, key[0] in over)
        if after is None:
            continue
        followed.append(after)
        if after.is_open != (before is not None and before.is_open):
            status: Literal["opened", "resolved"] = "opened" if after.is_open else "resolved"
            messages.append(Message(status, after.incident, after.returns))
    return Reconciled(followed, messages)


def _found(case: Case | None, incident: Incident, now: datetime) -> Case:
    if case is None:
        return Case(incident, now)
    if not case.is_open:
        return Case(incident, now, case.returns + 1)
    lasting = replace(case.incident, what=incident.what, command=incident.command)
    return replace(case, incident=lasting, seen=max(case.seen, now))


def _missed(case: Case, now: datetime, is_over: bool) -> Case | None:
    if case.resolved is not None:
        return case if now - case.resolved <= MEMORY else None
    doublings = 2**case.returns - (case.incident.kind in LOOKED_AT)
    quiet = now >= case.seen and (is_over or now - case.seen >= QUIET * doublings)
    return replace(case, resolved=now) if quiet else case

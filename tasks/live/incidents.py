"""Incidents: one notification when an incident opens, and one when it is resolved.

An incident of a day is not over at the first update that does not find it, but when it has been
quiet for two days, or, of ids, when a good batch has come. One that every update checks, such as a
rejected file, is over when an update does not find it any more. Each that returns is reported
again, and has to be quiet for longer from then on. So one that comes and goes is reported ever
more rarely, and one that lasts once.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

QUIET = timedelta(days=2)
"""How long an incident is not found before it is resolved; doubled each time that it returns."""

CHECKED_EACH_TIME = frozenset({"contract", "broken file", "labels late", "publish", "update"})
"""Kinds that each update checks: such an incident is over when an update does not find it."""

MEMORY = timedelta(days=60)
"""How long a resolved incident is remembered, so that one that returns is known."""


@dataclass(frozen=True)
class Incident:
    """Incident: something that a person should know.

    Attributes
    ----------
    kind, subject : str
        Such as ``alarm`` and ``labels``: what is found again under both is the same incident.
    what : str
        One line for a person.
    since : datetime
        When it began; aware, as all moments here.
    command : str
        The command that shows it.
    """

    kind: str
    subject: str
    what: str
    since: datetime
    command: str

    @property
    def key(self) -> tuple[str, str]:
        """Identity: two findings with the same are one incident."""
        return self.kind, self.subject


@dataclass(frozen=True)
class Case:
    """Incident that is followed from update to update.

    Attributes
    ----------
    incident : Incident
        The last finding of it, since it opened.
    seen : datetime
        The last update that found it.
    returns : int
        How often it has opened again.
    resolved : datetime, optional
        The update that resolved it; None while it is open.
    """

    incident: Incident
    seen: datetime
    returns: int = 0
    resolved: datetime | None = None

    @property
    def is_open(self) -> bool:
        """True if it has been reported and not resolved."""
        return self.resolved is None


@dataclass(frozen=True)
class Message:
    """Notification of an incident; `id` and `status` show whether a receiver has had it before."""

    status: Literal["opened", "resolved"]
    incident: Incident
    returns: int = 0

    @property
    def id(self) -> str:
        """The incident's, the same when it opens and when it is resolved."""
        since = self.incident.since.isoformat()
        each = (*self.incident.key, since, str(self.returns))
        return hashlib.sha256("\0".join(each).encode()).hexdigest()[:16]


def reconcile(
    cases: Iterable[Case],
    found: Iterable[Incident],
    now: datetime,
    still: Collection[tuple[str, str]] = (),
    over: Collection[str] = (),
) -> tuple[list[Case], list[Message]]:
    """Compare what an update found with what was known.

    Parameters
    ----------
    cases : iterable of Case
        Those that the update before returned.
    found : iterable of Incident
        Of one key the first counts.
    now : datetime
        The moment of this update; one before the last update resolves nothing.
    still : collection of tuple of str
        The keys of cases that are not over, though they are not among `found`.
    over : collection of str
        The kinds that are, however short they have been quiet.

    Returns
    -------
    cases : list of Case
        All cases after the update.
    messages : list of Message
        What is to be sent.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> monday = datetime(2026, 11, 23, tzinfo=UTC)
    >>> flipped = Incident("alarm", "labels", "the errors are 9 times as large", monday, "...")
    >>> cases, messages = reconcile([], [flipped], monday)
    >>> [message.status for message in messages]
    ['opened']
    >>> reconcile(cases, [flipped], monday + timedelta(days=1))[1]
    []
    >>> _, messages = reconcile(cases, [], monday + timedelta(days=2))
    >>> [message.status for message in messages]
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
    return followed, messages


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
    # 1, 2, 4, … times `QUIET` with each return; 0, 1, 3, … where every update checks.
    times = 2**case.returns - (case.incident.kind in CHECKED_EACH_TIME)
    is_quiet = now >= case.seen and (is_over or now - case.seen >= QUIET * times)
    return replace(case, resolved=now) if is_quiet else case

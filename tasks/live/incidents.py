"""Incidents: one notification when an incident opens, and one when it is resolved.

An incident of a day is not over at the first update that does not find it, but when it has been
quiet for two days, or, of ids, when a good batch has come. One that every update checks, such as a
rejected file, is over when an update does not find it any more. Each that returns is reported
again, and has to be quiet for longer from then on. So one that comes and goes is reported ever
more rarely, and one that lasts once.

A notification is stored in the transaction that found its incident, sent after it, and removed
when it was delivered: one that was not is sent again at the next update. A process that is killed
between sending and removing sends it again, with the same ``id``.

An address is ``http://`` or ``https://``, which gets a POST of JSON, or any other that Apprise
knows. In both ``$NAME`` is a variable of the environment, and is stored as ``$NAME``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import httpx

from leaseboard.algorithms.errors import LeaseboardError, UsageError, short
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.machine.addresses import filled, is_variable, redacted, scrubbed
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry, OutboxEntry

if TYPE_CHECKING:
    from leaseboard.tasks.live.lifecycle import LifecycleState

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


SECONDS = 10.0
"""What one notification may take."""
LAST_UPDATE = ("update", "the last update")
"""Kind and subject of an incident: it failed, or was stopped."""


@dataclass(frozen=True)
class Receipt:
    """Outcome of one notification: `fault` is why it was not delivered, empty if it was."""

    number: int
    address: str
    fault: str = ""


class _NotSentError(Exception):
    """Notification that was not delivered; if `is_down`, the next would not be either."""

    def __init__(self, fault: str, *, is_down: bool = True) -> None:
        super().__init__(fault)
        self.is_down = is_down


def record(
    changes: Changes,
    lifecycle: LifecycleState,
    found: Sequence[Incident],
    still: Collection[tuple[str, str]] | None,
    settings: LiveSettings,
    now: datetime,
    page: str,
) -> None:
    """Put incidents and their notifications into `changes`, and follow them in `lifecycle`.

    - `still`: see `leaseboard.tasks.live.incidents.reconcile`; None: no incident is over.
    """
    over = list[str]()
    if still is None:
        still = {each.incident.key for each in lifecycle.cases}
    else:
        over, lifecycle.over = lifecycle.over, []
    lifecycle.cases, messages = reconcile(lifecycle.cases, found, now, still, over)
    changes.history += [
        HistoryEntry(changes.at, each.status, each.incident.subject, each.incident.what)
        for each in messages
    ]
    changes.outbox += outbox_of(messages, settings, page)


def send(state: State, addresses: Sequence[str]) -> list[Receipt]:
    """Send what is in the outbox, and remove what was delivered.

    What waits for an address that FILE.yaml does not name any more goes to the first one of it.
    """
    outbox = {
        number: (written if written in addresses or not addresses else addresses[0], body)
        for number, (written, body) in state.outbox().items()
    }
    receipts = []
    for receipt in deliver(outbox):
        reach("live.after-post")
        receipts.append(receipt)
        if not receipt.fault:
            state.remove_sent(receipt.number)
    return receipts


def notify_failure(
    settings: LiveSettings, state: State, now: datetime, what: str, *, page: str, command: str
) -> None:
    """Notify that an update failed: once, though each of the next ones may fail as well.

    If the incident cannot be written, as on a disk that is full, it is sent at once, and again.
    """
    from leaseboard.tasks.live.lifecycle import LifecycleState  # which follows incidents

    incident = Incident(*LAST_UPDATE, f"the update failed: {what}", now, command)
    try:
        changes = Changes(now.isoformat(timespec="seconds"))
        lifecycle = LifecycleState.read(state.lifecycle())
        record(changes, lifecycle, [incident], None, settings, now, page)
        changes.lifecycle = {"cases": lifecycle.dump()["cases"]}
        state.commit(changes)
        send(state, settings.alerts)
    except LeaseboardError:
        sent = outbox_of([Message("opened", incident)], settings, page)
        list(deliver(dict(enumerate(sent))))


def outbox_of(messages: Iterable[Message], settings: LiveSettings, page: str) -> list[OutboxEntry]:
    """Return what goes into the outbox: each message to each address, in its final form.

    A body is JSON of ``id``, ``live_model``, ``status``, ``kind``, ``subject``, ``what``,
    ``since``, ``command``, ``page``, and ``text``, one line of all.
    """
    name, found = settings.name, list[OutboxEntry]()
    for message in messages:
        incident, over = message.incident, "resolved: " if message.status == "resolved" else ""
        since = incident.since.isoformat(timespec="seconds")
        text = f"{name}: {over}{incident.what}, since {since}; see {incident.command}; {page}"
        body = {
            "id": message.id,
            "live_model": name,
            "status": message.status,
            "kind": incident.kind,
            "subject": incident.subject,
            "what": incident.what,
            "since": since,
            "command": incident.command,
            "page": page,
            "text": text,
        }
        found += [(address, body) for address in settings.alerts]
    return found


def check_addresses(addresses: Iterable[str]) -> None:
    """Raise UsageError if a notification could never be sent to one of them."""
    for written in addresses:
        address = filled(written)
        if not _is_webhook(address):
            import apprise  # heavy

            if not apprise.Apprise().add(address):
                raise UsageError(
                    f"alerts: {shown(written)!r} is not an address that Apprise knows: write"
                    " http://HOST/PATH, or one of its own such as mailto://USER:$PASSWORD@HOST"
                )


def deliver(outbox: Mapping[int, OutboxEntry], seconds: float = SECONDS) -> Iterator[Receipt]:
    """Send notifications in their order; remove one that was delivered before asking for the next.

    An address that does not answer is left alone until the next call. `seconds` is what one
    notification may take.
    """
    down: dict[str, str] = {}
    with httpx.Client(timeout=seconds) as client:
        for number, (written, body) in outbox.items():
            fault = down.get(written, "")
            if not fault:
                reach("live.before-post")
                try:
                    _send(client, filled(written), body)
                except (_NotSentError, UsageError) as error:
                    fault = str(error)
                    if getattr(error, "is_down", True):
                        down[written] = fault
            yield Receipt(number, written, fault)


def undelivered(receipts: Iterable[Receipt]) -> list[str]:
    """Return one line for each address that did not take what was sent."""
    waiting: dict[str, list[str]] = {}
    for each in receipts:
        if each.fault:
            waiting.setdefault(each.address, []).append(each.fault)
    return [
        f"{shown(address)}: {faults[0]}; {len(faults)} message{'s' if len(faults) > 1 else ''}"
        " kept, to be sent at the next update"
        for address, faults in waiting.items()
    ]


def shown(address: str) -> str:
    """Return an address as it may be printed: any other part of it may be a token.

    Examples
    --------
    >>> shown("http://me:secret@127.0.0.1:9/token"), shown("tgram://1234/5678"), shown("$HOOK")
    ('http://127.0.0.1:9/***', 'tgram://***', '$HOOK')
    """
    if is_variable(address):
        return address
    scheme, _, _ = address.partition("://")
    host = redacted(address).partition("://")[2].rpartition("@")[2].partition("/")[0]
    return f"{scheme}://{host}/***" if _is_webhook(address) else f"{scheme}://***"


def _is_webhook(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))


def _send(client: httpx.Client, address: str, body: Mapping[str, str]) -> None:
    if _is_webhook(address):
        _post(client, address, body)
        return
    import apprise  # heavy

    service = apprise.Apprise()
    if not service.add(address):
        raise _NotSentError("is not an address that Apprise knows")
    title = f"{body['live_model']}: {body['kind']} {body['status']}"
    if not service.notify(body=body["text"], title=title):
        raise _NotSentError("was not reached by Apprise")


def _post(client: httpx.Client, address: str, body: Mapping[str, str]) -> None:
    try:
        with client.stream("POST", address, json=dict(body)) as answer:
            status = answer.status_code  # all that is read: a body may have no end
    except httpx.TimeoutException as error:
        raise _NotSentError("did not answer in time") from error
    except httpx.InvalidURL as error:
        raise _NotSentError("is not a valid address") from error
    except httpx.HTTPError as error:
        said = short(" ".join(scrubbed(str(error), [address]).split()), 200)
        raise _NotSentError(f"is down ({said})") from error
    if not httpx.codes.is_success(status):
        raise _NotSentError(f"answered {status}", is_down=False)

"""Incidents, and the state that lasts: one notification when one opens, one when it is over.

An incident of a day is not over at the first update that does not find it, but when it has been
quiet for two days. One that every update checks, such as a
rejected file, is over when an update does not find it any more. Each that returns is reported
again, and has to be quiet for longer from then on. So one that comes and goes is reported ever
more rarely, and one that lasts once.

A notification is stored in the transaction that found its incident, sent after it, and removed
when it was delivered: one that was not is sent again at the next update. A process that is killed
between sending and removing sends it again, with the same ``id``.

An address is ``http://`` or ``https://``, which gets a POST of JSON, or any other that Apprise
knows. In both ``$NAME`` is a variable of the environment, and is stored as ``$NAME``.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self

import httpx
from pydantic import TypeAdapter

from leaseboard.algorithms.errors import LeaseboardError, UsageError, short
from leaseboard.algorithms.sequential_test import SequentialTest
from leaseboard.algorithms.tables.values import ValueKind
from leaseboard.tasks.live.drift import StreamMonitor
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.machine.addresses import filled, is_variable, redacted, scrubbed
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry, OutboxEntry

QUIET = timedelta(days=2)
"""How long an incident is not found before it is resolved; doubled each time that it returns."""

CHECKED_EACH_TIME = frozenset({"contract", "broken file", "labels late", "publish", "update"})
"""Kinds that each update checks: such an incident is over when an update does not find it."""

MEMORY = timedelta(days=60)
"""How long a resolved incident is remembered, so that one that returns is known."""


@dataclass(frozen=True)
class Incident:
    """Incident, something that a person should know, followed from update to update.

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
    seen : datetime, optional
        The last update that found it.
    returns : int
        How often it has opened again.
    resolved : datetime, optional
        The update that resolved it; None while it is open.
    """

    kind: str
    subject: str
    what: str
    since: datetime
    command: str
    seen: datetime | None = None
    returns: int = 0
    resolved: datetime | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Identity: two findings with the same are one incident."""
        return self.kind, self.subject

    @property
    def is_open(self) -> bool:
        """True if it has been reported and not resolved."""
        return self.resolved is None

    @property
    def status(self) -> str:
        """``opened`` or ``resolved``, as history and notifications say."""
        return "opened" if self.is_open else "resolved"

    @property
    def id(self) -> str:
        """The same when it opens and when it is resolved: shows repeated notifications."""
        each = (*self.key, self.since.isoformat(), str(self.returns))
        return hashlib.sha256("\0".join(each).encode()).hexdigest()[:16]


def reconcile(
    cases: Iterable[Incident],
    found: Iterable[Incident],
    now: datetime,
    still: Collection[tuple[str, str]] = (),
) -> tuple[list[Incident], list[Incident]]:
    """Compare what an update found with what was known.

    Parameters
    ----------
    cases : iterable of Incident
        Those that the update before returned.
    found : iterable of Incident
        Of one key the first counts.
    now : datetime
        The moment of this update; one before the last update resolves nothing.
    still : collection of tuple of str
        The keys of incidents that are not over, though they are not among `found`.

    Returns
    -------
    cases : list of Incident
        All after the update.
    changed : list of Incident
        Those of them that have opened or were resolved: people are notified of these.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> monday = datetime(2026, 11, 23, tzinfo=UTC)
    >>> flipped = Incident("alarm", "labels", "the errors are 9 times as large", monday, "...")
    >>> cases, changed = reconcile([], [flipped], monday)
    >>> [case.status for case in changed]
    ['opened']
    >>> reconcile(cases, [flipped], monday + timedelta(days=1))[1]
    []
    >>> _, changed = reconcile(cases, [], monday + timedelta(days=2))
    >>> [case.status for case in changed]
    ['resolved']
    """
    known = {each.key: each for each in cases}
    new: dict[tuple[str, str], Incident] = {}
    for incident in found:
        new.setdefault(incident.key, incident)
    followed, changed = [], []
    for key in known | new:
        before = known.get(key)
        was_open = before is not None and before.is_open
        if key in new:
            after = _found(before, new[key], now)
        elif was_open and key not in still:
            after = _missed(before, now)
        elif was_open or now - before.resolved <= MEMORY:
            after = before
        else:
            continue
        followed.append(after)
        if after.is_open != was_open:
            changed.append(after)
    return followed, changed


def _found(before: Incident | None, incident: Incident, now: datetime) -> Incident:
    if before is None or not before.is_open:
        return replace(incident, seen=now, returns=0 if before is None else before.returns + 1)
    seen = max(before.seen or now, now)
    return replace(before, what=incident.what, command=incident.command, seen=seen)


def _missed(case: Incident, now: datetime) -> Incident:
    # 1, 2, 4, … times `QUIET` with each return; 0, 1, 3, … where every update checks.
    times = 2**case.returns - (case.kind in CHECKED_EACH_TIME)
    is_quiet = now >= case.seen and now - case.seen >= QUIET * times
    return replace(case, resolved=now) if is_quiet else case


@dataclass
class DoubtfulDay:
    """Day whose labels are unlike those of other days: its rows wait for the next day's."""

    day: str
    rows: list[str]
    """Their identities."""


@dataclass
class LifecycleState:
    """State of a live model that lasts from one update to the next.

    Attributes
    ----------
    made_for : dict of str to str
        By keys of FILE.yaml what the live model is for, which cannot change while it has
        candidates; all algorithms that learn row by row are one.
    kinds : dict of str to str
        The kinds of the features that candidates have learned; of an undecided column none.
    file : str, optional
        The path of FILE.yaml.
    newest_row : datetime, optional
        The newest time of a row that is not ahead of the clock, in UTC without an offset.
    incidents : list of Incident
        Those that are open, or were resolved lately.
    monitored : StreamMonitor
        Statistics of the last days.
    doubtful : DoubtfulDay, optional
        Rows that wait to be learned.
    has_changed : bool
        Whether the last days were doubtful and learned, as of a world that changed.
    left_out : list of str
        Identities of rows that are never learned, as far as a training window may reach.
    challenger_since : datetime, optional
        When the last challenger was made.
    rows_since_challenger : int
        Labels that have come since.
    tests : dict of str to SequentialTest
        By role: the sequential test of the champion against it.
    announced : int
        How many entries of the history were reported to Prefect, or came without Prefect.
    by_hand : tuple, optional
        Change of the champion by a command that has not ended: the kind of its entry in the
        history, the new champion, and what the command says of it.
    """

    made_for: dict[str, str | None] = field(default_factory=dict)
    kinds: dict[str, ValueKind] = field(default_factory=dict)
    file: str | None = None
    newest_row: datetime | None = None
    incidents: list[Incident] = field(default_factory=list)
    monitored: StreamMonitor = field(default_factory=StreamMonitor)
    doubtful: DoubtfulDay | None = None
    has_changed: bool = False
    left_out: list[str] = field(default_factory=list)
    challenger_since: datetime | None = None
    rows_since_challenger: int = 0
    tests: dict[str, SequentialTest] = field(default_factory=dict)
    announced: int = 0
    by_hand: tuple[str, int, str] | None = None

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Read what `dump` wrote, see `leaseboard.tasks.store.live_model.State.lifecycle`."""
        return _ADAPTER.validate_python(values)

    def dump(self) -> dict[str, Any]:
        """Return the fields by name, as JSON has them."""
        return _ADAPTER.dump_python(self, mode="json")


_ADAPTER: TypeAdapter[Any] = TypeAdapter(LifecycleState)


SECONDS = 10.0
"""What one notification may take."""
LAST_UPDATE = ("update", "the last update")
"""Kind and subject of an incident: it failed, or was stopped."""


class _DownError(Exception):
    """Error of an address that does not answer: the next notification would not be delivered."""


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
    if still is None:
        still = {each.key for each in lifecycle.incidents}
    lifecycle.incidents, changed = reconcile(lifecycle.incidents, found, now, still)
    changes.history += [
        HistoryEntry(changes.at, each.status, each.subject, each.what) for each in changed
    ]
    changes.outbox += outbox_of(changed, settings, page)


def send(state: State, addresses: Sequence[str]) -> list[str]:
    """Send what is in the outbox, and remove what was delivered.

    What waits for an address that FILE.yaml does not name any more goes to the first one of it.
    Returns one line for each address that did not take what was sent.
    """
    outbox = {
        number: (written if written in addresses or not addresses else addresses[0], body)
        for number, (written, body) in state.outbox().items()
    }
    waiting: dict[str, list[str]] = {}
    for number, address, fault in deliver(outbox):
        reach("live.after-post")
        if fault:
            waiting.setdefault(address, []).append(fault)
        else:
            state.remove_sent(number)
    return [
        f"{shown(address)}: {faults[0]}; {len(faults)} kept, to be sent at the next update"
        for address, faults in waiting.items()
    ]


def notify_failure(
    settings: LiveSettings, state: State, now: datetime, what: str, *, page: str, command: str
) -> None:
    """Notify that an update failed: once, though each of the next ones may fail as well.

    If the incident cannot be written, as on a disk that is full, it is sent at once, and again.
    """
    incident = Incident(*LAST_UPDATE, f"the update failed: {what}", now, command)
    try:
        changes = Changes(now.isoformat(timespec="seconds"))
        lifecycle = LifecycleState.read(state.lifecycle())
        record(changes, lifecycle, [incident], None, settings, now, page)
        changes.lifecycle = {"incidents": lifecycle.dump()["incidents"]}
        state.commit(changes)
        send(state, settings.alerts)
    except LeaseboardError:
        sent = outbox_of([incident], settings, page)
        list(deliver(dict(enumerate(sent))))


def outbox_of(
    incidents: Iterable[Incident], settings: LiveSettings, page: str
) -> list[OutboxEntry]:
    """Return what goes into the outbox: each incident to each address, in its final form.

    A body is JSON of ``id``, ``live_model``, ``status``, ``kind``, ``subject``, ``what``,
    ``since``, ``command``, ``page``, and ``text``, one line of all.
    """
    name, found = settings.name, list[OutboxEntry]()
    for each in incidents:
        since = each.since.isoformat(timespec="seconds")
        what = each.what if each.is_open else f"resolved: {each.what}"
        parts = {part: getattr(each, part) for part in ("kind", "subject", "what", "command")}
        body = parts | {
            "id": each.id,
            "live_model": name,
            "status": each.status,
            "since": since,
            "page": page,
            "text": f"{name}: {what}, since {since}; see {each.command}; {page}",
        }
        found += [(address, body) for address in settings.alerts]
    return found


def deliver(outbox: Mapping[int, OutboxEntry]) -> Iterator[tuple[int, str, str]]:
    """Send notifications in their order, each before the next one is asked for.

    Yields number, address and fault of each; the fault is empty if it was delivered. An address
    that does not answer is left alone until the next call.
    """
    down: dict[str, str] = {}
    with httpx.Client(timeout=SECONDS) as client:
        for number, (address, body) in outbox.items():
            fault = down.get(address, "")
            if not fault:
                reach("live.before-post")
                try:
                    fault = _send(client, filled(address), body)
                except (_DownError, UsageError) as error:
                    fault = down[address] = str(error)
            yield number, address, fault


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


def _send(client: httpx.Client, address: str, body: Mapping[str, str]) -> str:
    """Send a notification; return why it was not taken, or raise `_DownError`."""
    if _is_webhook(address):
        return _post(client, address, body)
    import apprise  # heavy

    service, title = apprise.Apprise(), f"{body['live_model']}: {body['kind']} {body['status']}"
    if not (service.add(address) and service.notify(body=body["text"], title=title)):
        raise _DownError("was not reached by Apprise")
    return ""


def _post(client: httpx.Client, address: str, body: Mapping[str, str]) -> str:
    try:
        with client.stream("POST", address, json=dict(body)) as answer:
            status = answer.status_code  # all that is read: a body may have no end
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        said = " ".join(scrubbed(str(error) or type(error).__name__, [address]).split())
        raise _DownError(f"is down ({short(said, 200)})") from error
    return "" if httpx.codes.is_success(status) else f"answered {status}"

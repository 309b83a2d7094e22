"""Notifications of incidents, from an outbox to where people read them.

A notification is stored in the transaction that found its incident, sent after it, and removed
when it was delivered: one that was not is sent again at the next update. A process that is killed
between sending and removing sends it again, with the same ``id``.

An address is ``http://`` or ``https://``, which gets a POST of JSON, or any other that Apprise
knows. In both ``$NAME`` is a variable of the environment, and is stored as ``$NAME``.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import httpx

from leaseboard.algorithms.errors import LeaseboardError, UsageError, short
from leaseboard.tasks.live.incidents import Incident, Message, reconcile
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.machine.addresses import filled, is_variable, redacted, scrubbed
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry, OutboxEntry

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

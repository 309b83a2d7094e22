"""Notifications of incidents, from an outbox to where people read them.

A letter is stored in the transaction that found its incident, sent after it, and struck out when
it was taken: one that was not is tried at the next update. A process that is killed between
sending and striking out sends it again, with the same ``id``.

An address is ``http://`` or ``https://``, which gets a POST of JSON, or any other that Apprise
knows. In both ``$NAME`` stands for a variable of the environment, and is stored as ``$NAME``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import httpx

from leaseboard.algorithms.errors import LeaseboardError, UsageError, short
from leaseboard.tasks.keep.incidents import Incident, Message, reconcile
from leaseboard.tasks.keep.lifecycle import LifecycleState
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.machine.addresses import filled, is_variable, redacted, scrubbed
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, Happened, Letter

SECONDS = 10.0
"""What one letter may take, whatever the other side does."""
LAST_UPDATE = ("turn", "the last turn")
"""Kind and subject of an incident: it failed, or was stopped."""


@dataclass(frozen=True)
class Receipt:
    """What came of a letter: `fault` is why it was not taken, empty if it was."""

    number: int
    address: str
    fault: str = ""


class _NotSentError(Exception):
    """A letter was refused; the next may be taken."""


class _UnreachableError(Exception):
    """Nobody answered in time: nor would they the next letter."""


def addresses_of(keep: Keep) -> list[str]:
    """Return the addresses that get the messages of a live model."""
    return [*([keep.alerts.webhook] if keep.alerts.webhook else []), *keep.alerts.to]


def record(
    changes: Changes,
    lifecycle: LifecycleState,
    found: Sequence[Incident],
    still: Collection[tuple[str, str]] | None,
    keep: Keep,
    now: datetime,
    page: str,
) -> None:
    """Put incidents, and the messages about them, into `changes`, and follow them in `lifecycle`.

    - `still`: see `leaseboard.tasks.keep.incidents.reconcile`; None: no incident is over.
    """
    over = list[str]()
    if still is None:
        still = {each.incident.key for each in lifecycle.cases}
    else:
        over, lifecycle.over = lifecycle.over, []
    after = reconcile(lifecycle.cases, found, now, still, over)
    lifecycle.cases = after.cases
    changes.happened += [
        Happened(changes.at, each.status, each.incident.subject, each.incident.what)
        for each in after.messages
    ]
    changes.letters += letters(after.messages, addresses_of(keep), keep=keep.name, page=page)


def send(state: State, addresses: Sequence[str]) -> list[Receipt]:
    """Send what is in the outbox, and strike out what was taken.

    What waits for an address that FILE.yaml names no more goes to the first that it names.
    """
    outbox = {
        number: (written if written in addresses or not addresses else addresses[0], body)
        for number, (written, body) in state.letters().items()
    }
    receipts = []
    for receipt in deliver(outbox):
        receipts.append(receipt)
        if not receipt.fault:
            state.strike_out(receipt.number)
    return receipts


def notify_failure(
    keep: Keep, state: State, now: datetime, what: str, *, page: str, command: str
) -> None:
    """Notify that an update failed: once, though each of the next ones may fail as well.

    What cannot be written down, as on a disk that is full, is sent at once, and again.
    """
    incident = Incident(*LAST_UPDATE, f"the turn failed: {what}", now, command)
    addresses = addresses_of(keep)
    try:
        changes = Changes(now.isoformat(timespec="seconds"))
        lifecycle = LifecycleState.read(state.memory())
        record(changes, lifecycle, [incident], None, keep, now, page)
        changes.memory = {"cases": lifecycle.dump()["cases"]}
        state.commit(changes)
        send(state, addresses)
    except LeaseboardError:
        sent = letters([Message("opened", incident)], addresses, keep=keep.name, page=page)
        list(deliver(dict(enumerate(sent))))


def letters(
    messages: Iterable[Message], addresses: Iterable[str], *, keep: str, page: str
) -> list[Letter]:
    """What goes into the outbox: each message to each address, as it is written.

    A body is JSON of ``id``, ``keep``, ``status``, ``kind``, ``subject``, ``what``, ``since``,
    ``command``, ``page``, and ``text``, one line of all.
    """
    bodies = [_body(message, keep, page) for message in messages]
    return [(address, body) for body in bodies for address in addresses]


def check_addresses(addresses: Iterable[str]) -> None:
    """UsageError if a letter could never be sent to one of them."""
    for written in addresses:
        address = filled(written)
        if not _is_webhook(address):
            import apprise  # heavy

            if not apprise.Apprise().add(address):
                raise UsageError(
                    f"alerts: {shown(written)!r} is no address that Apprise knows: write"
                    " http://HOST/PATH, or one of its own such as mailto://USER:$PASSWORD@HOST"
                )


def deliver(outbox: Mapping[int, Letter], seconds: float = SECONDS) -> Iterator[Receipt]:
    """Send letters in their order; strike out each that was taken before asking for the next.

    An address where nobody answers is left alone until the next call. `seconds` is what one
    letter may take.
    """
    down: dict[str, str] = {}
    with httpx.Client(timeout=seconds) as client:
        for number, (written, body) in outbox.items():
            fault = down.get(written, "")
            if not fault:
                try:
                    _within(seconds, partial(_send, client, filled(written), body))
                except _NotSentError as error:
                    fault = str(error)
                except (_UnreachableError, UsageError) as error:
                    fault = down[written] = str(error)
            yield Receipt(number, written, fault)


def undelivered(receipts: Iterable[Receipt]) -> list[str]:
    """One line for each address that did not take what was sent."""
    waiting: dict[str, list[str]] = {}
    for each in receipts:
        if each.fault:
            waiting.setdefault(each.address, []).append(each.fault)
    return [
        f"{shown(address)}: {faults[0]}; {len(faults)} message{'s' if len(faults) > 1 else ''}"
        " kept, to be sent at the next turn"
        for address, faults in waiting.items()
    ]


def shown(address: str) -> str:
    """An address as it may be printed: any other part of it may be a token.

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


def _body(message: Message, keep: str, page: str) -> dict[str, str]:
    incident = message.incident
    since = incident.since.isoformat(timespec="seconds")
    over = "resolved: " if message.status == "resolved" else ""
    return {
        "id": message.id,
        "keep": keep,
        "status": message.status,
        "kind": incident.kind,
        "subject": incident.subject,
        "what": incident.what,
        "since": since,
        "command": incident.command,
        "page": page,
        "text": f"{keep}: {over}{incident.what}, since {since}; see {incident.command}; {page}",
    }


def _is_webhook(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))


def _send(client: httpx.Client, address: str, body: Mapping[str, str]) -> None:
    if _is_webhook(address):
        _post(client, address, body)
    else:
        _notify(address, body)


def _post(client: httpx.Client, address: str, body: Mapping[str, str]) -> None:
    try:
        with client.stream("POST", address, json=dict(body)) as answer:
            status = answer.status_code  # all that is read: a body may have no end
    except httpx.TimeoutException as error:
        raise _UnreachableError("did not answer in time") from error
    except httpx.InvalidURL as error:
        raise _UnreachableError("is no valid address") from error
    except httpx.HTTPError as error:
        said = short(" ".join(scrubbed(str(error), [address]).split()), 200)
        raise _UnreachableError(f"is down ({said})") from error
    if not httpx.codes.is_success(status):
        raise _NotSentError(f"answered {status}")


def _notify(address: str, body: Mapping[str, str]) -> None:
    import apprise  # heavy

    told = apprise.Apprise()
    if not told.add(address):
        raise _UnreachableError("is no address that Apprise knows")
    title = f"{body['keep']}: {body['kind']} {body['status']}"
    if not told.notify(body=body["text"], title=title):
        raise _UnreachableError("was not reached by Apprise")


def _within(seconds: float, call: Callable[[], Any]) -> None:
    """Call in a thread, and leave it behind if it takes longer: what drips is no answer."""
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread that asked
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not ended:
        raise _UnreachableError("did not answer in time")
    if ended[0] is not None:
        raise ended[0]

"""Who may ask, how much, and how often."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from ipaddress import ip_address

from leaseboard.algorithms.errors import UsageError

TOKEN = "LEASEBOARD_TOKEN"  # noqa: S105  (its name)
"""The variable of the environment that holds the token."""
RATE = 1000
"""Requests a second of one client."""
CLIENTS = 10_000
"""So many are told apart; of more, those that were heard of least lately are forgotten."""


class RefusedError(Exception):
    """A request that gets no forecast.

    - `status`: of HTTP.
    - `kind`: for the metrics.
    - `message`: one line: what, the rule, the mend.
    - `more`: what else the answer holds.
    """

    def __init__(self, status: int, kind: str, message: str, **more: object) -> None:
        super().__init__(message)
        self.status, self.kind, self.more = status, kind, more


class Admission:
    """The doorkeeper.

    - `token`: what every request but ``/health`` must bear; empty: none, on loopback alone.
    - `rate`: see `RATE`.
    - `seconds`: a clock that only goes forward.
    """

    def __init__(self, token: str, rate: float, seconds: Callable[[], float]) -> None:
        self._token, self._rate, self._seconds = token.encode(), rate, seconds
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, path: str, client: str, headers: Mapping[bytes, bytes]) -> None:
        """RefusedError unless the request may pass."""
        self._check_rate(client)
        if not self._token:
            # A page in a browser here could ask us by a name of its own that leads to loopback.
            host = headers.get(b"host", b"").decode("latin-1")
            if not is_loopback(_without_port(host)):
                raise RefusedError(
                    403, "host", f"host {host[:100]!r} is not this machine: ask 127.0.0.1, or"
                    f" start the server with {TOKEN}",
                )  # fmt: skip
        elif path != "/health" and not self.trusts(headers):
            raise RefusedError(
                401, "token", "no token, or a wrong one: send the header Authorization: Bearer and"
                f" what the server has in {TOKEN}",
            )  # fmt: skip

    def trusts(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether the request bears the token, if there is one."""
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        # The time that this takes says nothing about the token.
        is_right = hmac.compare_digest(given.strip(), self._token)
        return not self._token or (is_right and scheme.lower() == b"bearer")

    def _check_rate(self, client: str) -> None:
        """Each client has so many requests to spend a second, and as many at once."""
        now = self._seconds()
        left, then = self._clients.pop(client, (self._rate, now))
        left = min(self._rate, left + (now - then) * self._rate)
        self._clients[client] = (left - 1 if left >= 1 else left), now
        if len(self._clients) > CLIENTS:
            self._clients.popitem(last=False)
        if left < 1:
            raise RefusedError(
                429, "rate", f"more than {self._rate:g} requests a second from {client}: wait a"
                " second, or send many rows in a request",
            )  # fmt: skip


def check_place(host: str, token: str) -> None:
    """UsageError if others could reach the server without a token, or with one nobody can send."""
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError(
            f"{TOKEN} holds a space or another sign that no header carries: set it to letters and"
            " digits, such as the output of `openssl rand -hex 32`"
        )
    if not token and not is_loopback(host):
        raise UsageError(
            f"--host {host!r} lets other machines ask: set {TOKEN} in the environment to a secret"
            " first, such as the output of `openssl rand -hex 32`"
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, for this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]

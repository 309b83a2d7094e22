"""Admission of requests: tokens, hosts and rates."""

import hmac
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from ipaddress import ip_address

from leaseboard.algorithms.errors import UsageError

TOKEN = "LEASEBOARD_TOKEN"  # noqa: S105  (its name)
"""The variable of the environment that holds the token."""
RATE = 1000
"""Requests a second of one client."""
OPEN = frozenset({"/ping", "/health", "/v2/health/live", "/v2/health/ready"})
"""What may be asked without the token: whether the server lives and is ready."""
PAGES = frozenset({"/docs", "/openapi.json"})
"""What a browser may ask for with the token as a password, for which it asks its user."""
CLIENTS = 10_000
"""Clients that are counted each; of more, those that asked least recently are forgotten."""


class RefusedError(Exception):
    """Refusal of a request.

    - `status`: of HTTP.
    - `kind`: for the metrics.
    - `message`: one line: what, the rule, how to fix it.
    - `more`: what else the answer holds.
    """

    def __init__(self, status: int, kind: str, message: str, **more: object) -> None:
        super().__init__(" ".join(message.split()))
        self.status, self.kind, self.more = status, kind, more


class Admission:
    """Admission of requests by token, host and rate.

    - `token`: what every request but those of `OPEN` must have; empty: none, on loopback only.
    - `rate`: see `RATE`.
    - `seconds`: a clock that only goes forward.
    """

    def __init__(self, token: str, rate: float, seconds: Callable[[], float]) -> None:
        self._token, self._rate, self._seconds = token.encode(), rate, seconds
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By client: how many requests it may still send at once, and when it asked last."""

    def check(self, path: str, client: str, headers: Mapping[bytes, bytes]) -> None:
        """Raise RefusedError unless the request may pass."""
        self._check_rate(client)
        if not self._token:
            # A page in a browser here could ask us by a name of its own that leads to loopback.
            host = headers.get(b"host", b"").decode("latin-1")
            if not is_loopback(_without_port(host)):
                raise RefusedError(
                    403, "host", f"host {host[:100]!r} is not this machine: ask 127.0.0.1, or"
                    f" start the server with {TOKEN}",
                )  # fmt: skip
        elif path not in OPEN and not self.trusts(headers, by_password=path in PAGES):
            raise RefusedError(
                401, "token", "no token, or a wrong one: send the header Authorization: Bearer and"
                f" what the server has in {TOKEN}",
            )  # fmt: skip

    def trusts(self, headers: Mapping[bytes, bytes], *, by_password: bool = False) -> bool:
        """Return whether the request has the token, if there is one.

        - `by_password`: it may be the password of any user.
        """
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        scheme, given = scheme.lower(), given.strip()
        if by_password and scheme == b"basic":
            with suppress(ValueError):
                scheme, given = b"bearer", b64decode(given).partition(b":")[2]
        # The time that this takes says nothing about the token.
        is_right = hmac.compare_digest(given, self._token)
        return not self._token or (is_right and scheme == b"bearer")

    def _check_rate(self, client: str) -> None:
        """Raise RefusedError for a client that asks more often than `rate`."""
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
    """Raise UsageError if others could ask without a token, or no header can carry the token."""
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
    """Return whether a host is this machine, and reached only from it."""
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

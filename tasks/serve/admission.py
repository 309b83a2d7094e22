"""Admission of requests by token, or from this machine."""

import hmac
from collections.abc import Mapping
from ipaddress import ip_address

from leaseboard.algorithms.errors import UsageError

TOKEN = "LEASEBOARD_TOKEN"  # noqa: S105  (its name)
"""The variable of the environment that holds the token."""
OPEN = frozenset({"/ping", "/health"})
"""What may be asked without the token: whether the server lives and is ready."""


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
    """Admission of requests by token and host.

    - `token`: what every request but those of `OPEN` must have; empty: none, on loopback only.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def check(self, path: str, headers: Mapping[bytes, bytes]) -> None:
        """Raise RefusedError unless the request may pass."""
        if not self._token:
            # A page in a browser here could ask us by a name of its own that leads to loopback.
            host = headers.get(b"host", b"").decode("latin-1")
            if not is_loopback(_without_port(host)):
                raise RefusedError(
                    403, "host", f"host {host[:100]!r} is not this machine: ask 127.0.0.1, or"
                    f" start the server with {TOKEN}",
                )  # fmt: skip
        elif path not in OPEN and not self.trusts(headers):
            raise RefusedError(
                401, "token", "no token, or a wrong one: send the header Authorization: Bearer and"
                f" what the server has in {TOKEN}",
            )  # fmt: skip

    def trusts(self, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether the request has the token, if there is one."""
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        # The time that this takes says nothing about the token.
        is_right = hmac.compare_digest(given.strip(), self._token)
        return not self._token or (is_right and scheme.lower() == b"bearer")


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

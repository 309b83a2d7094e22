"""Addresses of stores and servers, and how to show them without their passwords."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from leaseboard.algorithms.errors import UsageError

HIDDEN = "***"
VARIABLES = (
    "LEASEBOARD_STORE",
    "MLFLOW_TRACKING_URI",
    "MLFLOW_UI_URL",
    "PREFECT_API_URL",
    "PREFECT_API_DATABASE_CONNECTION_URL",
)
"""Variables that hold addresses, in addition to the command line."""
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_QUERY = re.compile("[?#]")
_LEAST = 2
"""Least length of a part of a password that is searched for: one sign is in every text."""


def redacted(address: str) -> str:
    """Return `address` without user and password, and without a query, which may hold tokens.

    All is hidden where parsers differ about the end of a password, such as one with ``#`` in it.

    Examples
    --------
    >>> redacted("postgresql://me:pass@host:5432/mlflow?sslkey=a")
    'postgresql://***@host:5432/mlflow'
    >>> redacted("mysql://me:p#/@ss@host/db")
    'mysql://***'
    """
    if address.startswith("sqlite:"):  # a path, of which any sign may be a part
        return address
    scheme, found, rest = address.partition("://")
    if not found:
        scheme, rest = "", address
    head, *tail = _QUERY.split(rest, maxsplit=1)
    if "@" in "".join(tail):  # of a query, or of a password: ambiguous
        return f"{scheme}{found}{HIDDEN}"
    _, at, place = head.rpartition("@")
    _, colon, port = place.partition("/")[0].rpartition(":")
    if colon and not port.isdigit() and "]" not in port:  # a password, where a port should be
        return f"{scheme}{found}{HIDDEN}"
    return f"{scheme}{found}{HIDDEN + at if at else ''}{place}"


def scrubbed(text: str, addresses: Iterable[str]) -> str:
    """Return `text` without the passwords and queries of `addresses`, also percent-decoded.

    Examples
    --------
    >>> scrubbed("no host 'cret@db'", ["mysql://me:se/cret@db/x"])
    "no host '***@db'"
    """
    parts = {part for address in addresses for part in _secrets(address)}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text


def mlflow_ui(store: str) -> str:
    """Return the address at which users see an MLflow store: that of each link to it.

    It is ``MLFLOW_UI_URL``, else the store itself if it is a server, else where `leaseboard ui`
    serves it by default. Links hold no user and no password.
    """
    named = os.environ.get("MLFLOW_UI_URL") or (store if store.startswith("http") else "")
    return redacted(named or "http://127.0.0.1:5000").replace(f"{HIDDEN}@", "").rstrip("/")


def model_link(store: str, name: str) -> str:
    """Return the address of a registered model in MLflow's UI."""
    return f"{mlflow_ui(store)}/#/models/{quote(name)}"


def is_variable(text: str) -> bool:
    """Return whether `text` is a ``$NAME`` and nothing else."""
    return _VARIABLE.fullmatch(text) is not None


def filled(text: str) -> str:
    """Return `text` with the environment's values for each ``$NAME`` in it.

    Raises UsageError that names a variable which is not set.
    """
    for name in _VARIABLE.findall(text):
        if name not in os.environ:
            raise UsageError(f"the variable {name} is not set: export it before you start")
    return _VARIABLE.sub(lambda found: os.environ[found[1]], text)


def known(arguments: Iterable[str] = ()) -> list[str]:
    """Return the addresses in the environment and among a command's arguments."""
    named = (os.environ.get(name, "") for name in VARIABLES)
    given = (argument.partition("=")[2] if argument.startswith("--") else argument
             for argument in arguments)  # fmt: skip
    return [address for address in (*named, *given) if "://" in address]


def discreet(text: str) -> str:
    """Return `text` without the passwords of the addresses given to this process."""
    return scrubbed(text, known(sys.argv[1:]))


def _secrets(address: str) -> Iterator[str]:
    """Yield all parts of an address in which a parser may see its password."""
    if address.startswith("sqlite:"):
        return
    _, found, rest = address.partition("://")
    rest = rest if found else address
    user, _, place = rest.rpartition("@")
    port = place.partition("/")[0].partition(":")[2]
    query = "".join(_QUERY.split(rest, maxsplit=1)[1:])
    for text in (user.partition(":")[2], query, "" if port.isdigit() else port):
        for form in {text, unquote(text), unquote_plus(text)}:
            pieces = [form, *re.split(r"[\s:/?#@\[\]&=;,'\"\\]+", form)]
            for piece in pieces:
                for written in {piece, quote(piece), quote_plus(piece), repr(piece)[1:-1]}:
                    if len(written) >= _LEAST:
                        yield written

"""Addresses of stores and servers, and how to show them without their passwords."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from leaseboard.algorithms.caches import cache_dir
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
_HOST = re.compile(r"(\[[0-9a-fA-F:.]*\]|[^:\[\]]*)(:\d*)?")
_LEAST = 2
"""Least length of a part of a password that is searched for: one sign is in every text."""


def redacted(address: str) -> str:
    """Return `address` without user and password, and without a query, which may hold tokens.

    Everything up to the last ``@`` is hidden, wherever it is: parsers differ about where a
    password with a ``/``, ``#``, ``?`` or ``@`` in it ends.

    Examples
    --------
    >>> redacted("postgresql://me:pass@host:5432/mlflow?sslkey=a")
    'postgresql://***@host:5432/mlflow'
    >>> redacted("mysql://me:p#/@ss@host/db")
    'mysql://***@host/db'
    """
    if address.startswith("sqlite:"):  # a path, of which any sign may be a part
        return address
    scheme, found, rest = address.partition("://")
    if not found:
        scheme, rest = "", address
    head, _, tail = _divided(rest)
    if "@" in tail and _is_place(head):
        return f"{scheme}{found}{HIDDEN}"  # an @ of a query, or of a password: ambiguous
    _, at, place = rest.rpartition("@")
    host, slash, path = _divided(place)[0].partition("/")
    if not _HOST.fullmatch(host):  # a password, where a port should be
        host, slash, path = HIDDEN, "", ""
    return f"{scheme}{found}{HIDDEN + at if at else ''}{host}{slash}{path}"


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
    served the store last, or would. Links hold no user and no password.
    """
    named = os.environ.get("MLFLOW_UI_URL") or (store if store.startswith("http") else "")
    if not named:
        place = _ui_record(store)
        named = place.read_text() if place.is_file() else "http://127.0.0.1:5000"
    return redacted(named).replace(f"{HIDDEN}@", "").rstrip("/")


def model_link(store: str, name: str) -> str:
    """Return the address of a registered model in MLflow's UI."""
    return f"{mlflow_ui(store)}/#/models/{quote(name)}"


def remember_ui(store: str, address: str) -> None:
    """Record where `leaseboard ui` serves a store, for `mlflow_ui`."""
    place = _ui_record(store)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(address)


def _ui_record(store: str) -> Path:
    import hashlib

    return cache_dir() / "ui" / hashlib.sha256(store.encode()).hexdigest()


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


def _is_place(text: str) -> bool:
    """Return whether a text holds a host and a path, after a user if there is one."""
    return _HOST.fullmatch(text.rpartition("@")[2].partition("/")[0]) is not None


def _divided(text: str) -> tuple[str, str, str]:
    """Return the text before the first ``?`` or ``#``, that sign, and the rest."""
    sign = re.search(r"[?#]", text)
    if sign is None:
        return text, "", ""
    return text[: sign.start()], sign[0], text[sign.end() :]


def _secrets(address: str) -> Iterator[str]:
    """Yield all parts of an address in which a parser may see its password."""
    if address.startswith("sqlite:"):
        return
    _, found, rest = address.partition("://")
    rest = rest if found else address
    user, at, place = rest.rpartition("@")
    password = user.partition(":")[2] if at else ""
    port = _divided(place)[0].partition("/")[0].partition(":")[2]
    head, _, tail = _divided(rest)
    query = tail if _is_place(head) else _divided(place)[2]
    whole = [password, query, "" if port.isdigit() else port]
    for text in whole:
        for form in {text, unquote(text), unquote_plus(text)}:
            pieces = [form, *re.split(r"[\s:/?#@\[\]&=;,'\"\\]+", form)]
            for piece in pieces:
                for written in {piece, quote(piece), quote_plus(piece), repr(piece)[1:-1]}:
                    if len(written) >= _LEAST:
                        yield written

"""Data references: ``openml:215``, ``synthetic:fried?rows=1000&seed=0``, ``file:path.csv``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote

from leaseboard.algorithms.errors import UsageError, unknown

SOURCES = ("openml", "mirror", "sklearn", "river", "synthetic", "file", "plugin")
"""Every source a reference can name."""

GENERAL_OPTIONS = ("rows", "first_rows", "target", "task", "threshold", "missing_target")
"""Options that every source takes; generators add their own."""

TASKS = ("regression", "classification")


@dataclass(frozen=True, slots=True)
class Reference:
    """Parsed reference: source, name, and options as text.

    `source` is the empty string where the text has none: a name of ``conf/data``, or a path.
    """

    source: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the text of the reference, which parses to an equal one."""
        options = "&".join(
            f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in self.options.items()
        )
        colon = ":" if self.source else ""
        return f"{self.source}{colon}{self.name}" + (f"?{options}" if options else "")

    def with_options(self, options: Mapping[str, str]) -> Reference:
        """Return the same reference with `options`, which win over its own."""
        return replace(self, options={**self.options, **options})


def parse(text: str) -> Reference:
    """Split ``source:name?key=value&key=value``; UsageError says what is wrong with it.

    Examples
    --------
    >>> parse("synthetic:fried?rows=100&seed=1")
    Reference(source='synthetic', name='fried', options={'rows': '100', 'seed': '1'})
    """
    source, colon, rest = text.partition(":")
    if not colon:
        source, rest = "", text
    elif source not in SOURCES:
        raise unknown("data source", source, SOURCES)
    name, _, query = rest.partition("?")
    if not name:
        raise UsageError(
            f"data reference {text!r} names no data: write source:name, such as openml:215"
        )
    return Reference(source, name, _options(query, text))


def with_options(text: str, **given: str | None) -> str:
    """Return the reference `text` with further options.

    Examples
    --------
    >>> with_options("file:sales.csv", target="revenue", task=None)
    'file:sales.csv?target=revenue'
    """
    options = {key: value for key, value in given.items() if value is not None}
    return str(parse(text).with_options(options)) if options else text


def check_options(reference: Reference, own: Iterable[str] = ()) -> None:
    """Raise UsageError with the nearest name for an option that `reference` cannot take."""
    allowed = (*GENERAL_OPTIONS, *own)
    for key in reference.options:
        if key not in allowed and key == "missing":
            raise UsageError(
                f"missing is an option of the stream, not of {reference.source}:{reference.name}:"
                " use --set missing=zero (in a suite environment: {missing: zero})"
            )
        if key not in allowed:
            raise unknown(f"option of {reference.source}:{reference.name}", key, allowed)


def whole_number(reference: Reference, key: str, least: int) -> int | None:
    """Return option `key` as an integer of at least `least`, None where it is not given."""
    text = reference.options.get(key)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < least:
        raise UsageError(f"{key}={text} of {reference}: must be a whole number, at least {least}")
    return int(text)


def number(reference: Reference, key: str) -> float | None:
    """Return option `key` as a finite number, None where it is not given."""
    text = reference.options.get(key)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value - value != 0:  # true of NaN and of the infinities alone
        raise UsageError(f"{key}={text} of {reference}: must be a finite number")
    return value


def choice(reference: Reference, key: str, known: Iterable[str]) -> str | None:
    """Return option `key` as one of `known`, None where it is not given."""
    value = reference.options.get(key)
    if value is not None and value not in known:
        raise unknown(f"{key} of {reference.source}:{reference.name}", value, known)
    return value


def _options(query: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, _, value = part.partition("=")
        key = unquote(key)
        if not value:
            raise UsageError(
                f"option {part!r} of {text!r} has no value: write key=value; a ? in the name of a"
                " file begins its options, too: rename the file"
            )
        if key in options:
            raise UsageError(f"option {key!r} of {text!r} is given twice: keep one")
        options[key] = unquote(value)
    return options

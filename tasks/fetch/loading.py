"""`load`: from a data reference to a checked `Dataset`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from leaseboard.tasks.fetch import (
    files,
    mirror,
    named,
    openml_source,
    references,
    river_source,
    sklearn_source,
    synthetic,
)
from leaseboard.tasks.fetch.dataset import Dataset, General, RawTable, finish
from leaseboard.tasks.fetch.entries import table_of
from leaseboard.tasks.fetch.references import Reference
from leaseboard.tasks.machine import paths


def load(reference: str, *, mirrors: Iterable[str | Path] = ()) -> Dataset:
    """The data set that `reference` names, checked, with rows and columns in their order.

    - `reference`: such as ``openml:215``, ``mirror:flights_3m?threshold=15``, ``sklearn:digits``,
      ``river:Phishing``, ``synthetic:fried?rows=1000&seed=0``, ``file:data.csv?target=y``, a path,
      or a name of ``conf/data``.
    - `mirrors`: asked before the network; by default those of ``LEASEBOARD_MIRROR``.

    Raises
    ------
    UsageError
        The reference, its source or an option does not exist, or the file does not.
    DataError
        The data are there and cannot be used as asked.
    DataUnavailableError
        The data are not here and cannot be had now.
    """
    parsed = _parse(reference)
    folders = paths.mirrors(tuple(Path(mirror) for mirror in mirrors))
    return finish(_read(parsed, folders), parsed, reference)


def check(reference: str) -> None:
    """UsageError for what is wrong with `reference` itself; no data are read."""
    General.of(_parse(reference))


def check_here(reference: str) -> None:
    """UsageError for what `check` finds, or for a file that is not there; no data are read."""
    check(reference)
    parsed = _parse(reference)
    if parsed.source == "file":
        files.check(parsed.name)


def _parse(text: str) -> Reference:
    """The reference that `text` stands for, with a source and known options."""
    reference = named.resolve(references.parse(text))
    own = synthetic.own_options(reference.name) if reference.source == "synthetic" else ()
    references.check_options(reference, own)
    if reference.source == "sklearn":
        sklearn_source.check(reference.name)
    if reference.source == "river":
        river_source.check(reference.name)
    return reference


def _read(reference: Reference, mirrors: tuple[Path, ...]) -> RawTable:
    rows = references.whole_number(reference, "first_rows", least=1)
    match reference.source:
        case "synthetic":
            return synthetic.read(reference)
        case "sklearn":
            return sklearn_source.read(reference.name)
        case "river":
            return river_source.read(reference.name)
        case "mirror":
            return mirror.read(reference.name, mirrors, rows)
        case "openml":
            entry = mirror.find(reference.name, mirrors)
            return table_of(entry, rows) if entry else openml_source.read(reference.name, rows)
        case named.IMPORTED:
            return named.read_imported(reference.name, rows)
        case _:
            return files.read(reference.name, rows)

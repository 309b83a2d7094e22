"""`load`: from a data reference, or a name of ``conf/data``, to a checked `Dataset`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.fetch import (
    cache,
    files,
    mirror,
    openml_source,
    packages,
    references,
    synthetic,
)
from leaseboard.tasks.fetch.cache import table_of
from leaseboard.tasks.fetch.dataset import Dataset, General, RawTable, finish
from leaseboard.tasks.fetch.references import Reference
from leaseboard.tasks.machine import paths

IMPORTED = "imported"
"""The cache's section of imported files."""


class Named(BaseModel):
    """One file of ``conf/data``: a reference, what it is, and options of the reference."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reference: str
    """With a source; a relative path of ``file:`` starts at the file's own folder."""
    about: str = ""
    """One line for ``leaseboard list``."""
    target: str | None = None
    task: Literal["regression", "classification"] | None = None
    threshold: float | None = None
    rows: Annotated[int, Field(ge=2)] | None = None
    first_rows: Annotated[int, Field(ge=2)] | None = None
    missing_target: Literal["drop"] | None = None
    """Options that the reference would otherwise carry after its ``?``."""


def names(conf: Path | None = None) -> list[str]:
    """The names that files of ``conf/data`` give to data sets, the user's and the shipped."""
    return sorted(paths.conf_files("data", conf))


def read_named(name: str, conf: Path | None = None) -> Named:
    """The file ``conf/data/<name>.yaml``; UsageError names the key that is wrong."""
    path = paths.conf_files("data", conf)[name]
    try:
        return Named(**yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise UsageError(f"{path}: {unknown('key', key, Named.model_fields)}") from error
        raise UsageError(f"{path}: {key}: {first['msg']}") from error
    except (yaml.YAMLError, TypeError, UnicodeDecodeError) as error:
        line = " ".join(str(error).split())
        raise UsageError(f"{path}: not a mapping in YAML: {line}") from error


def resolve(reference: Reference) -> Reference:
    """The reference with a source that a bare name or path stands for.

    A name of ``conf/data`` comes first, then an imported data set, then a path.
    """
    if reference.source:
        return reference
    name = reference.name
    if name in names():
        return _named(name).with_options(reference.options)
    if cache.find(IMPORTED, name) is not None:
        return Reference(IMPORTED, name, reference.options)
    if Path(name).expanduser().is_file():
        return Reference("file", name, reference.options)
    known = [*names(), *(entry.id for entry in cache.entries(IMPORTED))]
    if "/" in name or Path(name).suffix:
        raise UsageError(f"{name}: no such file")
    raise unknown("data set", name, known)


def read_imported(name: str, rows: int | None = None) -> RawTable:
    """The data set that was imported as `name`."""
    entry = cache.find(IMPORTED, name)
    if entry is None:
        raise UsageError(f"{name}: no longer in the cache: import the file again")
    return table_of(entry, rows)


def _named(name: str) -> Reference:
    known, home = read_named(name), paths.conf_files("data")[name]
    reference = references.parse(known.reference)
    if not reference.source:
        raise UsageError(f"{home}: reference {known.reference!r} has no source: "
                         "write source:name, such as openml:215")  # fmt: skip
    options = known.model_dump(exclude={"reference", "about"}, exclude_none=True)
    reference = reference.with_options({key: str(value) for key, value in options.items()})
    if reference.source == "file":
        path = home.parent / Path(reference.name).expanduser()  # an absolute path stays itself
        return Reference("file", str(path), reference.options)
    return reference


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
    reference = resolve(references.parse(text))
    own = synthetic.own_options(reference.name) if reference.source == "synthetic" else ()
    references.check_options(reference, own)
    if reference.source in packages.LICENCES:
        packages.check(reference.source, reference.name)
    return reference


def _read(reference: Reference, mirrors: tuple[Path, ...]) -> RawTable:
    rows = references.whole_number(reference, "first_rows", least=1)
    match reference.source:
        case "synthetic":
            return synthetic.read(reference)
        case "sklearn":
            return packages.read_sklearn(reference.name)
        case "river":
            return packages.read_river(reference.name)
        case "mirror":
            return mirror.read(reference.name, mirrors, rows)
        case "openml":
            entry = mirror.find(reference.name, mirrors)
            return table_of(entry, rows) if entry else openml_source.read(reference.name, rows)
        case "imported":
            return read_imported(reference.name, rows)
        case _:
            return files.read(reference.name, rows)

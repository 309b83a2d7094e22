"""What data there are: list them, verify their digests, import a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.tasks.fetch import (
    cache,
    files,
    loading,
    mirror,
    packages,
    synthetic,
)
from leaseboard.tasks.fetch.cache import Catalogued
from leaseboard.tasks.fetch.dataset import finish
from leaseboard.tasks.fetch.references import Reference
from leaseboard.tasks.machine import paths

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of ``leaseboard data list``; a size is None where it is not known unread."""

    reference: str
    summary: str
    source: str
    task: str = ""
    rows: int | None = None
    features: int | None = None
    licence: str = ""

    def __str__(self) -> str:
        """The reference, and how large the data set is."""
        return f"{self.reference}: {self.rows} rows, {self.features} features, {self.task}"


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether the file of a data set is the one its catalogue knows; `detail` says what is not."""

    name: str
    whole: bool
    detail: str = ""


def catalogue(conf: Path | None = None, mirrors: Iterable[str | Path] = ()) -> list[Listed]:
    """Every data set that is at hand without a network, named and embedded ones first."""
    listed = []
    for name in loading.names(conf):
        known = loading.read_named(name, conf)
        listed.append(Listed(name, known.about, known.reference, known.task or ""))
    for name, maker in synthetic.GENERATORS.items():
        listed.append(
            Listed(f"synthetic:{name}", maker.summary(), "generator", maker.task, maker.rows)
        )
    shipped = {"sklearn": ("scikit-learn", packages.BUNDLED)}
    if packages.river_is_here():
        shipped["river"] = ("River", packages.RIVER)
    for source, (package, known_sets) in shipped.items():
        listed += [
            Listed(f"{source}:{name}", f"{name}, {task}", package, task,
                   licence=packages.LICENCES[source])
            for name, task in known_sets.items()
        ]  # fmt: skip
    return listed + [_listed(reference, entry) for reference, entry in _entries(mirrors)]


def verify(mirrors: Iterable[str | Path] = ()) -> Iterator[Verified]:
    """Check the digest of every file of the mirrors and of the cache."""
    for reference, entry in _entries(mirrors):
        try:
            cache.check(entry)
        except DataError as error:
            yield Verified(reference, whole=False, detail=str(error))
        else:
            yield Verified(reference, whole=True)


def import_file(
    path: str | Path,
    name: str | None = None,
    *,
    target: str | None = None,
    task: str | None = None,
) -> Listed:
    """Copy a data file into the cache, under a `name` that then is a data reference.

    The file is read and checked as ``file:path`` would be; later changes of it do not matter. A
    file that was imported under the name before is replaced.

    Raises UsageError: the name is one of ``conf/data`` or not plain, or the file cannot be used as
    data.
    """
    table = files.read(str(path))
    name = Path(path).stem if name is None else name
    if not _PLAIN.fullmatch(name):
        raise UsageError(f"name {name!r} must be letters, digits, dots, dashes or underscores")
    if name in loading.names():
        raise UsageError(f"name {name!r} is taken by a file of conf/data: choose another one")
    given = {"target": target, "task": task}
    options = {key: value for key, value in given.items() if value is not None}
    data = finish(table, Reference("file", str(path), options), str(path))
    frame = data.features.assign(**{str(data.target.name): data.target})
    with cache.scratch(loading.IMPORTED) as folder:
        (folder / "new").mkdir()
        cache.write(
            folder / "new",
            frame,
            id=name,
            name=table.name,
            task=data.task,
            target=str(data.target.name),
            source=f"imported from {Path(path).name}",
        )
        return _listed(name, cache.replace(folder / "new", loading.IMPORTED, name))


def is_imported(name: str) -> bool:
    """Whether a file was imported under `name`."""
    return (cache.section(loading.IMPORTED) / name).is_dir()


def _entries(mirrors: Iterable[str | Path]) -> Iterator[tuple[str, Catalogued]]:
    """Every file with a known digest, by its reference."""
    for entry in cache.entries(loading.IMPORTED):
        yield entry.id, entry
    for entry in cache.entries("openml"):
        yield f"openml:{entry.id}", entry
    for entry in mirror.entries(paths.mirrors(tuple(Path(folder) for folder in mirrors))):
        yield f"{'openml' if entry.id.isdecimal() else 'mirror'}:{entry.id}", entry


def _listed(reference: str, entry: Catalogued) -> Listed:
    summary = f"{entry.name}, {entry.task}, {entry.rows} x {entry.features}"
    return Listed(
        reference,
        summary,
        entry.source,
        entry.task,
        entry.rows,
        entry.features,
        entry.licence,
    )

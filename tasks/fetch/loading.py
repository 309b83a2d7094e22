"""From a data reference, or a name of ``conf/data``, to a checked `Dataset`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from leaseboard.algorithms import plugins
from leaseboard.algorithms.errors import DataUnavailableError, UsageError, unknown
from leaseboard.tasks.fetch import (
    cache,
    files,
    openml_source,
    packages,
    plugin_source,
    references,
    synthetic,
)
from leaseboard.tasks.fetch.cache import table_of
from leaseboard.tasks.fetch.dataset import Dataset, General, RawTable, finish
from leaseboard.tasks.fetch.references import Reference
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml


class Named(Strict):
    """File of ``conf/data``: a reference, what it is, and options of the reference."""

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
    """Return the names of files of ``conf/data``, the user's and the shipped."""
    return sorted(paths.conf_files("data", conf))


def read_named(name: str, conf: Path | None = None) -> Named:
    """Return the file ``conf/data/<name>.yaml``; UsageError names the key that is wrong."""
    return load_yaml(paths.conf_files("data", conf)[name], Named)


def resolve(reference: Reference) -> Reference:
    """Return the reference with the source of a bare name or path.

    A name of ``conf/data`` comes first, then a path, then a plugin's.
    """
    if reference.source:
        return reference
    name = reference.name
    if name in names():
        return _named(name).with_options(reference.options)
    if Path(name).expanduser().is_file():
        return Reference("file", name, reference.options)
    added = plugins.names("datasets")
    if name in added:
        return Reference(plugin_source.SOURCE, name, reference.options)
    known = [*names(), *added]
    if "/" in name or Path(name).suffix:
        raise UsageError(f"{name}: no such file")
    raise unknown("dataset", name, known)


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
    """Return the dataset that `reference` names, checked, with rows and columns in their order.

    - `reference`: such as ``openml:215``, ``mirror:flights_3m?threshold=15``, ``sklearn:digits``,
      ``river:Phishing``, ``plugin:NAME``, ``synthetic:fried?rows=1000&seed=0``,
      ``file:data.csv?target=y``, a path, or a name of ``conf/data``.
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
    return finish(read_raw(parsed, folders), parsed, reference)


def check(reference: str) -> None:
    """Raise UsageError for what is wrong with `reference` itself; no data are read."""
    General.of(_parse(reference))


def check_here(reference: str) -> None:
    """Raise UsageError as `check` does, or for a file that is not there; no data are read."""
    check(reference)
    parsed = _parse(reference)
    if parsed.source == "file":
        files.check(parsed.name)


def _parse(text: str) -> Reference:
    """Return the reference of `text`, with a source and known options."""
    reference = resolve(references.parse(text))
    own = synthetic.own_options(reference.name) if reference.source == "synthetic" else ()
    references.check_options(reference, own)
    if reference.source in packages.LICENCES:
        packages.check(reference.source, reference.name)
    if reference.source == plugin_source.SOURCE:
        plugin_source.named(reference.name)
    return reference


def read_raw(reference: Reference, mirrors: tuple[Path, ...]) -> RawTable:
    """Return the table of a reference that has a source, before its options are applied."""
    rows = references.whole_number(reference, "first_rows", least=1)
    match reference.source:
        case "synthetic":
            return synthetic.read(reference)
        case "sklearn":
            return packages.read_sklearn(reference.name)
        case "river":
            return packages.read_river(reference.name)
        case plugin_source.SOURCE:
            return plugin_source.read(reference.name)
        case "mirror":
            return _mirrored(reference.name, mirrors, rows)
        case "openml":
            entry = cache.mirrored(mirrors).get(reference.name)
            return table_of(entry, rows) if entry else openml_source.read(reference.name, rows)
        case _:
            return files.read(reference.name, rows)


def _mirrored(name: str, mirrors: tuple[Path, ...], rows: int | None) -> RawTable:
    known = cache.mirrored(mirrors)
    if name in known:
        return table_of(known[name], rows)
    why = "no mirror is set, name one with --mirror FOLDER or LEASEBOARD_MIRROR"
    if mirrors:
        why = str(unknown("dataset of the mirror", name, known, "leaseboard data list"))
    raise DataUnavailableError(f"mirror:{name} is not available: {why}")

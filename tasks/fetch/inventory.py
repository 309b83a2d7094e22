"""Inventory of data: list datasets, build a mirror.

A mirror is built from the public sources that ``conf/mirror.csv`` names. A row of that table is a
dataset that suites or pages name: where it is public (the address of a file with its checksum, an
OpenML id, or a dataset of scikit-learn; nothing if only a mirror has it), the columns to take, and
the digest of the copy on which published results were measured.
"""

import csv
import http.client
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd

from leaseboard.algorithms.errors import DataError, DataUnavailableError, LeaseboardError, naming
from leaseboard.tasks.evaluate import venv
from leaseboard.tasks.fetch import files, loading, synthetic
from leaseboard.tasks.fetch.dataset import Options, RawTable, file_digest
from leaseboard.tasks.fetch.loading import CATALOGUE
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.terminal import counted
from leaseboard.tasks.machine.yaml_files import load_yaml

ONLY_A_MIRROR = "only a mirror has it, no public source is known"


def catalogue() -> list[tuple[str, str, str]]:
    """Return reference, summary and source of every known dataset.

    These are named and embedded ones, those of mirrors, and public sources.
    """
    listed = {}
    for name, file in loading.named().items():
        known = load_yaml(file, loading.Named)
        listed[name] = known.about, known.reference
    for name, each in synthetic.GENERATORS.items():
        listed[f"synthetic:{name}"] = each.summary(), "generator"
    for source, sets in loading.PACKAGES.items():
        if source != "river" or venv.is_installed("river"):
            listed |= {f"{source}:{name}": (name, source) for name in sets}
    for entry in loading.mirrored(environment.mirrors()).values():
        summary = "{name}, {task}, {rows} x {features}".format(**entry)
        listed[_reference(entry["id"])] = summary, entry["source"]
    for name, row in public_sources().items():
        listed.setdefault(_reference(name), (row["name"], row["source"] or ONLY_A_MIRROR))
    return [(reference, *said) for reference, said in listed.items()]


def _reference(name: str) -> str:
    return f"{'openml' if name.isdecimal() else 'mirror'}:{name}"


def public_sources() -> dict[str, dict[str, str]]:
    """Return the table of public sources by id; `source` is empty if only a mirror has it."""
    with (environment.shipped_conf() / "mirror.csv").open(encoding="utf-8", newline="") as lines:
        return {row["id"]: row for row in csv.DictReader(lines)}


def build_mirror(
    folder: Path, wanted: Iterable[str] | None = None
) -> Iterator[tuple[str, bool, str]]:
    """Build the mirror `folder`, dataset by dataset; one that fails stops no other.

    Datasets that are there already, with their checksums, stay. Yields the name of each, whether
    it is whole, and what is there or why it is not.

    - `wanted`: references, of which those of OpenML and mirrors count; by default every dataset
      that has a public source.
    """
    known = public_sources()
    names = [name for name, row in known.items() if row["source"]]
    if wanted is not None:
        parsed = (loading.resolve(loading.parse(text)) for text in wanted)
        names = [each.name for each in parsed if each.source in ("openml", "mirror")]
    folder.mkdir(parents=True, exist_ok=True)
    there = loading.mirrored([folder]) if (folder / CATALOGUE).is_file() else {}
    for name in counted(dict.fromkeys(names), f"mirror {folder}", "datasets"):
        elsewhere = {"source": f"openml:{name}" if name.isdecimal() else ""}
        try:
            yield name, True, _add(folder, there, name, known.get(name, elsewhere))
        except LeaseboardError as error:
            yield name, False, str(error)


def _add(folder: Path, there: dict[str, dict[str, str]], name: str, row: dict[str, str]) -> str:
    """Add a dataset to the mirror and to `there`, its catalogue; return what happened."""
    with suppress(KeyError, DataError):
        loading.check_mirrored(there[name])
        return "there already"
    table = _read(row)
    texts = {key: row.get(key) or getattr(table, key) or ""
             for key in ("name", "target", "task", "licence")}  # fmt: skip
    path = folder / f"{name}.parquet"
    part = path.with_suffix(".part")
    with naming(part):
        table.frame.to_parquet(part, index=False)
    size = {"rows": str(len(table.frame)), "features": str(table.frame.shape[1] - 1)}
    more = {"sha256": file_digest(part), "source": row["source"], loading.FILE: str(path)}
    there[name] = new = there.get(name, {}) | {"id": name, **texts, **size, **more}
    part.replace(path)
    part = folder / f"{CATALOGUE}.part"
    # The file is whole before the catalogue names it.
    pd.DataFrame(list(there.values())).drop(columns=loading.FILE).to_csv(part, index=False)
    part.replace(folder / CATALOGUE)
    read = "{rows} rows, {features} features, from {source}".format(**new)
    if not row.get("digest"):
        return read
    same = loading.load(f"mirror:{name}", mirrors=[folder]).digest == row["digest"]
    return f"{read}, {'the content' if same else 'not the copy'} that was measured"


def _read(row: dict[str, str]) -> RawTable:
    if not (source := row["source"]):
        raise DataUnavailableError(ONLY_A_MIRROR)
    if not source.startswith("http"):
        return loading.read_raw(loading.parse(source), (), Options())
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / source.rpartition("/")[2]
        try:
            with urllib.request.urlopen(source, timeout=60) as sent:  # noqa: S310
                path.write_bytes(sent.read())
        except (OSError, http.client.HTTPException) as error:
            raise DataUnavailableError(f"{source} cannot be fetched ({error})") from error
        if (found := file_digest(path)) != row["sha256"]:
            raise DataError(
                f"{source}: sha256 {found[:12]}... is not the expected {row['sha256'][:12]}...:"
                " the file changed at its source"
            )
        table, made = files.read(str(path)), {}
    for column in filter(None, row["columns"].split(";")):  # name, name=column, name=date.part
        name, _, origin = column.partition("=")
        origin, _, part = (origin or name).partition(".")
        made[name] = getattr(table.frame[origin].dt, part) if part else table.frame[origin]
    return replace(table, frame=pd.DataFrame(made)) if made else table

"""``leaseboard list``, ``data`` and ``peers``: what there is to run, on what, and against whom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from leaseboard.algorithms.errors import unknown
from leaseboard.flows.commands.options import Conf, Mirrors, show_table
from leaseboard.flows.console import say
from leaseboard.tasks.machine import paths

Rows = list[tuple[str, ...]]


def list_all(
    what: Annotated[
        str, typer.Argument(help="algorithms, data, suites, all; or an algorithm: its settings.")
    ] = "all",
    mirror: Mirrors = None,
    conf: Conf = None,
) -> None:
    """List algorithms, data sets and suites, each with one line and its source.

    Of an algorithm, list its settings.

    Example: leaseboard list algorithms
    """
    from leaseboard.algorithms import registry
    from leaseboard.tasks import fetch

    kinds = ("algorithms", "data", "suites")
    if what in registry.names():
        show_table(f"Settings of {what}", ("name", "default", "values"), _settings(what))
        return
    if what not in (*kinds, "all"):
        raise unknown("list", what, (*kinds, "all", "the name of an algorithm"))
    folder = paths.conf_dir(conf)
    columns = ("name", "what", "source")
    if what in {"algorithms", "all"}:
        rows = [(each.name, each.summary, each.source) for each in registry.ENTRIES]
        show_table("Algorithms", columns, rows)
    if what in {"data", "all"}:
        found = fetch.catalogue(folder, paths.mirrors(tuple(mirror or ())))
        show_table(
            "Data", columns, [(each.reference, each.summary, each.source) for each in found]
        )
    if what in {"suites", "all"}:
        show_table("Suites", ("name", "what", "size"), _suites(folder))


def _settings(name: str) -> Rows:
    from pydantic import TypeAdapter

    from leaseboard.algorithms import registry
    from leaseboard.algorithms.base import settings_of

    algorithm = registry.build(name)
    fields = TypeAdapter(type(algorithm)).json_schema().get("properties", {})
    return [
        (key, json.dumps(value), _values(fields[key]))
        for key, value in settings_of(algorithm).items()
    ]


def _values(schema: Mapping[str, Any]) -> str:
    """What a JSON schema allows, in few words.

    Examples
    --------
    >>> _values({"anyOf": [{"enum": ["raw", "all"]}, {"type": "number", "exclusiveMinimum": 0}]})
    'raw, all or number > 0'
    """
    if "anyOf" in schema:
        return " or ".join(map(_values, schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(schema["enum"])
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    return " ".join([schema.get("type", "any"), " and ".join(limits)]).rstrip()


def _suites(conf: Path) -> Rows:
    from leaseboard.tasks.jobs.suites.suite import (
        Collection,
        Suite,
        is_collection,
        load_suite,
        members,
        suite_names,
        suite_path,
    )
    from leaseboard.tasks.machine.yaml_files import load_yaml

    rows: Rows = []
    for name in suite_names(conf):
        path = suite_path(name, conf)
        title = load_yaml(path, Collection if is_collection(path) else Suite).title
        suites = [load_suite(member, conf) for member in members(name, conf)]
        rows.append((name, title, f"{sum(len(suite.jobs()) for suite in suites)} jobs"))
    return rows


data = typer.Typer(
    name="data", help="List, fetch, verify and import data sets.", no_args_is_help=True
)


@data.command("list")
def list_data(mirror: Mirrors = None, conf: Conf = None) -> None:
    """List the data sets that can be named.

    Example: leaseboard data list
    """
    list_all("data", mirror, conf)


@data.command("fetch")
def fetch_data(
    references: Annotated[list[str], typer.Argument(help="Data references.")],
    mirror: Mirrors = None,
) -> None:
    """Fetch data sets into the cache and print what they are.

    Example: leaseboard data fetch openml:215
    """
    from leaseboard.tasks import fetch

    for reference in references:
        found = fetch.load(reference, mirrors=paths.mirrors(tuple(mirror or ())))
        say(
            f"{reference}: {len(found.features)} rows, {found.features.shape[1]} features,"
            f" {found.task}, target {found.target.name!r}, digest {found.digest}"
        )


@data.command("verify")
def verify_data(mirror: Mirrors = None) -> int:
    """Compare every file of the mirrors and of the cache with its digest.

    Example: leaseboard data verify --mirror my-mirror
    """
    from leaseboard.tasks import fetch

    checked = 0
    wrong = 0
    for entry in fetch.verify(paths.mirrors(tuple(mirror or ()))):
        checked += 1
        wrong += not entry.whole
        say(f"{'ok' if entry.whole else 'WRONG'}  {entry.name}  {entry.detail}".rstrip())
    say(f"{checked} files checked, {wrong} wrong")
    return 2 if wrong else 0 if checked else 3


@data.command("import")
def import_data(
    file: Annotated[Path, typer.Argument(help="A csv, parquet, arff or libsvm file.")],
    name: Annotated[str | None, typer.Option(help="Its name (default: the file's stem).")] = None,
    target: Annotated[str | None, typer.Option(help="The target column (default: last).")] = None,
    task: Annotated[str | None, typer.Option(help="regression or classification.")] = None,
) -> None:
    """Copy a file of your own into the cache under a name; an earlier import of it is replaced.

    Example: leaseboard data import sales.csv --target revenue
    """
    from leaseboard.tasks import fetch

    replaces = fetch.is_imported(file.stem if name is None else name)
    entry = fetch.import_file(file, name=name, target=target, task=task)
    say(f"{'imported again, replacing' if replaces else 'imported as'} {entry}")


peers = typer.Typer(
    name="peers",
    help="List, install and remove other AutoML systems to compare with.",
    no_args_is_help=True,
)
Name = Annotated[str, typer.Argument(help="A peer, such as flaml.")]


@peers.command("list")
def list_peers() -> None:
    """List the peers and whether they are installed.

    Example: leaseboard peers list
    """
    from leaseboard.tasks.evaluate.frameworks import venv

    for name in venv.names():
        place = venv.folder(name) if venv.is_installed(name) else "not installed"
        say(f"{name}  {place}")


@peers.command("install")
def install(name: Name) -> None:
    """Make a peer's environment, with exact pins, in the cache.

    Example: leaseboard peers install flaml
    """
    from leaseboard.tasks.evaluate.frameworks import venv

    say(f"{name}  {venv.install(name)}")


@peers.command("remove")
def remove(name: Name) -> int:
    """Delete a peer's environment.

    Example: leaseboard peers remove flaml
    """
    from leaseboard.tasks.evaluate.frameworks import venv

    removed = venv.remove(name)
    say(f"{name}  {'removed' if removed else 'was not installed'}")
    return 0 if removed else 3

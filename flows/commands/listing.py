"""``leaseboard list``, ``data`` and ``frameworks``: what there is to compare, and with what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.flows.commands.options import (
    KINDS,
    Command,
    Commands,
    Conf,
    Mirrors,
    complete_algorithms,
    complete_lists,
    show_table,
)
from leaseboard.flows.console import say
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.progress import counted

if TYPE_CHECKING:
    from leaseboard.tasks.fetch.inventory import Mirrored

Rows = list[tuple[str, ...]]


PURPOSES = {
    "stream": ("stream", "holdout"),
    "table": ("pulls", "systems"),
    "selection": ("samples", "folds"),
}
"""Environments of the algorithms for a purpose."""


def list_all(
    what: Annotated[str, typer.Argument(autocompletion=complete_lists)] = "all",
    purpose: Annotated[
        str | None, typer.Option("--for", autocompletion=lambda: list(PURPOSES))
    ] = None,
    mirror: Mirrors = None,
    conf: Conf = None,
) -> None:
    """List algorithms, datasets, suites, metrics, frameworks and plugins, with a line about each.

    - `what`: algorithms, data, suites, metrics, frameworks, plugins or all; or an algorithm, for
      its settings.
    - `purpose`: List only algorithms for streams, for tables, or for selection among given
      configurations.

    Example: leaseboard list algorithms --for stream
    """
    from leaseboard.algorithms import plugins, registry

    if purpose is not None and purpose not in PURPOSES:
        raise unknown("purpose", purpose, PURPOSES)
    if purpose is not None and what not in {"algorithms", "all"}:
        raise UsageError(f"--for {purpose} is for algorithms: omit it, or list algorithms")
    if what in registry.names():
        show_table(f"Settings of {what}", ("name", "default", "values"), _settings(what))
        return None
    if what not in KINDS:
        if file := registry.file_of(what):
            from leaseboard.tasks.jobs import sandbox

            rows = [tuple(row) for row in sandbox.ask(f"{__name__}:_settings", file, what)]
            return show_table(f"Settings of {what}", ("name", "default", "values"), rows)
        raise unknown("list", what, (*KINDS, *complete_algorithms()), "leaseboard list")
    entries = registry.ENTRIES
    if purpose is not None:
        what, wanted = "algorithms", PURPOSES[purpose]
        entries = tuple(
            each for each in entries if registry.algorithm_class(each.name).environment in wanted
        )
    folder = paths.conf_dir(conf)
    columns = ("name", "what", "source")
    if what in {"algorithms", "all"}:
        rows = [(each.name, each.summary, each.source) for each in entries]
        show_table("Algorithms", columns, rows)
    if what in {"data", "all"}:
        from leaseboard.tasks.fetch import inventory

        found = inventory.catalogue(folder, paths.mirrors(tuple(mirror or ())))
        show_table("Data", columns, found)
    if what in {"suites", "all"}:
        _show_suites(folder)
    if what in {"metrics", "all"}:
        from leaseboard.algorithms.measures import DIRECTIONS

        better = {"min": "less is better", "max": "more is better"}
        rows = [(name, better[direction]) for name, direction in DIRECTIONS.items()]
        show_table("Metrics", ("name", "what"), rows)
    if what in {"frameworks", "all"}:
        from leaseboard.tasks.evaluate.frameworks import venv

        rows = [(name, str(venv.folder(name)) if venv.is_installed(name) else "not installed")
                for name in venv.names()]  # fmt: skip
        show_table("Frameworks", ("name", "where"), rows)
    if what in {"plugins", "all"}:
        rows = [(each.name, each.kind, each.source) for each in plugins.discovered()]
        show_table("Plugins", ("name", "kind", "source"), rows)
    return None


def _show_suites(folder: Path) -> None:
    from leaseboard.tasks.jobs.suites import suite
    from leaseboard.tasks.machine.yaml_files import load_yaml

    rows = []
    for name in suite.suite_names(folder):
        path = suite.suite_path(name, folder)
        model = suite.SuiteGroup if suite.is_group(path) else suite.Suite
        suites = [suite.load_suite(each, folder) for each in suite.members(name, folder)]
        size = sum(len(each.jobs()) for each in suites)
        rows.append((name, load_yaml(path, model).title, f"{size} jobs"))
    show_table("Suites", ("name", "what", "size"), rows)


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
    """Return what a JSON schema allows, in few words.

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


data = typer.Typer(cls=Commands, help="List, fetch and mirror datasets.", no_args_is_help=True)


@data.command("list", cls=Command)
def list_data(mirror: Mirrors = None, conf: Conf = None) -> None:
    """List the datasets that have a name.

    Example: leaseboard data list
    """
    list_all("data", mirror=mirror, conf=conf)


@data.command("fetch", cls=Command)
def fetch_data(datasets: list[str], mirror: Mirrors = None) -> None:
    """Fetch datasets into the cache and describe them.

    - `datasets`: Names of `leaseboard data list`, or references such as openml:215.

    Example: leaseboard data fetch openml:215
    """
    from leaseboard.tasks.fetch import loading

    for reference in counted(datasets, "data fetch", "datasets"):
        found = loading.load(reference, mirrors=paths.mirrors(tuple(mirror or ())))
        say(
            f"{reference}: {len(found.features)} rows, {found.features.shape[1]} features,"
            f" {found.task}, target {found.target.name!r}, digest {found.digest}"
        )


def _say_each(found: Iterable[Mirrored], done: str) -> int:
    whole = []
    for each in found:
        whole.append(each.whole)
        say(f"{'ok' if each.whole else 'FAILED'}  {each.name}  {each.detail}".rstrip())
    say(f"{len(whole)} {done}, {whole.count(False)} failed")
    return 3 if not whole else 0 if all(whole) else 2


@data.command("mirror", cls=Command)
def mirror_data(
    folder: Path, suites: Annotated[list[str] | None, typer.Argument()] = None, conf: Conf = None
) -> int:
    """Build a mirror: a folder of datasets with checksums, from their public sources.

    Call it again to continue after an error; datasets that are there are not fetched again.

    - `folder`: The mirror, for --mirror; it is made if it does not exist.
    - `suites`: Only the datasets of these suites (default: all that have a public source).

    Example: leaseboard data mirror my-mirror tables streams
    """
    from leaseboard.tasks.fetch import inventory
    from leaseboard.tasks.jobs.suites.suite import load_suite, members

    home = paths.conf_dir(conf)
    named = [load_suite(each, home) for suite in suites or () for each in members(suite, home)]
    wanted = sorted({entry.data for suite in named for entry in suite.data}) if suites else None
    return _say_each(inventory.build_mirror(folder, wanted), f"datasets of {folder}")


frameworks = typer.Typer(
    cls=Commands,
    help="Install other AutoML and stream libraries to compare with.",
    no_args_is_help=True,
)


@frameworks.command("install", cls=Command)
def install(framework: str) -> None:
    """Install a framework in a Python environment of its own, with exact versions.

    - `framework`: A name of `leaseboard list frameworks`, such as flaml.

    Example: leaseboard frameworks install flaml
    """
    from leaseboard.tasks.evaluate.frameworks import venv

    say(f"{framework}  {venv.install(framework)}")

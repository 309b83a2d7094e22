"""``leaseboard list``, ``data`` and ``frameworks``: what there is to compare, and with what."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from leaseboard.algorithms.errors import unknown
from leaseboard.flows.commands.options import KINDS, Command, arg, group, show_table
from leaseboard.flows.console import say
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.terminal import counted

Rows = Sequence[tuple[str, ...]]


_WHAT = f"{', '.join(KINDS)}, or an algorithm, for its settings."


def list_all(what: Annotated[str, arg(_WHAT)] = "all") -> None:
    """List algorithms, datasets, suites, metrics, frameworks and plugins, with a line about each.

    Example: leaseboard list algorithms
    """
    from leaseboard.algorithms import registry
    from leaseboard.tasks.jobs.described import in_fork

    if what in KINDS:
        for kind in KINDS[:-1] if what == "all" else [what]:
            columns, rows = _listed(kind)
            show_table(kind.capitalize(), columns, rows)
        return
    files = registry.files_of(what)
    if what not in registry.names() and not files:
        raise unknown("list", what, (*KINDS, *registry.names()), "leaseboard list")
    found = in_fork(partial(_settings, what), files) if files else _settings(what)
    show_table(f"Settings of {what}", ("name", "default"), found)


def _listed(kind: str) -> tuple[tuple[str, ...], Rows]:
    """Return the columns and the rows of what there is of a kind."""
    from leaseboard.algorithms import plugins, registry
    from leaseboard.algorithms.measures import DIRECTIONS, SKILL
    from leaseboard.tasks.evaluate import venv
    from leaseboard.tasks.fetch import inventory

    folder, columns = environment.conf_dir(), ("name", "what", "source")
    match kind:
        case "algorithms":
            return columns, [(each.name, each.summary, each.source) for each in registry.ENTRIES]
        case "data":
            return columns, inventory.catalogue()
        case "suites":
            return ("name", "what", "size"), _suites(folder)
        case "metrics":
            better = {"min": "less is better", "max": "more is better"}
            return columns[:2], [
                (name, better[each]) for name, each in DIRECTIONS.items() if name != SKILL
            ]
        case "frameworks":
            return ("name", "where"), [
                (name, str(venv.folder(name)) if venv.is_installed(name) else "not installed")
                for name in venv.names()
            ]
        case _:
            return ("name", "source"), [
                (each.name, plugins.source_of(each)) for each in plugins.discovered()
            ]


def _suites(folder: Path) -> Rows:
    from leaseboard.tasks.jobs.suites import suite

    rows = []
    for name in suite.suite_names(folder):
        group, suites = suite.load_suites(name, folder)
        size = sum(len(each.jobs()) for each in suites)
        rows.append((name, (group or suites[0]).title, f"{size} jobs"))
    return rows


def _settings(name: str) -> Rows:
    from leaseboard.algorithms import registry
    from leaseboard.algorithms.base import settings_of

    return [(key, json.dumps(value)) for key, value in settings_of(registry.build(name)).items()]


_REFERENCES = "Names of `leaseboard data list`, or references such as openml:215."
data = group("List, fetch and mirror datasets.")


@data.command("list", cls=Command)
def list_data() -> None:
    """List the datasets that have a name.

    Example: leaseboard data list
    """
    list_all("data")


@data.command("fetch", cls=Command)
def fetch_data(datasets: Annotated[list[str], arg(_REFERENCES)]) -> None:
    """Fetch datasets into the cache and describe them.

    Example: leaseboard data fetch openml:215
    """
    from leaseboard.tasks.fetch import loading

    for reference in counted(datasets, "data fetch", "datasets"):
        found = loading.load(reference)
        say(
            f"{reference}: {len(found.features)} rows, {found.features.shape[1]} features,"
            f" {found.task}, target {found.target.name!r}, digest {found.digest}"
        )


@data.command("mirror", cls=Command)
def mirror_data(
    folder: Annotated[Path, arg("The mirror, for --mirror; it is made if it does not exist.")],
    suites: Annotated[list[str] | None, arg("Only the datasets of these (default: all).")] = None,
) -> int:
    """Build a mirror: a folder of datasets with checksums, from their public sources.

    Call it again to continue after an error; datasets that are there are not fetched again.

    Example: leaseboard data mirror my-mirror tables streams
    """
    from leaseboard.tasks.fetch import inventory
    from leaseboard.tasks.jobs.suites.suite import load_suites

    home = environment.conf_dir()
    named = [each for suite in suites or () for each in load_suites(suite, home)[1]]
    wanted = sorted({entry.data for suite in named for entry in suite.data}) if suites else None
    whole = []
    for name, is_whole, detail in inventory.build_mirror(folder, wanted):
        whole.append(is_whole)
        say(f"{'ok' if is_whole else 'FAILED'}  {name}  {detail}".rstrip())
    say(f"{len(whole)} datasets of {folder}, {whole.count(False)} failed")
    return 3 if not whole else 0 if all(whole) else 2


frameworks = group("Install other AutoML and stream libraries to compare with.")


@frameworks.command("install", cls=Command)
def install(framework: Annotated[str, arg("A name of `leaseboard list frameworks`.")]) -> None:
    """Install a framework in a Python environment of its own, with exact versions.

    Example: leaseboard frameworks install flaml
    """
    from leaseboard.tasks.evaluate import venv

    say(f"{framework}  {venv.install(framework)}")

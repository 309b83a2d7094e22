"""``leaseboard list``: what there is to run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from leaseboard.flows.commands.options import Conf, Mirrors, show_table

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
    from leaseboard.algorithms.errors import unknown
    from leaseboard.tasks.machine import paths

    kinds = {
        "algorithms": (_algorithms, ("name", "what", "source")),
        "data": (_data, ("name", "what", "source")),
        "suites": (_suites, ("name", "what", "size")),
    }
    if what in registry.names():
        show_table(f"Settings of {what}", ("name", "default", "values"), _settings(what))
        return
    if what not in (*kinds, "all"):
        raise unknown("list", what, (*kinds, "all", "the name of an algorithm"))
    folder = paths.conf_dir(conf)
    mirrors = paths.mirrors(tuple(mirror or ()))
    for kind, (rows_of, columns) in kinds.items():
        if what in (kind, "all"):
            show_table(kind.capitalize(), columns, rows_of(folder, mirrors))


def _algorithms(_conf: Path, _mirrors: tuple[Path, ...]) -> Rows:
    from leaseboard.algorithms.registry import ENTRIES

    return [(entry.name, entry.summary, entry.source) for entry in ENTRIES]


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


def _suites(conf: Path, _mirrors: tuple[Path, ...]) -> Rows:
    from leaseboard.tasks.jobs.suites.collection import Collection, members
    from leaseboard.tasks.jobs.suites.suite import (
        Suite,
        is_collection,
        load_suite,
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


def _data(conf: Path, mirrors: tuple[Path, ...]) -> Rows:
    from leaseboard.tasks.fetch import catalogue

    return [(entry.reference, entry.summary, entry.source) for entry in catalogue(conf, mirrors)]

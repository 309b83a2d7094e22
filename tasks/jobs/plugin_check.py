"""Checks of plugins before they are listed or used: in the sandbox, once a content.

What a plugin was found to be is stored in the cache under the hash of its files, of its version,
of the libraries and of the code that checks it, so that `leaseboard list` starts none again.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from leaseboard.algorithms import base, checks, plugins, registry
from leaseboard.algorithms.caches import cache_dir
from leaseboard.algorithms.errors import DataError, LeaseboardError, UserFileError, naming
from leaseboard.algorithms.measures import DIRECTIONS, MEANS
from leaseboard.algorithms.plugins import Plugin
from leaseboard.algorithms.user_files import blaming
from leaseboard.tasks.fetch import loading, plugin_source
from leaseboard.tasks.jobs import sandbox
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.jobs.job import Limits, Result
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.machine import clocks

IMPORT = Limits(wall_seconds=30, cpu_seconds=20, memory_mb=4000)
"""Limits of the import of a plugin's module."""
LIMITS = Limits(wall_seconds=120, cpu_seconds=60, memory_mb=4000)
"""Limits of all checks of one plugin together."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
LISTS = ("algorithms", "data", "suites", "metrics", "plugins", "all")
"""What `leaseboard list` can show, next to the settings of an algorithm."""


def verdict(plugin: Plugin, *, again: bool = False) -> dict[str, Any]:
    """Return what a plugin is: ``fault``, empty if it can be used, ``about``, and of its kind.

    An algorithm has its ``environment``, a metric its ``direction``. `again` checks it, though
    its content is known.
    """
    if not _NAME.fullmatch(plugin.name):
        return {"fault": f"its name is {plugin.name!r}: use letters, digits, '-' and '_' alone"}
    if plugin.name in taken(plugin.kind):
        return {"fault": f"repeats a name of {plugin.kind} that come with Leaseboard: rename it"}
    try:
        plugins.find(plugin.kind, plugin.name)  # no other has its name
        code = [each.__name__ for each in (base, checks, plugin_source, registry, sandbox)]
        key = json.dumps(
            recorded_key(code=[__name__, *code], plugin=plugin.digest()), sort_keys=True
        )
        place = cache_dir() / "plugins" / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.json"
        if place.is_file() and not again:
            found: dict[str, Any] = json.loads(place.read_bytes())
            return found
        module = replace(plugin, kind="", name="", target=plugin.module)
        if why := _not_imported(module, module.digest()):
            raise UserFileError(why)
        found = {"fault": "", "about": ""} | _EXAMINED[plugin.kind](plugin)
    except (LeaseboardError, OSError) as error:
        found = {"fault": str(error)}
        if not isinstance(error, UserFileError | DataError):  # such as of two distributions
            return found
    with naming(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(place)
    return found


def require(plugin: Plugin) -> dict[str, Any]:
    """Return the verdict on a plugin that is about to be used; UserFileError if it fails."""
    found = verdict(plugin)
    if found["fault"]:
        raise UserFileError(
            f"plugin {plugin.name!r} of {plugin.source} cannot be used: {found['fault']};"
            f" `leaseboard check {plugin.name}` checks it again"
        )
    return found


def usable(kind: str) -> dict[Plugin, dict[str, Any]]:
    """Return the plugins of a kind that passed their checks, with their verdicts."""
    found = {each: verdict(each) for each in plugins.discovered() if each.kind == kind}
    return {each: said for each, said in found.items() if not said["fault"]}


def taken(kind: str) -> list[str]:
    """Return the names of a kind that come with Leaseboard, or that users gave to their data.

    A metric cannot have the name of a score, or of what a result or a leaderboard has of its own.
    """
    names: Mapping[str, Callable[[], list[str]]] = {
        "algorithms": lambda: [*registry.names(), *LISTS],
        "datasets": loading.names,
        "metrics": lambda: [
            *DIRECTIONS,
            *MEANS,
            *(each.name for each in fields(Result)),
            "relative_loss",
        ],
    }
    return names[kind]() if kind in names else []


@cache
def _not_imported(module: Plugin, _digest: str) -> str:
    """Return why a module of that content cannot be imported: asked once for all its plugins."""
    try:
        file = module.file
        sandbox.ask(f"{__name__}:imported", file, str(file), module.target, limits=IMPORT)
    except LeaseboardError as error:
        return str(error)
    return ""


def imported(file: str, module: str) -> None:
    """Import a module of plugins into this process, which is the sandbox."""
    with blaming(Path(file)):
        import_module(module)


def _asked(plugin: Plugin) -> dict[str, Any]:
    """Return what `examine` finds in the sandbox."""
    function = f"{__name__}:examine"
    said = sandbox.ask(
        function, plugin.file, plugin.kind, plugin.name, limits=LIMITS, follow=False
    )
    known: dict[str, tuple[str, Iterable[str]]] = {
        "algorithms": ("environment", KINDS), "metrics": ("direction", ("min", "max")),
    }  # fmt: skip
    name, values = known.get(plugin.kind, ("fault", ("",)))
    whole = isinstance(said, dict) and not {*map(type, said.values())} - {str}
    # The plugin's code ran there, and may have answered itself.
    if not whole or not (said.get("fault") or said.get(name, "") in values):
        raise UserFileError(f"{plugin.file}: its answer is not understood")
    return said


def examine(kind: str, name: str) -> dict[str, str]:
    """Import a plugin into this process and check it; return what it is, and its fault."""
    plugin = plugins.find(kind, name)
    assert plugin is not None
    found = plugin.load()
    about = str(getattr(found, "__doc__", "") or "").strip().partition("\n")[0]
    said = {"about": about} | _OF_KIND[kind](plugin, found)
    return {key: str(value) for key, value in said.items()} | (
        {"fault": moved} if (moved := clocks.changed()) else {}
    )


def _algorithm(plugin: Plugin, _found: Any) -> dict[str, str]:
    environment = registry.algorithm_class(plugin.name).environment
    broken = ((name, checks.broken(plugin.name, name)) for name in checks.checks())
    faults = (f"check {name}: {why}" for name, why in broken if why)
    return {"environment": environment, "fault": next(faults, "")}


def _metric(_plugin: Plugin, found: Any) -> dict[str, str]:
    """Check a metric: a finite number, the same twice, of numbers or of classes."""
    direction = getattr(found, "direction", None)
    if direction not in {"min", "max"}:
        return {"fault": f"its direction is {direction!r}: set it to 'min' or 'max'"}
    truth, predictions = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    values = [float(found(truth, predictions)) for _ in range(2)]
    finite = values[0] == values[1] and math.isfinite(values[0])
    fault = "" if finite else f"it returns {values[0]} and {values[1]} for the same classes"
    return {"direction": direction, "fault": fault}


def _section(_plugin: Plugin, found: Any) -> dict[str, str]:
    said = found([])
    fine = said is None or (isinstance(said, Mapping) and isinstance(said.get("title"), str))
    return {"fault": "" if fine else "without results it returns neither None nor a title"}


def _dataset(plugin: Plugin) -> dict[str, str]:
    found = loading.load(f"{plugin_source.SOURCE}:{plugin.name}")
    sandbox.restart()
    same = plugin_source.make(plugin).equals(plugin_source.read(plugin.name).frame)
    size = " x ".join(map(str, found.features.shape))
    fault = "" if same else "it makes other rows each time: draw them from one seed"
    return {"about": f"{found.task}, {size}", "fault": fault}


_OF_KIND: Mapping[str, Callable[[Plugin, Any], dict[str, str]]] = {
    "algorithms": _algorithm, "metrics": _metric, "sections": _section,
}  # fmt: skip
_EXAMINED: Mapping[str, Callable[[Plugin], dict[str, Any]]] = {
    **dict.fromkeys(_OF_KIND, _asked), "datasets": _dataset,
}  # fmt: skip

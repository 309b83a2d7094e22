"""Is a suite the one that is shipped under its name, or does it only bear the name?"""

from __future__ import annotations

from typing import Any

from leaseboard.tasks.jobs.suites.suite import Suite, is_collection
from leaseboard.tasks.machine.paths import shipped_conf
from leaseboard.tasks.machine.yaml_files import load_yaml

_LISTS = {"algorithms": "algorithm", "data": "data"}
_BESIDE = frozenset(("name", "tracking", "baselines", *_LISTS))
"""No page shows them, or they are compared one by one."""


def beside_shipped(suite: Suite) -> str:
    """Whether `suite` equals the shipped one of its name or title, and in what it differs."""
    name, shipped = _namesake(suite)
    if shipped is None:
        return "none of its name or title is shipped"
    if other := _differences(suite, shipped):
        return f"NOT the shipped {name!r}: {'; '.join(other)}"
    return f"equals the shipped {name!r}"


def _namesake(suite: Suite) -> tuple[str, Suite | None]:
    files = sorted((shipped_conf() / "suites").glob("*.yaml"))
    found = {path.stem: load_yaml(path, Suite) for path in files if not is_collection(path)}
    for name in (suite.name, *found):
        if name in found and (name == suite.name or found[name].title == suite.title):
            return name, found[name]
    return "", None


def _differences(suite: Suite, shipped: Suite) -> list[str]:
    ours, theirs = shipped.model_dump(mode="json"), suite.model_dump(mode="json")
    found = []
    for field, what in _LISTS.items():
        known, said = _by_name(ours[field]), _by_name(theirs[field])
        both = [name for name in known if name in said]
        for words, names in (
            (f"without {what}", [name for name in known if name not in said]),
            (f"with more {what}", [name for name in said if name not in known]),
            (f"other settings of {what}", [name for name in both if said[name] != known[name]]),
        ):
            if names:
                found.append(f"{words} {', '.join(names)}")
    for field, value in ours.items():
        if field not in _BESIDE and theirs[field] != value:
            both = f"{field} {theirs[field]}, shipped {value}"
            found.append(both if len(both) < 160 else f"other {field}")
    return found


def _by_name(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """By the label of an algorithm, or the reference of data."""
    return {each.get("data") or each.get("label") or each["name"]: each for each in entries}

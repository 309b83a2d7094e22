"""Several suites that are run, accepted and gated as one.

A suite is a full matrix of algorithms and data, with one board. What runs on another kind of bench
is a suite of its own; a collection, such as ``ci``, names those that belong together.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.suites.suite import Suite, is_collection, suite_path
from leaseboard.tasks.machine.yaml_files import load_yaml, where


class Collection(BaseModel):
    """The YAML file of a collection.

    `suites`: names, or YAML files beside this one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: str
    description: str = ""
    suites: list[str] = Field(min_length=1)


def members(name: str, conf: Path) -> list[str]:
    """The suites that `name` stands for: those of a collection, or the one of that name.

    Raises UsageError if a suite stands twice in a collection, or is a collection itself.
    """
    path = suite_path(name, conf)
    if not is_collection(path):
        return [name]
    found = [
        str(path.parent / member) if Path(member).suffix in (".yaml", ".yml") else member
        for member in load_yaml(path, Collection).suites
    ]
    for i, member in enumerate(found):
        place = where(path, ["suites", i])
        if Path(member).stem in (Path(other).stem for other in found[:i]):
            raise UsageError(f"{place}: {member} stands twice: remove one")
        if is_collection(suite_path(member, conf)):
            raise UsageError(f"{place}: {member} is a collection itself: name its suites")
    return found


def check_apart(suites: list[Suite]) -> None:
    """Raise a UsageError if two suites have an algorithm of the same label on the same data."""
    owners: dict[tuple[str, str], str] = {}
    for suite in suites:
        for title, data in itertools.product(
            (contender.title for contender in suite.algorithms),
            (entry.data for entry in suite.data),
        ):
            owner = owners.setdefault((title, data), suite.name)
            if owner != suite.name:
                raise UsageError(
                    f"{title} on {data} stands in {owner} and in {suite.name}: give one of them"
                    " another label"
                )

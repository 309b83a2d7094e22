"""Plugins: what installed distributions add by entry points, found without an import."""

import functools
import importlib.util
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.user_files import blaming, executed

KINDS = ("algorithms", "datasets", "metrics")
"""What distributions can add, each by an entry point in the group ``leaseboard.KIND``."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """Entry point of a distribution, of one of `KINDS`."""

    kind: str
    point: metadata.EntryPoint

    @property
    def name(self) -> str:
        """Name of what it adds."""
        return self.point.name

    @property
    def source(self) -> str:
        """Distribution and version, as results and pages have it."""
        assert self.point.dist is not None
        return f"{self.point.dist.name} {self.point.dist.version}"

    @property
    def file(self) -> Path:
        """File of the module; UsageError if it is not there."""
        top, *inner = self.point.module.split(".")
        spec = importlib.util.find_spec(top)  # of a top level, so nothing is imported
        file = Path((spec and spec.origin) or "")
        if inner:
            place = file.parent.joinpath(*inner)
            file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if spec is None or not file.is_file():
            raise UsageError(f"{self.name!r} of {self.source}: no module {self.point.module!r}")
        return file

    def files(self) -> list[Path]:
        """Return all Python files of its package, or its single module."""
        top = self.file
        while (top.parent / "__init__.py").is_file():
            top = top.parent
        return sorted(top.rglob("*.py")) if top.is_dir() else [top]

    def load(self) -> Any:
        """Import it and return what it names; UserFileError with the line, as of a user's file."""
        executed.add(self.file)
        with blaming(self.file):
            return self.point.load()

    def call(self, *given: Any) -> Any:
        """Call what it names; UserFileError with the line."""
        named = self.load()
        with blaming(self.file):
            return named(*given)


@functools.cache
def discovered() -> tuple[Plugin, ...]:
    """Return all plugins, by kind, name and distribution, also those of one name."""
    found = [Plugin(kind, point) for kind in KINDS
             for point in metadata.entry_points(group=f"leaseboard.{kind}")]  # fmt: skip
    return tuple(sorted(found, key=lambda each: (each.kind, each.name, each.source)))


def names(kind: str) -> list[str]:
    """Return the names of the plugins of a kind."""
    return list(dict.fromkeys(each.name for each in discovered() if each.kind == kind))


def find(kind: str, name: str) -> Plugin | None:
    """Return the plugin of a kind that has a name; None without one.

    Raises UsageError if two distributions have one of that name: which is meant is unknown.
    """
    found = [each for each in discovered() if (each.kind, each.name) == (kind, name)]
    if len(found) > 1:
        by = " and ".join(each.source for each in found)
        raise UsageError(f"{name!r} is in {kind} of {by}: uninstall one of them")
    return found[0] if found else None

"""Plugins: what installed distributions add by entry points, found without importing any of them.

A plugin is trusted as little as a user's file is: it is imported where users' files are, in the
sandbox and in forks that run jobs.
"""

import functools
import hashlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.user_files import blaming, executed

KINDS = ("algorithms", "datasets", "metrics", "sections")
"""What distributions can add, each by an entry point in the group ``leaseboard.KIND``."""
_GROUP = "leaseboard."


@dataclass(frozen=True, slots=True)
class Plugin:
    """Entry point of a distribution: a name, and what it means.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    name : str
    target : str
        ``package.module:attribute``.
    distribution, version : str
        Which brings it.
    """

    kind: str
    name: str
    target: str
    distribution: str
    version: str

    @property
    def source(self) -> str:
        """Distribution and version, as results and pages have it."""
        return f"{self.distribution} {self.version}"

    @property
    def module(self) -> str:
        """Name of the module."""
        return self.target.partition(":")[0]

    @property
    def file(self) -> Path:
        """File of the module; UsageError if it is not there."""
        top, *inner = self.module.split(".")
        # Of a top level, so nothing is imported.
        spec = (
            importlib.util.find_spec(top) if self.module.replace(".", "").isidentifier() else None
        )
        for place in [] if spec is None else spec.submodule_search_locations or []:
            base = Path(place).joinpath(*inner)
            for file in (base.with_suffix(".py"), base / "__init__.py"):
                if file.is_file() and base != Path(place).with_suffix(".py"):
                    return file
        if spec is None or inner or not Path(spec.origin or "").is_file():
            raise UsageError(f"{self.name!r} of {self.source}: no module {self.module!r}")
        return Path(str(spec.origin))

    def files(self) -> list[Path]:
        """Return all files of its package that can hold code or pins, or its single module."""
        top = self.file
        while (top.parent / "__init__.py").is_file():
            top = top.parent
        found = top.rglob("*") if top.is_dir() else [top]
        return sorted(each for each in found if each.suffix in {".py", ".txt"})

    def digest(self) -> str:
        """Return a hash of the plugin's version and of the content of its files."""
        content = [str(self).encode(), *(each.read_bytes() for each in self.files())]
        return hashlib.sha256(b"\n".join(content)).hexdigest()[:20]

    def load(self) -> Any:
        """Import it into this process, which is not that of a command; return what it names.

        Raises UserFileError with the line, as for a user's file.
        """
        file = self.file
        executed.add(file)
        with blaming(file):
            found: Any = import_module(self.module)
            for name in filter(None, self.target.partition(":")[2].split(".")):
                found = getattr(found, name)
        return found


@functools.cache
def discovered() -> tuple[Plugin, ...]:
    """Return all plugins, by kind, name and distribution, also those of one name."""
    return tuple(sorted(_discovered(), key=lambda each: (KINDS.index(each.kind), str(each))))


def _discovered() -> Iterator[Plugin]:
    seen = set()
    for found in metadata.distributions():
        if f"[{_GROUP}" not in (found.read_text("entry_points.txt") or ""):
            continue
        about = f"{found.metadata['Name']}", f"{found.version}"
        if about[0] in seen:  # an earlier folder of the path has it
            continue
        seen.add(about[0])
        try:
            points = [(each.group, each.name, each.value) for each in found.entry_points]
        except (TypeError, ValueError):
            points = [(_GROUP, "", "")]
        points = [each for each in points if each[0].startswith(_GROUP)]
        if not all(map(all, points)):  # malformed: listed as a plugin that cannot be used
            points = [(f"{_GROUP}{KINDS[0]}", about[0], "entry_points.txt, which is malformed")]
        for kind in KINDS:
            for group, name, target in points:
                if group == _GROUP + kind:
                    yield Plugin(kind, name, target, *about)


def names(kind: str) -> list[str]:
    """Return the names of the plugins of a kind."""
    return list(dict.fromkeys(each.name for each in discovered() if each.kind == kind))


def find(kind: str, name: str) -> Plugin | None:
    """Return the plugin of a kind that has a name; None without one.

    Raises UsageError if two distributions have one of that name: which is meant is unknown.
    """
    if not name:
        return None
    found = [each for each in discovered() if (each.kind, each.name) == (kind, name)]
    if len(found) > 1:
        by = " and ".join(each.source for each in found)
        raise UsageError(f"{name!r} is in {kind} of {by}: uninstall one of them")
    return found[0] if found else None

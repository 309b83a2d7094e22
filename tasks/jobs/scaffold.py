"""Skeletons of plugins, made of the templates in ``conf/scaffold``."""

import re
from pathlib import Path

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.machine.paths import shipped_conf

SUFFIXES = {".py", ".toml"}
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def write(name: str) -> list[Path]:
    """Write the skeleton of a plugin into the new folder `name`; return its files.

    Raises UsageError for a name that no distribution, package and algorithm can all have, or that
    is in use.
    """
    folder, templates = Path(name), shipped_conf() / "scaffold"
    if not _NAME.fullmatch(name):
        raise UsageError(f"--scaffold {name!r} must be small letters and digits, - between words")
    if name in registry.names() or folder.exists():
        raise UsageError(f"--scaffold {name!r} is an algorithm or a folder: take another")
    words = {
        "my-plugin": name,
        "my_plugin": name.replace("-", "_"),
        "MyPlugin": "".join(part.capitalize() for part in name.split("-")),
    }

    def named(text: str) -> str:
        return re.sub("|".join(words), lambda found: words[found[0]], text)

    written = []
    for template in sorted(path for path in templates.rglob("*") if path.suffix in SUFFIXES):
        path = folder / named(template.relative_to(templates).as_posix())
        text = named(template.read_text(encoding="utf-8"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written

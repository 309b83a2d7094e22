"""All of ours is inside of `leaseboard`: no module can be imported under two names."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("algorithms", "flows", "tasks")
_ROOM = rf"(?:{'|'.join(ROOMS)})"
APART = {"tests/test_namespace.py"}
"""Places where they may be: earlier names, and below."""
BARE = re.compile(
    rf"""(?:^|[;"'`(]|>>>|\.\.\.)[ \t]*(?:from[ ]{_ROOM}(?:\.\w+)*[ ]import\b"""
    rf"""|import[ ](?:[\w.]+,[ ])*{_ROOM}(?:\.\w+)*[ \t]*(?:as\b|[;,"'`#)]|$))"""
    rf"""|["\s]-m["',\s]+{_ROOM}\b|["'`]{_ROOM}(?:\.\w+)+:\w+["'`]|`{_ROOM}\.[a-z_]+[.`]""",
    re.MULTILINE,
)
"""An import, a start or a reference by the names that the checkout's root would give."""

IMPORT_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, "")  # the root of the checkout, as under pytest and python -m
import leaseboard
names = [found.name for found in pkgutil.walk_packages(leaseboard.__path__, "leaseboard.")]
for name in names:
    if not name.endswith("__main__"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:  # an extra, or a framework, that is not installed
            assert error.name.partition(".")[0] not in {"leaseboard", *%(rooms)r}, (name, error)
print(len(names), *(name for name in sys.modules if name.partition(".")[0] in %(rooms)r))
"""


def test_nothing_names_a_room_without_leaseboard():
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    kinds = {".py", ".md", ".yaml", ".yml", ".toml", ".html", ".txt", ""}
    found = [
        f"{name}: {match[0].strip()}"
        for name in filter(None, listed)
        if Path(name).suffix in kinds and name not in APART and (ROOT / name).is_file()
        for match in BARE.finditer((ROOT / name).read_text("utf-8", errors="replace"))
    ]

    assert found == []


def test_each_module_has_one_name_and_can_be_imported():
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPORT_ALL % {"rooms": ROOMS}],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    files = [path for room in (*ROOMS, "leaseboard") for path in (ROOT / room).rglob("*.py")]

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [str(len(files) - 1)]  # all but leaseboard itself

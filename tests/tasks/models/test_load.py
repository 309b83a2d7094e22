"""Every kind of saved model has its reader, and reading one imports no other."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from typing import get_args

from leaseboard.tasks import models
from leaseboard.tasks.models.load import READERS
from leaseboard.tasks.models.saved import Description

ROOM = Path(models.__file__).parent


def test_every_kind_has_a_module_that_reads_it():
    assert set(READERS) == set(get_args(Description.model_fields["kind"].annotation))
    for name in READERS.values():
        assert callable(importlib.import_module(name).read)


def test_to_load_imports_no_learner():
    code = "import sys, leaseboard.tasks.models.load; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          cwd=ROOM.parents[1])  # fmt: skip

    assert not {"vowpalwabbit", "lightgbm", *READERS.values()} & set(done.stdout.split())


def imported(path):
    """The modules of the room that one imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "leaseboard.tasks.models":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "leaseboard.tasks.models."
        ):
            found.add(node.module.split(".")[3])
    return found


def test_no_two_modules_of_the_room_need_each_other():
    needs = {path.stem: imported(path) for path in ROOM.glob("*.py")}
    while free := {name for name, asked in needs.items() if not asked & needs.keys()}:
        needs = {name: asked for name, asked in needs.items() if name not in free}

    assert needs == {}

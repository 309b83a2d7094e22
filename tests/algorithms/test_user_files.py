"""Import of what users write next to the package."""

import os
import pickle
import py_compile
import sys

import pytest

from leaseboard.algorithms.errors import UsageError, UserFileError
from leaseboard.algorithms.user_files import import_file, place


def test_a_file_is_executed_once_until_it_changes(tmp_path):
    path = tmp_path / "json.py"
    path.write_text("class Mine: depth = 1")
    module = import_file(path, "thing")

    assert import_file(path, "thing") is module
    path.write_text("class Mine: depth = 2")
    assert import_file(path, "thing").Mine.depth == 2
    assert pickle.loads(pickle.dumps(module.Mine())).depth == 1


def test_bytecode_of_an_earlier_file_of_its_size_and_time_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    for depth in (1, 2):
        path.write_text(f"class Mine: depth = {depth}")
        os.utime(path, (10**9, 10**9))
        py_compile.compile(str(path)) if depth == 1 else None
        assert import_file(path, "thing").Mine.depth == depth


def test_a_file_that_fails_is_not_half_imported(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("\ndepth = 1 / 0")
    before = set(sys.modules)
    for _ in range(2):
        with pytest.raises(UserFileError, match=r"broken\.py:2: ZeroDivisionError: division by"):
            import_file(path, "thing")

    assert set(sys.modules) == before


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"no thing file .*: name an existing"):
        import_file(tmp_path / "absent.py", "thing")


def test_an_error_is_placed_at_the_last_line_of_a_users_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import json\n\nclass Mine:\n    def load(self):\n        json.loads('{')\n")
    mine = import_file(path, "thing").Mine
    with pytest.raises(ValueError, match="Expecting") as raised:
        mine().load()

    assert place(raised.value) == " (mine.py, line 5)"


def test_an_error_of_ours_has_no_place():
    with pytest.raises(ZeroDivisionError) as raised:
        1 / 0  # noqa: B018

    assert place(raised.value) == ""

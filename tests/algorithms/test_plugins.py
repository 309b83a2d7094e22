"""Import of what users write next to the package."""

import pickle
import sys

import pytest

from leaseboard.algorithms.errors import UserFileError
from leaseboard.algorithms.plugins import import_file


def test_a_file_is_executed_once_until_it_changes(tmp_path):
    path = tmp_path / "json.py"
    path.write_text("class Mine: depth = 1")
    module = import_file(path, "thing")

    assert import_file(path, "thing") is module
    path.write_text("class Mine: depth = 2")
    assert import_file(path, "thing").Mine.depth == 2
    assert pickle.loads(pickle.dumps(module.Mine())).depth == 1


def test_a_file_that_fails_is_not_half_imported(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("\ndepth = 1 / 0")
    before = set(sys.modules)
    for _ in range(2):
        with pytest.raises(UserFileError, match=r"broken\.py:2: ZeroDivisionError: division by"):
            import_file(path, "thing")

    assert set(sys.modules) == before

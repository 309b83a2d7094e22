"""What distributions add is found without importing any of it."""

import sys
from pathlib import Path

import pytest

from leaseboard.algorithms import plugins, registry
from leaseboard.algorithms.errors import UsageError, UserFileError
from tests.plugged import POINTS, installed

__all__ = ["installed"]


def test_a_plugin_is_found_and_not_imported(installed, tmp_path):
    installed("added_one", POINTS.format("own", "added_one"))

    found = registry.plugin("own")

    assert found.source == "added_one 1.0"
    assert found.file == tmp_path / "added_one" / "own.py"
    assert [path.name for path in found.files()] == ["__init__.py", "own.py"]
    assert registry.file_of("own") == found.file
    assert not [name for name in sys.modules if name.startswith("added_one")]
    assert "own" not in registry.names()  # of which some build each


def test_an_error_on_import_has_the_line_of_the_plugin(installed):
    installed("added_two", POINTS.format("own", "added_two"))

    with pytest.raises(UserFileError, match=r"added_two/own.py:1: RuntimeError: imported"):
        registry.build("own")


def test_a_target_that_is_no_algorithm_is_named(installed):
    installed("added_three", POINTS.format("own", "added_three"), "Own = 3\n")

    with pytest.raises(UsageError, match=r"own.py: 'own' is a int: name a subclass"):
        registry.build("own")


def test_a_name_of_two_distributions_is_refused_and_ours_wins(installed):
    installed("added_four", POINTS.format("own", "added_four") + "chacha = added_four.own:Own\n")
    installed("added_five", POINTS.format("own", "added_five"))

    with pytest.raises(UsageError, match=r"of added_five 1.0 and added_four 1.0: uninstall one"):
        registry.plugin("own")
    assert registry.plugin("chacha") is None


def test_a_module_that_is_not_there_is_named(installed):
    installed("added_six", "[leaseboard.metrics]\nm = added_six.absent:m\n")

    with pytest.raises(UsageError, match=r"'m' of added_six 1.0: no module 'added_six.absent'"):
        plugins.find("metrics", "m").digest()


@pytest.mark.parametrize("line", ["foo", "= added_nine.own:Own", "own =", "own = a b"])
def test_a_malformed_entry_point_is_found_and_breaks_nothing(installed, line):
    installed("added_nine", f"[leaseboard.algorithms]\n{line}\n")

    (found,) = plugins.discovered()
    with pytest.raises(UsageError, match=r"of added_nine 1\.0: no module"):
        found.digest()
    assert plugins.find("metrics", "") is None


def test_another_version_or_another_content_has_another_digest(installed, tmp_path):
    installed("added_seven", POINTS.format("own", "added_seven"))
    found = plugins.find("algorithms", "own")
    before = found.digest()

    Path(tmp_path / "added_seven" / "own.py").write_text("x = 1\n")

    assert found.digest() != before
    other = plugins.Plugin(found.kind, found.name, found.target, found.distribution, "1.1")
    assert other.digest() != found.digest()


def test_a_single_module_is_its_own_file(installed, tmp_path):
    installed("added_eight", "[leaseboard.sections]\ns = lone_module:s\n")
    (tmp_path / "lone_module.py").write_text("")

    assert plugins.find("sections", "s").files() == [tmp_path / "lone_module.py"]

"""What distributions add is found without importing any of it."""

import shutil
import sys
from pathlib import Path

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError, UserFileError
from leaseboard.algorithms.plugins import source_of
from leaseboard.tasks.jobs.described import describe, is_untrusted
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import check, identify
from leaseboard.tasks.models.recipe import Recipe
from tests.plugged import POINTS, installed

__all__ = ["installed"]


def test_a_plugin_is_found_and_not_imported(installed, tmp_path):
    installed("added_one", POINTS.format("own", "added_one"))

    assert source_of(registry.plugin("own")) == "added_one 1.0"
    folder = tmp_path / "added_one"
    assert registry.files_of("own") == [folder / "__init__.py", folder / "own.py"]
    assert not [name for name in sys.modules if name.startswith("added_one")]
    assert "own" not in registry.names()  # of which some build each


def test_an_error_on_import_has_the_line_of_the_plugin(installed):
    installed("added_two", POINTS.format("own", "added_two"))

    with pytest.raises(UserFileError, match=r"added_two/own.py:1: RuntimeError: imported"):
        describe("own")


def test_a_name_of_two_distributions_is_refused_and_ours_wins(installed):
    installed("added_four", POINTS.format("own", "added_four") + "chacha = added_four.own:Own\n")
    installed("added_five", POINTS.format("own", "added_five"))

    with pytest.raises(UsageError, match=r"of added_five 1.0 and added_four 1.0: uninstall one"):
        registry.plugin("own")
    assert registry.plugin("chacha") is None


GOOD = """
import numpy as np
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm

@dataclass(frozen=True, kw_only=True)
class Own(Algorithm):
    environment = "stream"
    prior: float = 1.0

    def run(self, env, seed):
        yield from env.record(np.zeros(env.budget, dtype=np.float32))
"""


def test_another_version_of_an_algorithm_is_other_work(installed):
    installed("good_one", POINTS.format("own", "good_one"), GOOD)
    job = Job("own", "synthetic:fried", seed=0, environment_seed=0)
    check(job)
    code, identity, _ = identify(job, "stream")

    assert describe("own").settings == ("prior",)
    assert is_untrusted(job)
    assert identity.endswith("good_one 1.0")
    assert "good_one.own" not in sys.modules
    shutil.rmtree(Path(sys.path[0]) / "good_one-1.0.dist-info")
    installed("good_one", POINTS.format("own", "good_one"), GOOD.replace("= 1.0", "= 2.0"), "1.1")
    newer, identity, _ = identify(job, "stream")
    assert newer != code  # its files count
    assert identity.endswith("good_one 1.1")
    with pytest.raises(Exception, match="cannot be kept"):  # a live model takes no code of others
        Recipe("y", "regression", "own", {}).check()

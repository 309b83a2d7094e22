"""Plugins are checked in the sandbox before they are listed or used."""

import shutil
import sys
from pathlib import Path

import pytest

from leaseboard.algorithms import plugins
from leaseboard.algorithms.errors import DataError, UserFileError
from leaseboard.flows.commands import options
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs import plugin_check, sandbox
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import Job, Limits
from leaseboard.tasks.jobs.plugin_check import require, verdict
from leaseboard.tasks.jobs.programs import is_untrusted
from leaseboard.tasks.jobs.run import check, identify, run_job
from leaseboard.tasks.models.recipe import Recipe
from tests.plugged import POINTS, installed

__all__ = ["installed"]

TEMPLATE = (
    Path(plugin_check.__file__).resolve().parents[2] / "conf/scaffold/my_plugin/algorithm.py"
)
GOOD = TEMPLATE.read_text(encoding="utf-8").replace("MyPlugin", "Own")


def only(kind):
    (found,) = (each for each in plugins.discovered() if each.kind == kind)
    return found


def fault(kind):
    return verdict(only(kind))["fault"]


@pytest.fixture
def asked(monkeypatch):
    """Return the orders that the sandbox gets."""
    orders, ask = [], sandbox.ask

    def noted(*given, **named):
        orders.append(given)
        return ask(*given, **named)

    monkeypatch.setattr(sandbox, "ask", noted)
    return orders


def test_a_good_algorithm_is_checked_once_and_runs_nowhere_here(installed, asked):
    installed("good_one", POINTS.format("own", "good_one"), GOOD)

    assert verdict(only("algorithms"))["environment"] == "stream"
    assert len(asked) == 2  # to import it, and to check it
    assert require(only("algorithms"))["fault"] == ""
    assert len(asked) == 2  # from the cache
    verdict(only("algorithms"), again=True)
    assert len(asked) == 3
    assert describe("own").settings == ("prior",)
    assert "good_one.own" not in sys.modules


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import absent_package\n", r"own.py:1: ModuleNotFoundError: No module named"),
        ("raise SystemExit(0)\n", r"own.py:1: SystemExit: 0"),
        ("import os\nos._exit(3)\n", "its process ended with exit code 3"),
        ("while True: pass\n", "over the limit of 1 s of wall time"),
        ("x = 1\n", "has no attribute 'Own'"),
        (GOOD.replace("sums = np.cumsum(labels) - labels", "sums = np.cumsum(labels)"),
         "check score|check look_ahead"),
    ],
)  # fmt: skip
def test_a_bad_algorithm_has_its_reason_and_is_refused(installed, monkeypatch, code, why):
    if code.startswith("while"):
        limits = Limits(wall_seconds=1, cpu_seconds=60, memory_mb=4000)
        monkeypatch.setattr(plugin_check, "IMPORT", limits)
    installed("bad_one", POINTS.format("own", "bad_one"), code)

    with pytest.raises(UserFileError, match=f"(?s)plugin 'own' of bad_one 1.0.*({why})"):
        describe("own")
    assert describe("chacha").environment == "stream"  # others go on
    assert "bad_one.own" not in sys.modules


def test_a_name_of_ours_or_of_two_distributions_is_a_fault(installed):
    installed("bad_two", "[leaseboard.algorithms]\nchacha = bad_two.own:Own\n")
    assert "repeats a name of algorithms that come with" in fault("algorithms")
    installed("bad_three", "[leaseboard.metrics]\nm = bad_three.own:m\nm2 = bad_three.own:m\n")
    installed("bad_four", "[leaseboard.metrics]\nm = bad_four.own:m\n")

    faults = [verdict(each)["fault"] for each in plugins.discovered() if each.name == "m"]
    assert all("bad_four 1.0 and bad_three 1.0: uninstall one" in each for each in faults)
    assert not is_untrusted(Job("chacha", "synthetic:fried", seed=0, environment_seed=0))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("metrics", name) for name in ("progressive_mse", "test_mse", "score", "relative_loss")),
        *(("algorithms", name) for name in options.KINDS),
        ("algorithms", "../x"), ("algorithms", "Ein Name"), ("datasets", "sklearn:iris"),
        ("datasets", "diabetes.csv"),
    ],
)  # fmt: skip
def test_a_name_that_means_something_else_is_a_fault(installed, kind, name):
    spelled = name.replace(":", "\\:")
    installed("bad_seven", f"[leaseboard.{kind}]\n{spelled} = bad_seven.own:own\n")
    (found,) = (each for each in plugins.discovered() if each.kind == kind)
    assert "rename it" in verdict(found)["fault"] or "use letters" in verdict(found)["fault"]


def test_a_metric_with_the_name_of_one_that_the_run_has_fails_the_job(installed, tmp_path):
    code = "def own(a, b): return 7.0\nown.direction = 'min'\n"
    installed("bad_eight", "[leaseboard.metrics]\nmodels_per_example = bad_eight.own:own\n", code)
    job = Job("vanilla", "synthetic:fried?rows=50&seed=0", 0, 0, metric="models_per_example")
    with pytest.raises(UserFileError, match="has the name of one of the run: rename it"):
        run_job(job, tmp_path)


def test_a_module_that_hangs_is_waited_for_once(installed, monkeypatch):
    limits = Limits(wall_seconds=1, cpu_seconds=60, memory_mb=4000)
    monkeypatch.setattr(plugin_check, "IMPORT", limits)
    group = "[leaseboard.{}]\n{} = bad_nine.own:own\n"
    points = "".join(
        group.format(f"{kind}s", f"own-{kind}") for kind in ("algorithm", "metric", "section")
    )
    installed("bad_nine", points, "while True: pass\n")
    asked, ask = [], sandbox.ask
    monkeypatch.setattr(sandbox, "ask", lambda *a, **n: asked.append(a) or ask(*a, **n))

    faults = {verdict(each)["fault"] for each in plugins.discovered()}
    assert len(asked) == len(faults) == 1
    assert "over the limit of 1 s of wall time" in faults.pop()


def test_another_version_is_other_work(installed):
    installed("good_two", POINTS.format("own", "good_two"), GOOD)
    job = Job("own", "synthetic:fried", seed=0, environment_seed=0)
    first = identify(job, "stream")

    check(job)
    assert is_untrusted(job)
    assert identify(job, "stream") == first
    shutil.rmtree(Path(sys.path[0]) / "good_two-1.0.dist-info")
    installed("good_two", POINTS.format("own", "good_two"), GOOD.replace("= 1.0", "= 2.0"), "1.1")
    code, identity, _ = identify(job, "stream")
    assert code != first[0]  # its files count
    assert identity.endswith("good_two 1.1")


def test_a_live_model_takes_no_code_of_others(installed):
    installed("good_three", POINTS.format("own", "good_three"), GOOD)

    with pytest.raises(Exception, match="cannot be kept"):
        Recipe("y", "regression", "own", {}).check()
    assert "good_three.own" not in sys.modules


def test_an_answer_that_the_plugin_forged_is_refused(installed, monkeypatch):
    installed("bad_six", "[leaseboard.metrics]\nm = bad_six.own:m\n")
    for said in ({}, {"direction": "up"}, {"direction": 1}, [], "min", None):
        monkeypatch.setattr(sandbox, "ask", lambda *_, said=said, **__: said)
        assert "its answer is not understood" in verdict(only("metrics"), again=True)["fault"]


DATA = "[leaseboard.datasets]\nown = {}.own:own\n"
FRAME = """import pandas as pd, numpy as np
def own():
    return pd.DataFrame({'x': range(9), 'y': range(9)})
"""


def test_a_dataset_is_made_in_the_sandbox_and_cached(installed, asked):
    installed("good_four", DATA.format("good_four"), FRAME)

    found = loading.load("own?target=x")
    assert (found.target.name, len(found.target), found.source) == ("x", 9, "good_four 1.0")
    assert loading.load("plugin:own").digest == loading.load("own").digest
    assert len(asked) == 1
    assert fault("datasets") == ""
    assert "good_four.own" not in sys.modules


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def own():\n    return 3\n", "it returns a int: return a pandas DataFrame"),
        ("def own():\n    raise ValueError('no')\n", "ValueError: no"),
        *((FRAME.replace("'y': range(9)", f"'y': {drawn}"), "other rows each time")
          for drawn in ("np.random.default_rng().random(9)", "np.random.rand(9)")),
    ],
)  # fmt: skip
def test_a_bad_dataset_has_its_reason(installed, code, why):
    installed("bad_five", DATA.format("bad_five"), code)

    assert why in fault("datasets")
    if "rows" not in why:
        with pytest.raises(DataError, match=why):
            loading.load("own")


METRIC = "[leaseboard.metrics]\nown = {}.own:own\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def own(a, b): return abs(a - b).mean()\nown.direction = 'min'\n", ""),
        ("def own(a, b): return 1.0\n", "its direction is None: set it to 'min' or 'max'"),
        ("def own(a, b): return float('nan')\nown.direction = 'max'\n", "returns nan and nan"),
    ],
)
def test_a_metric_has_a_direction_and_a_number(installed, code, why):
    installed("metric_one", METRIC.format("metric_one"), code)

    assert why in fault("metrics")
    assert bool(fault("metrics")) == bool(why)

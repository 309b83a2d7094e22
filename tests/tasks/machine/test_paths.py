"""Where things are: one's own configuration first, what is shipped besides."""

import os

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.suites.suite import load_suite, suite_names
from leaseboard.tasks.machine import paths

SUITE = "title: mine\ndata: ['sklearn:wine']\nalgorithms: [vanilla]\n"


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """Return a configuration folder of one's own, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "conf"
    (folder / "suites").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "suites" / "quick.yaml").write_text(SUITE)
    (folder / "data" / "mine.yaml").write_text("reference: sklearn:wine\n")
    return folder


def test_ones_own_suite_hides_the_shipped_one_of_its_name_and_no_other(conf):
    assert paths.conf_dir() == conf
    assert load_suite("quick", conf).title == "mine"
    assert load_suite("safety-streams", conf).title != "mine"
    assert {"quick", "ci", "paper-chacha"} <= set(suite_names(conf))


def test_data_of_ones_own_and_shipped_data_are_found(conf):
    assert {"mine", "abalone"} <= set(loading.names())
    assert loading.read_named("abalone").reference


def test_a_conf_folder_of_another_program_is_not_ours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf" / "nginx").mkdir(parents=True)

    assert paths.own_conf() is None
    assert paths.conf_dir() == paths.shipped_conf().resolve()


def test_a_schedule_alone_makes_a_folder_ours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "schedule.yaml").write_text("schedules: []\n")

    assert paths.conf_dir() == tmp_path / "conf"


def test_a_named_folder_must_be_one(tmp_path):
    with pytest.raises(UsageError, match=r"--conf .* is not a folder"):
        paths.conf_dir(tmp_path / "nowhere")


def test_a_suites_name_is_not_a_path(conf):
    with pytest.raises(UsageError, match="unknown suite"):
        load_suite("../suites/quick", conf)


@pytest.mark.parametrize("before", [None, "old"])
def test_a_variable_is_another_only_meanwhile(monkeypatch, before):
    monkeypatch.delenv("LEASEBOARD_X", raising=False)
    if before:
        monkeypatch.setenv("LEASEBOARD_X", before)
    with pytest.raises(ZeroDivisionError), paths.variable_set("LEASEBOARD_X", "2"):
        2 / (int(os.environ["LEASEBOARD_X"]) - 2)

    assert os.environ.get("LEASEBOARD_X") == before

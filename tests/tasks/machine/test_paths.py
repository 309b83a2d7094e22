"""Where things are: one's own configuration first, what is shipped besides."""

import pytest

from leaseboard.algorithms.errors import UsageError
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


def test_a_conf_folder_of_another_program_is_not_ours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf" / "nginx").mkdir(parents=True)

    assert paths.own_conf() is None
    assert paths.conf_dir() == paths.shipped_conf().resolve()


def test_a_named_folder_must_be_one(tmp_path):
    with pytest.raises(UsageError, match=r"--conf .* is not a folder"):
        paths.conf_dir(tmp_path / "nowhere")

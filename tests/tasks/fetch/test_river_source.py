import sys
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import DataUnavailableError, LeaseboardError, UsageError
from leaseboard.tasks.evaluate.frameworks import venv
from leaseboard.tasks.fetch import river_program
from leaseboard.tasks.fetch.inventory import catalogue
from leaseboard.tasks.fetch.loading import check, load


@pytest.fixture
def here(monkeypatch):
    """Use this environment, which has River, as River's own."""
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))


@pytest.mark.slow
def test_a_set_of_rivers_comes_in_its_order_and_types(here):
    for name, task, shape, first, label in (
        ("ChickWeights", "regression", (578, 3), [0, 1, 1], 42.0),
        ("Bananas", "classification", (5300, 2), [1.617466, -0.919233], "False"),
    ):
        data = load(f"river:{name}")

        assert (data.task, data.features.shape) == (task, shape)
        assert data.features.iloc[0].tolist() == first
        assert data.target[0] == label
        assert load(f"river:{name}").digest == data.digest


def test_what_is_not_installed_is_skipped_with_the_fix(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)

    with pytest.raises(DataUnavailableError, match="'leaseboard frameworks install river' makes"):
        load("river:Phishing")
    assert not [listed for listed in catalogue() if listed.source == "River"]


def test_what_is_installed_is_listed(monkeypatch):
    monkeypatch.setattr(venv, "is_installed", lambda _: True)

    assert "river:TrumpApproval" in [listed.reference for listed in catalogue()]


def test_a_set_that_river_does_not_package_is_refused_unread():
    with pytest.raises(UsageError, match="unknown dataset of River 'Bananaz': did you mean"):
        check("river:Bananaz")


def test_a_river_that_fails_says_its_last_word(here, monkeypatch, tmp_path):
    file = tmp_path / "failing.py"
    file.write_text("raise OSError('no archive')")
    monkeypatch.setattr(river_program, "__file__", str(file))

    with pytest.raises(LeaseboardError, match="OSError: no archive: to install it again"):
        load("river:Phishing")

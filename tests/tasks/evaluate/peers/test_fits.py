import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import LeaseboardError, SkipError, UsageError
from leaseboard.tasks import fetch
from leaseboard.tasks.evaluate.peers import inside, venv
from leaseboard.tasks.evaluate.peers.fits import SystemFits, truth
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.preprocess.splits import split
from leaseboard.tasks.store.recorded import Store


@pytest.fixture
def fits(tmp_path):
    """Makes the fits of systems to four fifths of a data set."""

    def make(data, seed=0):
        rows = split(data, (0.8, 0.2), seed)
        store = Store(tmp_path / "store.sqlite")
        return SystemFits(data, rows.train, rows.test, split={"seed": seed}, store=store), rows

    return make


def mixed(n=200):
    """Numbers with gaps, a nominal column with gaps, a boolean; the label is the nominal one."""
    kinds = np.arange(n) % 3
    features = pd.DataFrame(
        {
            'a "number"': np.where(np.arange(n) % 7, np.arange(n) / n, np.nan),
            "kind": pd.Categorical.from_codes(np.where(np.arange(n) % 11, kinds, -1), list("xyz")),
            "even": np.arange(n) % 2 == 0,
        }
    )  # fmt: skip
    target = pd.Series(pd.Categorical.from_codes(kinds, ["p", "q", "r"]))
    return Dataset("file:mixed", "mixed", features, target, "classification", "digest")


@pytest.mark.parametrize("system", ["lightgbm", "forest"])
def test_gaps_and_nominal_columns_are_learned_as_the_library_advises(fits, system):
    found, rows = fits(mixed())

    fit = found.fit(system, 0, 30.0)

    assert np.mean(fit.forecasts == truth(mixed())[rows.test]) > 0.9
    assert 0 < fit.cpu_seconds < 30
    assert fit.spent_cpu_seconds == fit.cpu_seconds
    assert 50 < fit.peak_memory_mb < 2000


def test_a_regression_is_learned(fits):
    data = fetch.load("sklearn:diabetes")
    found, rows = fits(data)

    errors = found.fit("forest", 0, 30.0).forecasts - truth(data)[rows.test]

    assert np.mean(errors**2) < 0.8 * truth(data)[rows.test].var()


def test_a_fit_is_run_once_and_replayed(fits):
    first = fits(mixed())[0].fit("lightgbm", 0, 30.0)
    again = fits(mixed())[0].fit("lightgbm", 0, 30.0)

    assert again.spent_cpu_seconds == 0
    assert (again.cpu_seconds, *again.forecasts) == (first.cpu_seconds, *first.forecasts)
    assert again.peak_memory_mb == first.peak_memory_mb
    assert fits(mixed())[0].fit("lightgbm", 1, 30.0).spent_cpu_seconds > 0


def test_no_label_of_a_test_row_leaves_this_process(fits):
    found, rows = fits(mixed())

    arrays = found._arrays()

    assert [len(each) for name, each in arrays.items() if name == "labels"] == [len(rows.train)]
    assert {name.partition("_")[0] for name in arrays} == {"labels", "train", "test"}


def test_a_system_that_is_not_installed_is_skipped_with_the_mend(fits, monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)

    with pytest.raises(SkipError, match="leaseboard peers install flaml"):
        fits(mixed())[0].fit("flaml", 0, 30.0)


def test_a_system_that_fails_says_its_last_word(fits, monkeypatch, tmp_path):
    script = tmp_path / "system.py"
    script.write_text("raise ValueError('no licence')")
    monkeypatch.setattr(inside, "__file__", str(script))
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))

    with pytest.raises(LeaseboardError, match="tpot ended with exit code 1: ValueError: no lice"):
        fits(mixed())[0].fit("tpot", 0, 30.0)


def test_a_column_that_not_every_system_takes_is_refused_by_name(fits):
    data = mixed()
    data.features["day"] = pd.date_range("2026-01-01", periods=len(data.features))

    with pytest.raises(UsageError, match="column 'day' holds dates"):
        fits(data)

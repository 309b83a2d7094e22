import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.pulls import PullsBench
from leaseboard.algorithms.errors import LeaseboardError, SkipError, UsageError
from leaseboard.algorithms.events import Finished, TrialFinished
from leaseboard.tasks import fetch
from leaseboard.tasks.evaluate.frameworks import inside, venv
from leaseboard.tasks.evaluate.frameworks.runs import FrameworkTrials, SystemFits, as_trials, truth
from leaseboard.tasks.evaluate.trials.evaluate import Arrays, Fold, TrialData
from leaseboard.tasks.fetch import Dataset
from leaseboard.tasks.preprocess.splits import split
from leaseboard.tasks.store.recorded import Store
from tests.played import STAND_IN


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


def test_a_column_that_not_every_system_takes_is_refused_by_name(fits):
    data = mixed()
    data.features["day"] = pd.date_range("2026-01-01", periods=len(data.features))

    with pytest.raises(UsageError, match="column 'day' holds dates"):
        fits(data)


SYSTEM = """
assert {{pathlib.Path(each).stem for each in os.listdir()}} == {{"data", "printed"}}
order = wire.read()
counter = pathlib.Path({counter!r})
counter.write_text(counter.read_text() + "x" if counter.exists() else "x")
{misbehave}
tried = [
    {{"reward": 0.5, "end": 1.0, "parameters": {{"learner": "a"}}}},
    {{"reward": None, "end": 2.0, "parameters": {{"learner": "b"}}, "reason": "INVALID"}},
    {{"reward": 0.75, "end": 4.0, "parameters": {{"learner": "c"}}}},
]
wire.write({{"tried": tried, "test": 0.7}})
"""


def arrays():
    X, y = np.zeros((4, 2), dtype=np.float32), np.array([0, 1, 0, 1])
    return Arrays("classification", (Fold(X, y, X, y, X, y),))


DATA = TrialData(identity={}, code=(), arrays=arrays)


@pytest.fixture
def peer(tmp_path, monkeypatch):
    """Makes the trials of a stand-in for FLAML, and counts its runs."""
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))

    def make(misbehave="", *, budget=10.0, unit="trials", seed=1, patience=60.0):
        script = tmp_path / "system.py"
        script.write_text(
            STAND_IN + SYSTEM.format(counter=str(tmp_path / "runs"), misbehave=misbehave)
        )
        monkeypatch.setattr(inside, "__file__", str(script))
        return FrameworkTrials(
            "flaml", DATA, budget=budget, unit=unit, seed=seed,
            store=Store(tmp_path / "store.sqlite"),
            trial_seconds=5.0, patience=patience,
        )  # fmt: skip

    make.runs = lambda: len((tmp_path / "runs").read_text())
    return make


def play_on(trials, budget=10.0, unit="trials"):
    bench = PullsBench(trials, budget, unit, 0)
    return list(play("flaml", registry.build("flaml"), bench, 0))


def test_a_peer_runs_once_and_is_replayed(peer):
    first = play_on(peer())
    again = play_on(peer())

    assert again == first
    assert peer.runs() == 1
    play_on(peer(seed=2))
    assert peer.runs() == 2


def test_a_peer_ends_by_itself_and_its_best_trial_is_the_score(peer):
    *_, finished = play_on(peer())

    assert isinstance(finished, Finished)
    assert finished.reason == "algorithm stopped"
    assert (finished.score, finished.metrics["test"]) == (0.75, 0.7)
    assert finished.metrics["failed_trials"] == 1


def test_the_cpu_time_is_shared_by_wall_time(peer):
    fits = [e for e in play_on(peer()) if isinstance(e, TrialFinished)]
    assert [t.wall_seconds for t in fits] == [1.0, 1.0, 2.0]
    assert [(t.status, t.reason) for t in fits] == [("ok", ""), ("crash", "INVALID"), ("ok", "")]
    assert [t.test for t in fits] == [None, None, 0.7]

    tried = [{"reward": 0.5, "end": end, "parameters": {}} for end in (1.0, 3.0)]
    trials = as_trials({"tried": tried, "test": 0.7, "wall_seconds": 8.0, "cpu_seconds": 2.0})
    assert [t.cpu_seconds for t in trials] == [0.25, 0.5]


def test_a_budget_in_seconds_cuts_what_came_too_late(peer):
    trials = peer(budget=0.4, unit="cpu_seconds")
    found = [{"reward": 0.5, "end": 1.0}, {"reward": 0.75, "end": 4.0}]
    tried = [{**each, "parameters": {}} for each in found]
    cost = {"wall_seconds": 8.0, "cpu_seconds": 2.0}
    trials._trials = as_trials({"tried": tried, "test": 0.7, **cost})
    *_, finished = play_on(trials, 0.4, "cpu_seconds")

    assert finished.score == 0.5


def test_a_peer_that_hangs_is_ended(peer):
    with pytest.raises(
        LeaseboardError, match=r"flaml: over the limit of 0\.5 s of wall time: lower the budget"
    ):
        play_on(peer("time.sleep(60)", patience=0.5))


def test_where_it_is_not_installed_a_job_is_skipped(monkeypatch, tmp_path):
    monkeypatch.setattr(venv, "cache_dir", lambda: tmp_path)

    with pytest.raises(SkipError, match="leaseboard peers install tpot"):
        FrameworkTrials(
            "tpot", DATA, budget=1, unit="trials", seed=0,
            store=Store(tmp_path / "store.sqlite"),
            trial_seconds=5.0, patience=1.0,
        )  # fmt: skip


def test_a_peer_may_have_tried_nothing():
    assert as_trials({"tried": [], "test": 0.5, "wall_seconds": 0.0, "cpu_seconds": 0.0}) == []

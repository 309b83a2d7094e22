"""Races on streams in MLflow, read back through its client alone."""

import re

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.events import Finished
from leaseboard.algorithms.log_format import LogWriter
from leaseboard.tasks.folder import results
from leaseboard.tasks.track.store import open_store
from leaseboard.tasks.track.tracker import Tracker

ROWS = 1500


@pytest.fixture(scope="module")
def planes():
    """Return a job of 2dplanes: champions change, challengers are paused and eliminated."""
    rng = np.random.default_rng(0)
    x = rng.integers(-1, 2, (ROWS, 10)).astype(np.float32)
    x[:, 0] = rng.choice([-1, 1], ROWS)
    up = 3 + 3 * x[:, 1] + 2 * x[:, 2] + x[:, 3]
    down = -3 + 3 * x[:, 4] + 2 * x[:, 5] + x[:, 6]
    y = np.where(x[:, 0] > 0, up, down) + rng.normal(0, 1, ROWS)
    names = tuple("abcdefghij")
    spaces = tuple(Namespace(name, i, i + 1) for i, name in enumerate(names))
    return Stream(x, y.astype(np.float32), spaces, names)


@pytest.fixture
def logged(tmp_path, planes, uri, result, runs):
    """Return a function that runs and tracks a job, and returns its score and configurations."""

    def log(name, settings=None):
        key = re.sub(r"[^A-Za-z0-9_-]", "_", f"{name} {settings}")
        folder = results.begin(tmp_path, key)
        auditor = Auditor()
        with LogWriter(folder / results.EVENTS) as writer:
            for event in play(name, registry.build(name, settings), StreamEnvironment(planes), 0):
                auditor(event)
                writer(event)
        assert isinstance(event, Finished)
        (folder / results.LOG).write_text("")
        made = result(key, score=event.score, units=ROWS)
        results.finish(tmp_path, made)
        Tracker(uri, "s", [key]).log(made, folder)
        found = runs(uri, "s/configurations", f'tags.leaseboard.job = "{key}"')
        return event.score, {int(r.data.tags["leaseboard.configuration"]): r for r in found}

    return log


RACES = [
    ("online-automl", "squared_error"),
    ("chacha-literal", "clipped_absolute_error"),
]


@pytest.mark.parametrize(("name", "loss"), RACES)
def test_what_consumed_examples_has_leases_losses_bounds_and_a_score(logged, uri, name, loss):
    _, found = logged(name)
    client = open_store(uri)
    consumed = [r for r in found.values() if r.data.tags["leaseboard.outcome"] != "pending"]

    assert [r.data.tags["leaseboard.outcome"] for r in consumed].count("champion") == 1
    for run in consumed:
        assert {"lease", "loss", "bound.lower", "bound.upper", "score"} <= set(run.data.metrics)
        assert 0 < run.data.metrics["units"] <= ROWS
        assert run.data.metrics["bound.lower"] <= run.data.metrics["loss"]
        assert run.data.metrics["loss"] <= run.data.metrics["bound.upper"]
        assert run.data.tags["leaseboard.metric"] == "progressive_mse"
        assert run.data.tags["leaseboard.loss"] == loss
    for run in consumed:
        if run.data.metrics["units"] == ROWS:  # live from the first example to the last
            steps = [m.step for m in client.get_metric_history(run.info.run_id, "bound.upper")]
            assert len(steps) == 5
            assert max(steps) == ROWS


def test_a_score_covers_all_stays(logged):
    """Paused and leased again: the examples of all leases count."""
    _, found = logged("chacha-literal")
    outcomes = {run.data.tags["leaseboard.outcome"] for run in found.values()}
    consumed = sum(run.data.metrics["units"] for run in found.values())

    assert {"champion", "live", "paused"} <= outcomes
    assert consumed == 5 * ROWS  # b models are live all the time

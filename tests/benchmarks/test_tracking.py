"""The measurement of the record's cost measures what it says."""

import shutil

import pytest

from benchmarks import tracking
from leaseboard.tasks.track.store import open_store


def test_it_logs_the_runs_that_it_counts(tmp_path, empty_store):
    uri = f"sqlite:///{shutil.copy(empty_store, tmp_path)}"
    spent = tracking.log_runs(uri, tmp_path, 7)
    client = open_store(uri)
    found = client.get_experiment_by_name("speed/configurations")
    runs = client.search_runs([found.experiment_id])

    assert spent.cpu > 0
    assert spent.server == 0
    assert len(runs) == 7
    assert len(runs[0].data.params) == tracking.PARAMETERS
    history = client.get_metric_history(runs[0].info.run_id, "bound.lower")
    assert len(history) == tracking.UPDATES


def test_a_server_that_does_not_come_up_is_an_error(monkeypatch):
    monkeypatch.setattr(tracking, "SERVER_SECONDS", 0.1)
    with pytest.raises(TimeoutError, match="did not answer within"):
        tracking._wait_for("http://127.0.0.1:9/health")

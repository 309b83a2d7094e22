"""The measurement of the record's cost measures what it says."""

import shutil

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

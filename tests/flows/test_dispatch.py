"""What runs in addition to the jobs of a suite, and while a server starts."""

import pandas as pd
import pytest

from leaseboard.flows import dispatch
from leaseboard.flows.dispatch import RunOptions
from leaseboard.tasks.folder.results import TABLE, read_table
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.track.store import TrackingError


@pytest.mark.parametrize("address", ["sqlite:///a?b.db", "postgresql://u:p[@h:x/db", "http://h:x"])
def test_an_address_that_cannot_be_read_is_refused_before_jobs_run(address, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    suite = Suite(title="t", name="t", data=["sklearn:diabetes"], algorithms=["vanilla"])
    with pytest.raises(TrackingError, match="the address of the MLflow store"):
        dispatch.execute(suite, tmp_path / "out", RunOptions(local=True))
    assert not (tmp_path / "out" / "jobs").exists()


def test_a_damaged_table_is_written_again(tmp_path, store):
    suite = Suite(title="t", name="t", data=["sklearn:diabetes"], algorithms=["vanilla"])
    options = RunOptions(1, local=True)
    first = dispatch.execute(suite, tmp_path / "out", options).results
    path = tmp_path / "out" / TABLE
    for damaged in (b"", pd.DataFrame({"a": [1]}).to_parquet()):
        path.write_bytes(damaged)
        again = dispatch.execute(suite, tmp_path / "out", options).results
        assert [(each.key, each.started) for each in again] == [(x.key, x.started) for x in first]
        assert read_table(tmp_path / "out" / TABLE)["key"].tolist() == [x.key for x in again]

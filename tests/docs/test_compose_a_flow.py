"""The flow of the how-to runs unchanged: a database, two algorithms, a webhook."""

import os
import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import create_engine

from benchmarks.drill import Webhook
from leaseboard.flows.server import PrefectServer
from leaseboard.tasks.track.store import open_store
from tests.docs import pages
from tests.flows.waiting import until

PAGE = pages.DOCS / "guides/schedule.md"
MOST_LINES = 25


@pytest.fixture
def webhook():
    """Yield a server on loopback, and what was posted there."""
    with Webhook() as made:
        yield made
        made.shutdown()


@pytest.fixture
def prefect(tmp_path, monkeypatch, environment, prefect_tables, forked_workers, forked_services):
    from prefect.settings import PREFECT_API_URL, temporary_settings

    prefect_tables(Path(os.environ["PREFECT_HOME"]))
    with PrefectServer(tmp_path / "server.log") as server:
        address = server.wait()
        monkeypatch.setenv("PREFECT_API_URL", address)
        with temporary_settings({PREFECT_API_URL: address}):
            yield address


def test_the_flow_of_the_page_runs(tmp_path, monkeypatch, webhook, prefect, empty_store):
    from prefect.client.orchestration import get_client

    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    shutil.copy(empty_store, tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"visits": rng.normal(size=60), "day": np.arange(60)})
    table["revenue"] = 3 * table["visits"] + rng.normal(size=60)
    database = f"sqlite:///{tmp_path / 'shop.db'}"
    table.to_sql("orders", create_engine(database), index=False)
    (tmp_path / "nightly.py").write_text(code)
    compare = runpy.run_path("nightly.py")["compare"]

    monkeypatch.setenv("SALES_DATABASE", database)
    monkeypatch.setenv("SALES_WEBHOOK", webhook.address)
    query = f"SELECT * FROM orders -- {tmp_path.name}"
    compare(query)

    assert len([line for line in code.splitlines() if line]) <= MOST_LINES
    (message,) = webhook.reported
    assert "online-automl" in message["text"]
    assert "All 4 jobs finished." in message["text"]
    client = open_store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    jobs = client.search_runs(
        [client.get_experiment_by_name("sales").experiment_id], "tags.leaseboard.level = 'job'"
    )
    assert len(jobs) == 4
    with get_client(sync_client=True) as prefect_client:
        (run,) = [
            each
            for each in prefect_client.read_flow_runs()
            if each.parameters.get("query") == query
        ]
        mine = {"flow_runs": {"id": {"any_": [str(run.id)]}}}
        ran = {f"online-automl on file:sales.parquet?target=revenue, repetition {seed}"
               for seed in range(2)}  # fmt: skip

        def recorded():
            found = prefect_client.request("POST", "/task_runs/filter", json=mine).json()
            return {each["name"] for each in found}

        # Prefect's server takes what it is sent when it has time.
        until(lambda: recorded() >= ran | {"fetch file:sales.parquet?target=revenue"})
        assert run.state.is_completed()
        artifacts = prefect_client.request("POST", "/artifacts/filter", json=mine).json()
    assert "compare-leaderboard" in {artifact["key"] for artifact in artifacts}

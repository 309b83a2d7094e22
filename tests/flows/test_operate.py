"""What looks at an installation and lists what there is."""

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import settings_of
from leaseboard.flows.commands.listing import _settings
from leaseboard.flows.commands.operate import stuck_flow_runs


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Return a folder with the history of a server of ours."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    (tmp_path / "prefect.db").touch()
    return tmp_path


def test_a_server_that_cannot_start_is_a_finding(history, monkeypatch):
    monkeypatch.setattr("leaseboard.flows.server.COMMAND", ("-c", "raise SystemExit(3)"))
    (found,) = stuck_flow_runs(fix=False)

    assert not found.healthy
    assert "ended with exit code 3" in found.detail


def test_a_log_that_cannot_be_written_is_a_finding(history):
    (history / "server.log").mkdir()
    (found,) = stuck_flow_runs(fix=True)

    assert not found.healthy
    assert "server.log" in found.detail


def test_every_setting_of_every_algorithm_has_its_default_and_values():
    rows = {name: _settings(name) for name in registry.names()}
    found = {name: [row[0] for row in settings] for name, settings in rows.items()}
    bare = [name for name, each in rows.items() if not all(all(row) for row in each)]

    assert found == {name: list(settings_of(registry.build(name))) for name in rows}
    assert bare == []

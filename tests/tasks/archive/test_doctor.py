import shutil
import subprocess
import sys
from importlib import metadata

import pytest

from leaseboard.tasks.archive import doctor
from leaseboard.tasks.track.records import OWNER
from leaseboard.tasks.track.store import experiment, open_store


@pytest.fixture
def store(tmp_path, empty_store):
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def of(findings, name):
    return [finding for finding in findings if finding.name == name]


class TestStuckRuns:
    def make(self, store, name, level, owner):
        client = open_store(store)
        jobs = experiment(client, store, name)
        experiment(client, store, f"{name}/configurations")
        tags = {"leaseboard.level": level, "leaseboard.key": "k", OWNER: owner}
        return client.create_run(jobs, tags=tags).info.run_id

    def dead_owner(self):
        """Return the owner tag of a process that has ended."""
        code = "from leaseboard.tasks.machine.disk import owner; print(owner())"
        answer = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return answer.stdout.strip()

    def test_found_and_fixed(self, store):
        dead = self.dead_owner()
        suite, job = (self.make(store, "fix", level, dead) for level in ("suite", "job"))
        client = open_store(store)

        found = doctor.stuck_runs(client, store, fix=False)
        assert (found.healthy, found.detail) == (
            False,
            "2 left by processes that are gone: fix them with `leaseboard doctor --fix`",
        )
        fixed = doctor.stuck_runs(client, store, fix=True)
        assert fixed.healthy
        assert client.get_run(suite).info.status == "KILLED"
        assert client.get_run(job).info.lifecycle_stage == "deleted"
        assert client.get_run(job).info.status == "KILLED"
        after = doctor.stuck_runs(client, store, fix=False)
        assert (after.healthy, after.detail) == (True, "none")

    def test_a_live_run_is_not_stuck(self, store):
        from leaseboard.tasks.machine.disk import owner

        run = self.make(store, "live", "suite", owner())
        client = open_store(store)
        found = doctor.stuck_runs(client, store, fix=True)

        assert found.healthy
        assert client.get_run(run).info.status == "RUNNING"
        client.set_terminated(run)


def test_a_sound_installation_is_healthy(store, monkeypatch, tmp_path):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path))
    sound = doctor.Finding("packages", True, "")
    monkeypatch.setattr(doctor, "requirements", lambda: sound)  # tested below
    findings = list(doctor.examine(store))

    assert [f for f in findings if not f.healthy] == []
    assert [f.name for f in findings] == [
        "packages", "native libraries", "tracking store", "stuck runs",
    ]  # fmt: skip


def test_a_damaged_store_is_one_line(tmp_path):
    (tmp_path / "mlflow.db").write_text("no database " * 1000)
    (finding,) = of(doctor.examine(f"sqlite:///{tmp_path / 'mlflow.db'}"), "tracking store")

    assert not finding.healthy
    assert "not a database" in finding.detail


def test_versions_out_of_range_are_named(monkeypatch):
    monkeypatch.setattr(
        metadata,
        "requires",
        lambda _: ["numpy<1", "no-such-package", "pydantic>=2", "x; extra=='y'"],
    )
    finding = doctor.requirements()

    assert not finding.healthy
    assert "numpy" in finding.detail
    assert ", not <1" in finding.detail
    assert "no-such-package is missing" in finding.detail
    assert "pydantic" not in finding.detail


def test_native_code_that_does_not_load_is_named(monkeypatch):
    def broken(name):
        raise OSError("libgomp.so.1: cannot open shared object file\nmore")

    monkeypatch.setattr(doctor.importlib, "import_module", broken)
    finding = doctor.native_libraries()

    assert not finding.healthy
    assert "lightgbm: libgomp.so.1: cannot open shared object file" in finding.detail

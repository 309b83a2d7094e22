import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from leaseboard.tasks.archive import doctor
from leaseboard.tasks.store.recorded import Store
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
        code = "from leaseboard.tasks.machine.owners import owner; print(owner())"
        answer = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return answer.stdout.strip()

    def test_found_and_fixed(self, store):
        dead = self.dead_owner()
        suite, job = (self.make(store, "fix", level, dead) for level in ("suite", "job"))
        client = open_store(store)

        (found,) = doctor.stuck_runs(client, store, fix=False)
        assert (found.healthy, found.detail) == (
            False,
            "2 left by processes that are gone: fix them with `leaseboard doctor --fix`",
        )
        (fixed,) = doctor.stuck_runs(client, store, fix=True)
        assert fixed.healthy
        assert client.get_run(suite).info.status == "KILLED"
        assert client.get_run(job).info.lifecycle_stage == "deleted"
        assert client.get_run(job).info.status == "KILLED"
        (after,) = doctor.stuck_runs(client, store, fix=False)
        assert (after.healthy, after.detail) == (True, "none")

    def test_a_live_run_is_not_stuck(self, store):
        from leaseboard.tasks.machine.owners import owner

        run = self.make(store, "live", "suite", owner())
        client = open_store(store)
        (found,) = doctor.stuck_runs(client, store, fix=True)

        assert found.healthy
        assert client.get_run(run).info.status == "RUNNING"
        client.set_terminated(run)


def test_a_sound_installation_is_healthy(store, monkeypatch, tmp_path):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path))
    monkeypatch.setattr(doctor, "requirements", lambda: iter(()))  # tested below
    findings = list(doctor.examine(store))

    assert [f for f in findings if not f.healthy] == []
    assert {f.name for f in findings} >= {"native libraries",
                                          "run folders", "data cache", "trials and probes",
                                          "store of trials and probes", "MLflow database",
                                          "MLflow artifacts", "tracking store",
                                          "stuck runs"}  # fmt: skip
    assert "in bulk" in of(findings, "tracking store")[0].detail


def test_a_damaged_store_is_one_line(tmp_path):
    (tmp_path / "mlflow.db").write_text("no database " * 1000)
    (finding,) = of(doctor.examine(f"sqlite:///{tmp_path / 'mlflow.db'}"), "tracking store")

    assert not finding.healthy
    assert "not a database" in finding.detail


def test_a_store_with_a_damaged_page_is_found(store):
    path = Path(store.removeprefix("sqlite:///"))
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    findings = list(doctor.examine(f"sqlite:///{path}"))

    assert any(not finding.healthy for finding in of(findings, "tracking store"))


def test_versions_out_of_range_are_named(monkeypatch):
    monkeypatch.setattr(
        metadata,
        "requires",
        lambda _: ["numpy<1", "no-such-package", "pydantic>=2", "x; extra=='y'"],
    )
    (finding,) = doctor.requirements()

    assert not finding.healthy
    assert "numpy" in finding.detail
    assert "is not <1" in finding.detail
    assert "no-such-package is missing" in finding.detail
    assert "pydantic" not in finding.detail


def test_native_code_that_does_not_load_is_named(monkeypatch):
    def broken(name):
        raise OSError("libgomp.so.1: cannot open shared object file\nmore")

    monkeypatch.setattr(doctor.importlib, "import_module", broken)
    (finding,) = doctor.native_libraries()

    assert not finding.healthy
    assert "lightgbm: libgomp.so.1: cannot open shared object file" in finding.detail


def test_doctor_reports_a_full_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 << 20))
    findings = list(doctor.disk_use(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}"))

    assert len(findings) == 5
    assert not any(finding.healthy for finding in findings)
    assert all("5.0 MB free" in finding.detail for finding in findings)


def test_the_use_of_each_store_is_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for place, size in (("runs/s/a", 2048), ("cache/data/a", 3072), ("cache/recorded/a", 4096),
                        ("mlruns/mlflow.db", 1024),
                        ("mlruns/mlflow.db-wal", 1024), ("mlruns/artifacts/a", 7168)):  # fmt: skip
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(b"x" * size)
    findings = list(doctor.disk_use(f"sqlite:///{tmp_path / 'mlruns' / 'mlflow.db'}"))
    shown = {f.name: f.detail.split(": ")[1].split(" used")[0] for f in findings}

    assert shown == {
        "run folders": "2.0 kB", "data cache": "3.0 kB", "trials and probes": "4.0 kB",
        "MLflow database": "2.0 kB",
        "MLflow artifacts": "7.0 kB",
    }  # fmt: skip


def test_the_store_of_trials_and_probes_is_looked_at(monkeypatch, tmp_path):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "cache" / "recorded" / "store.sqlite"
    assert doctor.recorded() == doctor.Finding(
        "store of trials and probes", True, f"{path}: 0 records of 0 keys"
    )
    records = Store().records({"seed": 1})
    for _ in range(3):
        records.extend(lambda n: {"n": n})
    found = doctor.recorded()
    monkeypatch.setenv("LEASEBOARD_STORE", "postgresql://me:5ECRET@127.0.0.1:9/recorded")
    unreachable = doctor.recorded()

    assert found.detail == f"{path}: 3 records of 1 keys"
    assert not unreachable.healthy
    assert "***@127.0.0.1:9/recorded cannot be used" in unreachable.detail
    assert "5ECRET" not in unreachable.detail

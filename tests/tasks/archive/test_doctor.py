import shutil

import pytest

from leaseboard.tasks.archive import doctor


@pytest.fixture
def store(tmp_path, empty_store):
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


def of(findings, name):
    return [finding for finding in findings if finding.name == name]


def test_a_sound_installation_is_healthy(store, monkeypatch, tmp_path):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path))
    findings = list(doctor.examine(store))

    assert [f for f in findings if not f.healthy] == []
    assert [f.name for f in findings] == ["native libraries", "tracking store"]


def test_a_damaged_store_is_one_line(tmp_path):
    (tmp_path / "mlflow.db").write_text("no database " * 1000)
    (finding,) = of(doctor.examine(f"sqlite:///{tmp_path / 'mlflow.db'}"), "tracking store")

    assert not finding.healthy
    assert "not a database" in finding.detail


def test_native_code_that_does_not_load_is_named(monkeypatch):
    def broken(name):
        raise OSError("libgomp.so.1: cannot open shared object file\nmore")

    monkeypatch.setattr(doctor.importlib, "import_module", broken)
    finding = doctor.native_libraries()

    assert not finding.healthy
    assert "lightgbm: libgomp.so.1: cannot open shared object file" in finding.detail

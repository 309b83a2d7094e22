"""What version 1d064fe wrote is opened, or refused in one line with its format and the way back.

`tests/former.zip` has two model files, a registry with a model and one of a live model, the store
of that live model, and a run folder, all made by the commands of 1d064fe.
"""

import shutil
import sqlite3
from pathlib import Path

import mlflow
import pytest

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.tasks.live.settings import read_settings
from leaseboard.tasks.serve.champion import Follower

READS = "and this version of Leaseboard reads leaseboard-model 4: learn or register it again"


@pytest.fixture
def former(call, tmp_path):
    """Return the commands, in the folder of a user of 1d064fe."""
    shutil.unpack_archive(Path(__file__).parents[1] / "former.zip", tmp_path)
    connection = sqlite3.connect("mlruns/mlflow.db")
    (artifacts,) = connection.execute(
        "SELECT artifact_location FROM experiments WHERE artifact_location LIKE '%/mlruns/%'"
    ).fetchone()
    made_in = artifacts.partition("/mlruns/")[0].removeprefix("file://")
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'"):
        for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
            if "CHAR" in kind or "TEXT" in kind:
                moved = f"UPDATE {table} SET {column} = replace({column}, ?, ?)"
                connection.execute(moved, (made_in, str(tmp_path)))
    connection.commit()
    connection.close()
    return call


def refusal(call, *arguments):
    """Return the one line in which a command refuses what it is given."""
    code, said, complained = call(*arguments)
    assert (code in (2, 64), said) == (True, "")
    assert complained.count("\n") == 1
    return complained


def test_model_files_are_refused(former):
    for command in ("learn", "predict"):
        for model, table in (("numbers.model", "s.csv"), ("classes.model", "c.csv")):
            before = Path(model).read_bytes()
            said = refusal(former, command, model, table)
            assert f"'{model}' has the format leaseboard-chacha-16, {READS}" in said
            assert Path(model).read_bytes() == before


def test_registered_models_are_listed_and_refused(former, monkeypatch):
    assert former("model", "list")[0] == 0
    for name, table in (
        ("models:/former/1", "h.csv"),
        ("models:/sales@champion", "inbox/one.csv"),
    ):
        said = refusal(former, "predict", name, table)
        assert f"{name!r} has the format model.json of an earlier version, {READS}" in said
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{Path.cwd()}/mlruns/mlflow.db")
        with pytest.raises(LeaseboardError, match=f"^[^\n]*model.json of an earl[^\n]*{READS}"):
            mlflow.pyfunc.load_model(name)


def test_the_server_refuses_a_former_champion_once(former):
    said = []
    follower = Follower(f"sqlite:///{Path.cwd()}/mlruns/mlflow.db",
                        read_settings(Path("sales.yaml")), said.append)  # fmt: skip
    follower.look()
    follower.look()
    assert follower.champion is None
    assert len(said) == 1
    assert said[0].startswith("models:/sales/1 has the format model.json of an earlier version")


def test_the_store_of_a_live_model_is_refused(former):
    for verb, *more in (("status",), ("update", "--local")):
        said = refusal(former, "live", verb, "sales.yaml", "--run-dir", "runs/keep/sales", *more)
        assert "has format 1 of 'keep sales', and this version of Leaseboard reads" in said
        assert "learns again what its source holds" in said


def test_a_run_folder_is_refused(former):
    said = refusal(former, "report", "runs/small")
    assert "results.parquet is not of this version of Leaseboard: run its suite again" in said
    said = refusal(former, "model", "register", "runs/small", "--name", "again")
    assert "suite.json is of another version" in said


def test_a_run_folder_is_written_again_by_its_suite(former):
    Path("s.yaml").write_text(
        "title: t\ndata: ['synthetic:fried?rows=200']\nalgorithms: [vanilla]\nbaselines: false\n"
    )
    code, _, complained = former("run", "s.yaml", "--local", "--run-dir", "runs/small")

    assert code == 0, complained
    again = former("report", "runs/small")
    assert again[0] == 0, again

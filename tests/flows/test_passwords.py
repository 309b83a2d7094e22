"""The password of a store's address is nowhere in what a real command says or writes."""

import os
import sys

import pytest

SUITE = """
title: One
data: ["synthetic:fried?rows=300&seed=0"]
baselines: false
algorithms: [vanilla]
"""


@pytest.mark.parametrize("password", ["p#/5ECRET?[x", "p@5ECRET%40 é"])
def test_nothing_of_a_password_is_said_or_written(tmp_path, password, zygote):
    (tmp_path / "one.yaml").write_text(SUITE)
    store = f"mysql+nodriver://me:{password}@127.0.0.1:1/db"
    environment = os.environ | {
        "MLFLOW_TRACKING_URI": store, "PREFECT_HOME": str(tmp_path / ".prefect"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }  # fmt: skip
    command = ["-m", "leaseboard", "--debug", "live", "promote", "sales"]
    ended = zygote.run(command, cwd=tmp_path, env=environment)
    said = ended.stdout + ended.stderr

    assert ended.returncode == 2
    assert b"5ECRET" not in said
    assert b"internal error" not in said
    assert b"leaseboard: the" in said
    assert b"***@127.0.0.1:1/db" in said
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"5ECRET" not in path.read_bytes(), path

import os

from leaseboard.tasks.machine import environment


def test_the_user_s_own_settings_win(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "4"})
    environment.prepare_environment(tmp_path)

    assert os.environ["OMP_NUM_THREADS"] == "4"
    assert os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["DO_NOT_TRACK"] == "true"
    assert os.environ["PREFECT_HOME"] == str(tmp_path / ".prefect")

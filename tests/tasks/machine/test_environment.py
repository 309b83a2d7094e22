import os

import pytest

from tasks.machine import environment


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """A project with one module that compiles and one that does not."""
    package = tmp_path / "algorithms"
    package.mkdir()
    (package / "kernel.py").write_text("from numba import njit\n")
    (package / "plain.py").write_text("x = 1\n")
    monkeypatch.setattr(
        environment, "__file__", str(tmp_path / "tasks" / "machine" / "environment.py")
    )
    return package


def test_compiled_kernels_are_kept_apart_by_the_code_of_all_kernels(kernels):
    before = environment.kernel_cache()
    (kernels / "plain.py").write_text("x = 2\n")
    same = environment.kernel_cache()
    (kernels / "kernel.py").write_text("from numba import njit  # changed\n")

    assert same == before
    assert environment.kernel_cache() != before


def test_the_user_s_own_settings_win(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "4"})
    environment.prepare_environment(tmp_path)

    assert os.environ["OMP_NUM_THREADS"] == "4"
    assert os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["DO_NOT_TRACK"] == "true"
    assert os.environ["PREFECT_HOME"] == str(tmp_path / ".prefect")

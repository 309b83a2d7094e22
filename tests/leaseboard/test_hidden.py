"""A folder of the user's own that hides ours: it works, or one line says what is wrong."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import leaseboard
from leaseboard.tasks.tend import doctor

ROOT = Path(leaseboard.__file__).resolve().parents[1]
RACE = ["race", "vanilla", "synthetic:fried?rows=100", "--json"]
TRIALS = ["race", "random-arm", "sklearn:wine", "--budget", "2",
          "--set", "arms=[lda, decision_tree]",
          "--set", "space=fast", "--set", "optimiser=random", "--json"]  # fmt: skip


def command():
    """What the installed program runs, by the project's own word."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["leaseboard"].partition(":")
    return ["-P", "-c", f"from {module} import {function}; {function}()"]


@pytest.fixture(params=["tasks/__init__.py", "tasks.py"])
def hiding(request, tmp_path):
    """A folder in which something is called `tasks`, and a function that runs Python there.

    Whether it is a package or a module is all the same to Python's path; both are tried where an
    answer differs, and where a command works one of them for each way to start it.
    """
    file = tmp_path / "project" / request.param
    file.parent.mkdir(parents=True)
    file.write_text("MINE = True\n")
    project = tmp_path / "project"

    def run(*arguments, **environment):
        path = os.pathsep.join([*environment.pop("front", []), str(ROOT)])
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=project,
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    run.project = project
    run.other = file.parent if file.name == "__init__.py" else file
    return run


def one_line(done, hiding):
    """The only line that says what is wrong, and no more."""
    (line,) = done.stderr.splitlines()[-1:]
    assert f"{hiding.other} hides Leaseboard's package 'tasks'" in line
    assert "python -P" in line
    return line


@pytest.mark.parametrize(
    ("hiding", "start"),
    [("tasks/__init__.py", ["-m", "leaseboard"]), ("tasks.py", ["-m", "leaseboard"])],
    indirect=["hiding"],
)
def test_the_command_line_works_where_a_folder_hides_ours(hiding, start):
    done = hiding(*start, *RACE)

    assert done.returncode == 0, done.stderr
    assert '"status": "ok"' in done.stdout


@pytest.mark.parametrize("hiding", ["tasks/__init__.py"], indirect=True)
def test_so_does_the_installed_one_with_trials_in_processes_of_their_own(hiding):
    done = hiding(*command(), *TRIALS)

    assert done.returncode == 0, done.stderr
    assert '"status": "ok"' in done.stdout


@pytest.mark.parametrize("start", [["-m", "leaseboard"], ["-m", "leaseboard"], command()], ids=str)
def test_the_command_line_says_what_hides_ours_on_the_path(hiding, start):
    done = hiding(*start, "list", front=[str(hiding.project)])

    assert done.returncode == 64
    assert done.stderr.count("\n") == 1
    assert one_line(done, hiding).startswith("leaseboard: ")


def test_a_notebook_is_told(hiding):
    done = hiding("-c", "from leaseboard import race")

    assert one_line(done, hiding).startswith("ImportError: ")


@pytest.mark.parametrize("hiding", ["tasks.py"], indirect=True)
def test_what_needs_no_tasks_works(hiding):
    code = (
        "import leaseboard.tasks; assert tasks.MINE; from leaseboard import ChaChaRegressor, Algorithm;"
        "model = ChaChaRegressor(); model.learn_one({'a': 1.0}, 2.0); print(model.examples)"
    )
    done = hiding("-c", code)

    assert done.stdout == "1\n", done.stderr


def test_one_that_was_imported_before_is_told_too(hiding):
    done = hiding("-c", "import leaseboard.tasks; from leaseboard import PolicyClassifier")

    assert one_line(done, hiding).startswith("ImportError: ")


def test_doctor_sees_it(hiding, monkeypatch):
    monkeypatch.chdir(hiding.project)
    found = {finding.name: finding for finding in doctor.import_names()}

    assert not found["tasks"].healthy
    assert str(hiding.other) in found["tasks"].detail
    assert found["algorithms"].healthy

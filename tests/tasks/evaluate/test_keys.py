"""What is recorded is filed under all the code that made it, and never answers for other code."""

import functools
import shutil
import sys
from pathlib import Path

import pytest

from leaseboard.tasks.evaluate import probes
from leaseboard.tasks.evaluate.probes import RecordedProbes
from leaseboard.tasks.evaluate.replay import StoredTrials
from leaseboard.tasks.fetch.loading import load as load_again
from leaseboard.tasks.jobs.environments import pulls
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.machine import versions
from leaseboard.tasks.processes.child import Called, Ending
from tests.environments import environment_of

ROOT = Path(versions.__file__).resolve().parents[2]
load = functools.cache(load_again)
MAKING = ((StoredTrials, "_compute"), (RecordedProbes, "_run"))


def a_trial():
    options = pulls.Options(space="fast", arms=["decision_tree"])
    pulls.stored_trials(load("sklearn:wine"), options, 0).trial(0, 0)


def a_probe(learner="LogisticRegression"):
    options = {"configurations": 8, "initial_rows": 50}
    job = Job("abc", "sklearn:wine", 0, 0, environment=options)
    made = environment_of("samples", load("sklearn:wine"), job)._probes
    learners = [configuration["learner"] for configuration in made.configurations]
    made.measure(learners.index(learner), 100, 20)


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Return a copy of the sources: one for all tests, as reading it takes a second."""
    copy = tmp_path_factory.mktemp("tree")
    for part in ("algorithms", "tasks"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture
def edit(copied, monkeypatch):
    """Return a function that changes, until the test ends, a source that keys are made of."""
    monkeypatch.setattr(versions, "ROOT", copied)
    before = {}

    def change(module, edited):
        path = copied / module
        before.setdefault(path, path.read_text())
        path.write_text(edited(path.read_text()))

    yield change
    for path, text in before.items():
        path.write_text(text)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return the files of this project whose functions ran, for each value that was made."""
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pulls, "Limits", lambda **_: None)
    monkeypatch.setattr(probes, "call", lambda f, _: Called(Ending("ok"), f()))
    values = []

    def watched(making):
        def make(*arguments):
            files = set()
            sys.setprofile(lambda frame, *_: files.add(frame.f_code.co_filename))
            try:
                return making(*arguments)
            finally:
                sys.setprofile(None)
                paths = (Path(file).resolve() for file in files if not file.startswith("<"))
                values.append({p.relative_to(ROOT).as_posix() for p in paths if is_ours(p)})

        return make

    for cls, name in MAKING:
        monkeypatch.setattr(cls, name, watched(getattr(cls, name)))
    return values


def is_ours(path):
    return path.is_relative_to(ROOT / "algorithms") or path.is_relative_to(ROOT / "tasks")


@pytest.fixture(autouse=True)
def forget():
    """Clear what is cached for a process's life."""

    def clear():
        versions.our_code.cache_clear()

    clear()
    yield clear
    clear()


@pytest.mark.parametrize(
    ("ask", "module"),
    [
        (a_trial, "tasks/evaluate/spaces.py"),
        (a_probe, "tasks/evaluate/learners.py"),
        (a_probe, "algorithms/elementary.pxd"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_edit_makes_the_value_again_and_nothing_else_does(ask, module, edit, made, forget):
    ask()
    edit(module, lambda text: text)
    forget()
    ask()
    before = len(made)
    edit(module, lambda text: f"{text}\n\nEDITED = True\n")
    forget()
    ask()

    assert before == len(made) / 2 > 0


@pytest.mark.parametrize(
    "ask", [a_trial, lambda: a_probe("NeuralNetwork")], ids=["trial", "network"]
)
def test_the_key_covers_all_code_that_runs_while_the_value_is_made(ask, made):
    ask()

    assert made
    covered = {path.relative_to(ROOT).as_posix() for path in versions.our_files()}
    assert set().union(*made) - covered == set()

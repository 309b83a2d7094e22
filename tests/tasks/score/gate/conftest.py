"""Suites that run in this process, and code that is changed on purpose."""

import dataclasses
import sys
from pathlib import Path
from types import ModuleType

import pytest

from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.event_logs import read_partial_log
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.jobs.suites.suite import load_suite
from leaseboard.tasks.machine import paths
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.gate.requirements import measure
from leaseboard.tasks.score.papers import selections, selects, with_metrics


@dataclasses.dataclass
class Run:
    """A part of a suite, run here: its results, and its requirements measured."""

    suite: object
    out: Path

    def __post_init__(self):
        done = []
        for number, job in enumerate(self.suite.jobs()):
            folder = self.out / f"{number}"
            folder.mkdir(parents=True)
            result, _ = run_job(job, folder)
            folder.replace(results.job_folder(self.out, result.key))
            done.append(result)
        self.results = done
        self.frame = as_frame(done)

    @property
    def quantities(self):
        """Return the suite's requirements, measured."""
        logs = [
            (row, read_partial_log(results.job_folder(self.out, row.key) / "events.jsonl.gz"))
            for row in self.frame.itertuples()
            if selects(row)
        ]
        frame = with_metrics(self.frame, selections(logs))
        return [measure(requirement, frame) for requirement in self.suite.all_requirements()]


@pytest.fixture
def part(tmp_path):
    """Run a part of a shipped suite: some data and algorithms, and what is required of them."""

    def run(name, data=(), algorithms=(), repetitions=None):
        suite = load_suite(name, paths.shipped_conf())
        entries = [entry for entry in suite.data if not data or entry.name in data]
        contenders = [one for one in suite.algorithms if not algorithms or one.title in algorithms]
        titles = {one.title for one in contenders}
        kept = [
            requirement
            for requirement in suite.requirements
            if (requirement.algorithm in titles and requirement.over in titles | {None})
            and (not requirement.data or requirement.data in {entry.name for entry in entries})
        ]
        (tmp_path / "run" / "jobs").mkdir(parents=True)
        update = {"data": entries, "algorithms": contenders, "requirements": kept}
        update["repetitions"] = repetitions or suite.repetitions
        return Run(suite.model_copy(update=update), tmp_path / "run")

    return run


@pytest.fixture
def plant(monkeypatch, tmp_path):
    """Change a line of a module for the rest of the test, wherever the module is in use."""

    def change(name, old, new):
        module = sys.modules[name]
        source = Path(module.__file__).read_text()
        assert source.count(old) == 1, f"{old!r} is not there once in {name}"
        copy = tmp_path / f"{name.rpartition('.')[2]}.py"
        copy.write_text(source.replace(old, new))
        planted = ModuleType(name)
        planted.__file__ = str(copy)
        exec(compile(copy.read_text(), str(copy), "exec"), planted.__dict__)
        own = {
            id(value): key
            for key, value in vars(module).items()
            if getattr(value, "__module__", None) == name
        }
        for place, user in list(sys.modules.items()):  # some values are no modules
            if place.startswith(("leaseboard.algorithms", "leaseboard.tasks")):
                for key, value in list(vars(user).items()):
                    if id(value) in own:
                        monkeypatch.setattr(user, key, vars(planted)[own[id(value)]])

    return change

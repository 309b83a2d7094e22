"""A run folder in any order of what can happen to it: a state machine of Hypothesis."""

import importlib
import shutil
import signal
import tempfile
from collections import Counter
from pathlib import Path

import yaml
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from leaseboard.tasks.folder import results
from tests.machines import run_machine
from tests.sweep import POINTS, in_fork, in_zygote, query

ALGORITHMS = ["running-mean", "last-label", "vanilla"]
IMPORTS = (
    "leaseboard.flows.commands.run", "leaseboard.tasks.archive.runs",
    "mlflow.store.tracking.sqlalchemy_store",
)  # fmt: skip
RUN, PRUNE = ["run", "suite.yaml", "--local", "--workers", "1", "--run-dir"], ["results", "prune"]
POINTS_OF_RUN = sorted(each for each in POINTS if each.startswith(("run.", "file.", "track.")))
POINTS_OF_PRUNE = ["file.before-rename", "file.after-rename", "prune.after-rows"]
POINTS_OF_MERGE = sorted(each for each in POINTS if each.startswith(("merge.", "file.")))
ONCE = """
select value, count(*) from tags t join runs r on t.run_uuid = r.run_uuid
where key = 'leaseboard.key' and status = 'FINISHED' and lifecycle_stage = 'active'
and exists (select 1 from tags l where l.run_uuid = r.run_uuid and l.key = 'leaseboard.level'
and l.value = 'job') group by value
"""


class RunFolderMachine(RuleBasedStateMachine):
    """Runs, kills, copies, merges, removals and edits of a suite, in any order."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.home = self.folder / "home"
        (self.home / "mlruns").mkdir(parents=True)
        shutil.copy(self.store, self.home / "mlruns" / "mlflow.db")
        self.scores, self.copies, self.number = {}, [], 0
        self.known = {"out": set(), "both": set()}
        self.edit(ALGORITHMS[:1], 1, 0)

    def teardown(self):
        self.run("out")
        shutil.rmtree(self.folder)

    def call(self, *words, failpoint=""):
        of_this_process = words[0] == "results"  # others have workers
        call = in_fork if of_this_process else in_zygote(self.zygote)
        return call([*words], self.home, failpoint)

    def said(self):
        return (self.folder / "said").read_text()[-2000:]

    def found(self, name):
        return results.read_results(self.home / name) if (self.home / name).is_dir() else []

    def remember(self, name):
        self.known[name] |= {each.key for each in self.found(name) if each.status == "ok"}

    # What happens

    @rule(
        algorithms=st.lists(st.sampled_from(ALGORITHMS), min_size=1, max_size=2, unique=True),
        repetitions=st.integers(1, 2), seed=st.integers(0, 1),
    )  # fmt: skip
    def edit(self, algorithms, repetitions, seed):
        self.jobs = len(algorithms) * repetitions
        suite = {
            "title": "A stream", "data": ["synthetic:fried?rows=100&seed=0"], "baselines": False,
            "algorithms": algorithms, "repetitions": repetitions, "seed": seed,
        }  # fmt: skip
        (self.home / "suite.yaml").write_text(yaml.safe_dump(suite))

    @rule(name=st.sampled_from(["out", "out", "both"]))
    def run(self, name):
        assert self.call(*RUN, name) == 0, self.said()
        table = results.read_table(self.home / name / results.TABLE)
        assert (table["status"] == "ok").all()
        shown = [each for each in results.current(self.home / name) if each.status == "ok"]
        assert len(shown) >= self.jobs
        assert sorted(table["key"]) == sorted(each.key for each in shown)
        logged = query(self.home / "mlruns" / "mlflow.db", ONCE)
        assert {each.key for each in shown} <= {key for key, _ in logged}
        self.remember(name)

    @rule(point=st.sampled_from(POINTS_OF_RUN), number=st.integers(1, 9))
    def killed_run(self, point, number):
        code = self.call(*RUN, "out", failpoint=f"{point}=kill@{number}")
        assert code in (0, 2, -signal.SIGKILL), self.said()  # 2: a job's own process was killed
        self.remember("out")

    @precondition(lambda self: self.known["out"])
    @rule()
    def copy(self):
        self.number += 1
        name = f"copy{self.number}"
        shutil.copytree(self.home / "out", self.home / name)
        self.copies.append((name, {e.key for e in results.current(self.home / name)}))

    @precondition(lambda self: self.copies)
    @rule(data=st.data(), kill=st.sampled_from(["", *POINTS_OF_MERGE]), number=st.integers(1, 4))
    def merge(self, data, kill, number):
        name, keys = data.draw(st.sampled_from(self.copies))
        words = ["results", "merge", name, "--run-dir", "both"]
        if kill:
            code = self.call(*words, failpoint=f"{kill}=kill@{number}")
            assert code in (0, -signal.SIGKILL), self.said()
        assert self.call(*words) == 0, self.said()
        self.remember("both")
        assert keys <= self.known["both"]

    @precondition(lambda self: self.known["out"])
    @rule(kill=st.sampled_from(["", *POINTS_OF_PRUNE]))
    def prune(self, kill):
        """Remove what newer results have replaced: of each place one stays."""
        before = {self.place(each) for each in self.found("out") if each.status == "ok"}
        self.known["out"].clear()
        if kill:
            code = self.call(*PRUNE, "out", "--yes", failpoint=f"{kill}=kill")
            assert code in (0, -signal.SIGKILL), self.said()
        assert self.call(*PRUNE, "out", "--yes") == 0, self.said()
        self.remember("out")
        after = Counter(self.place(each) for each in self.found("out") if each.status == "ok")
        assert after == Counter(before)

    @staticmethod
    def place(each):
        return each.algorithm, each.data, each.repetition

    # What holds at any moment

    @invariant()
    def nothing_is_lost_or_doubled(self):
        for name, known in self.known.items():
            found = self.found(name)
            keys = Counter(each.key for each in found)
            assert not [key for key, count in keys.items() if count > 1]
            assert known <= {each.key for each in found if each.status == "ok"}
            for each in found:
                if each.status == "ok":
                    assert self.scores.setdefault(each.key, each.score) == each.score
            if found:
                assert [*results.damaged(self.home / name)] == []

    @invariant()
    def each_job_is_logged_once(self):
        logged = query(self.home / "mlruns" / "mlflow.db", ONCE)
        assert [each for each in logged if each[1] != 1] == []


def machine_of(patch, zygote, store):
    """Return the machine with what forks its processes, and an MLflow store to copy."""
    for name in IMPORTS:
        importlib.import_module(name)
    patch.setattr(RunFolderMachine, "zygote", zygote, raising=False)
    patch.setattr(RunFolderMachine, "store", store, raising=False)
    return RunFolderMachine


def test_orders(zygote, empty_store, monkeypatch):
    run_machine(machine_of(monkeypatch, zygote, empty_store), 2, 8)

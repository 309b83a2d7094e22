"""The gate on real races: planted faults are caught."""

import dataclasses
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from leaseboard.algorithms.online_automl.safe import bayes, mixture
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import read_partial_log
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.jobs.suites.suite import load_suite
from leaseboard.tasks.machine import environment
from leaseboard.tasks.score.baseline import accept, measure
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.selections import selects, with_selections
from leaseboard.tasks.score.verdict import gate


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
            result = run_job(job, folder)
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
        frame = with_selections(self.frame, logs)
        return [measure(requirement, frame) for requirement in self.suite.all_requirements()]


@pytest.fixture
def part(tmp_path):
    """Run a part of a shipped suite: some data and algorithms, and what is required of them."""

    def run(name, data=(), algorithms=(), repetitions=None):
        suite = load_suite(name, environment.shipped_conf())
        entries = [entry for entry in suite.data if not data or entry.name in data]
        contenders = [one for one in suite.algorithms if not algorithms or one.title in algorithms]
        titles = {one.title for one in contenders}
        kept = [
            requirement
            for requirement in suite.requirements
            if requirement.algorithm in titles
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
        for place, user in list(sys.modules.items()):  # some values are not modules
            if place.startswith(("leaseboard.algorithms", "leaseboard.tasks")):
                for key, value in list(vars(user).items()):
                    if id(value) in own:
                        monkeypatch.setattr(user, key, vars(planted)[own[id(value)]])

    return change


def broken(run):
    """Return the requirements that a run breaks while its scores are as accepted."""
    accepted = accept(run.frame, "ci", date="", versions={})
    verdict = gate(run.frame, accepted, quantities=run.quantities)
    found = [
        each.title.removeprefix("requirement: ").partition(" on ")[0]
        for each in verdict.requirements
        if each.fails
    ]
    assert verdict.exit_code == (1 if found else 0)
    assert {check.verdict for check in verdict.checks} == {"same"}
    return found


PLANTS = {
    "intervals that miss twice as often": (
        ("ci-streams", ["fried"], ["vanilla", "online-automl"]),
        "leaseboard.algorithms.online.conformal",
        "np.round(1.0 - np.array(self.levels)", "np.round(1.1 - np.array(self.levels)",
        ["coverage_in_worst_window of online-automl", "coverage of online-automl"],
    ),
    "beta's sign in ER-UCB": (
        ("ci-arms", ["first pulls"], ["er-ucb"]),
        "leaseboard.algorithms.er_ucb", "reward - self.beta", "reward + self.beta",
        ["index.arm3 of er-ucb", "index.arm4 of er-ucb"],
    ),
    "ABC's alpha times 50": (
        ("ci-selection", [], ["full-run", "abc-tight"]),
        "leaseboard.algorithms.abc_selection.bounds",
        "(share * self.delta for", "(50 * share * self.delta for",
        ["missed_intervals of abc-tight"],
    ),
    "one apple expansion fewer": (
        ("ci-apple", [], ["apple", "apple-ssm"]),
        "leaseboard.algorithms.apple.apple",
        "for k in range(1, epochs)}", "for k in range(1, epochs - 1)}",
        ["expansions of apple", "expansions of apple-ssm"],
    ),
    "the growth rate negated in Rising Bandits": (
        ("ci-arms", ["rising arms"], ["rising-bandits"]),
        "leaseboard.algorithms.rising_bandits", "omega = growth_rate(", "omega = -growth_rate(",
        ["upper.arm3 of rising-bandits", "upper.arm4 of rising-bandits",
         "upper.arm1 of rising-bandits"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTS)
def test_a_broken_guarantee_fails_even_where_no_score_is_worse(fault, part, plant):
    which, module, old, new, expected = PLANTS[fault]
    importlib.import_module(module)
    plant(module, old, new)
    assert broken(part(*which)) == expected


EXPERTS = {
    "2dplanes": (
        lambda it: (it.known.aggregated[mixture.FIELDS :], it.known.scores[it.baselines]),
        "share_of_bound of online-automl",
    ),
    "classes": (
        lambda it: (it.log_odds.bayes[1:], it.log_odds.lost[: bayes.N_EXPERTS]),
        "nats_over_best of online-automl",
    ),
}


@pytest.mark.parametrize("data", EXPERTS)
def test_a_mixture_that_follows_the_worst_breaks_its_requirement(data, part, monkeypatch):
    """Each round begins with all weight on the expert that lost most."""
    experts, expected = EXPERTS[data]
    learn = SafeRace.learn

    def wrong(self, *given):
        weights, lost = experts(self.ensemble)
        weights[:] = 1e-12
        weights[len(weights) - len(lost) + lost.argmax()] = 1.0
        return learn(self, *given)

    monkeypatch.setattr(SafeRace, "learn", wrong)
    which = ("ci-streams", [data], ["vanilla", "online-automl"])
    assert expected in broken(part(*which, repetitions=1))

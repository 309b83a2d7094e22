"""The gate on real races: planted faults are caught, an identical rerun always passes."""

import importlib

import pytest

from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online_automl.safe import aggregate, log_odds
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace
from leaseboard.tasks.jobs.run import run_job
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.frame import as_frame, to_frame
from leaseboard.tasks.score.gate.baseline import accept
from leaseboard.tasks.score.gate.verdict import gate

pytestmark = pytest.mark.slow

DATA = (
    {"data": "synthetic:fried?rows=2000&seed=0"},
    {"data": "synthetic:2dplanes?rows=2000&seed=0"},
)
RACE = Suite(title="ChaCha, small", data=list(DATA), algorithms=["chacha-literal"], repetitions=12)


@pytest.fixture(scope="module")
def races(tmp_path_factory):
    out = tmp_path_factory.mktemp("races")
    return lambda: as_frame(to_frame(run_job(job, out)[0] for job in RACE.jobs()))


@pytest.fixture(scope="module")
def ran(races):
    """Return a run before anything is planted: read it, or copy it."""
    return races()


@pytest.fixture(scope="module")
def baseline(ran):
    return accept(ran, "race", date="2026-11-21", versions={})


def faster(monkeypatch, factor):
    """Let every model learn with `factor` times the step size that it should have."""
    start = KernelModels.start

    def planted(self, slot, configuration, parent=None):
        start(self, slot, configuration, parent)
        self.pool.rates[slot] *= factor

    monkeypatch.setattr(KernelModels, "start", planted)


def test_every_identical_rerun_passes(races, baseline):
    assert [gate(races(), baseline).exit_code for _ in range(2)] == [0] * 2


def test_a_step_size_that_is_3_percent_too_small_is_caught(races, baseline, monkeypatch):
    faster(monkeypatch, 0.97)
    verdict = gate(races(), baseline)
    assert verdict.exit_code == 1
    assert all(check.verdict == "regressed" for check in verdict.checks)


def test_a_step_size_that_happens_to_be_better_is_reported_and_passes(
    races, baseline, monkeypatch
):
    faster(monkeypatch, 1.03)
    verdict = gate(races(), baseline)
    assert verdict.exit_code == 0
    assert {check.verdict for check in verdict.checks} == {"improved"}


def test_a_planted_crash_is_a_failed_run(ran, baseline):
    frame = ran.copy()
    frame.loc[0, ["status", "reason", "score"]] = ["crash", "planted", float("nan")]
    assert gate(frame, baseline).exit_code == 2


def broken(run, baseline=None):
    """Return the requirements that a run breaks while its scores are as accepted."""
    accepted = accept(run.frame, "ci", date="", versions={})
    required = {"requirements": tuple(run.suite.all_requirements())}
    accepted = accepted.model_copy(update=required)
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
    assert broken(part(*which, folder="before")) == []
    plant(module, old, new)
    assert broken(part(*which)) == expected


def follow_the_worst(monkeypatch, experts):
    """Let each round begin with all weight on the expert that lost most."""
    learn = SafeRace.learn

    def wrong(self, *given):
        weights, lost = experts(self.ensemble)
        weights[:] = 1e-12
        weights[len(weights) - len(lost) + lost.argmax()] = 1.0
        return learn(self, *given)

    monkeypatch.setattr(SafeRace, "learn", wrong)


def test_an_aggregate_that_follows_the_worst_breaks_its_requirement(part, monkeypatch):
    which = ("ci-streams", ["2dplanes"], ["vanilla", "online-automl"])
    assert broken(part(*which, folder="before")) == []
    follow_the_worst(
        monkeypatch,
        lambda it: (it.known.aggregated[aggregate.FIELDS :], it.known.scores[it.baselines]),
    )
    assert "share_of_bound of online-automl" in broken(part(*which))


def test_odds_that_follow_the_worst_break_their_requirement(part, monkeypatch):
    which = ("ci-streams", ["classes"], ["vanilla", "online-automl"])
    assert broken(part(*which, folder="before")) == []
    follow_the_worst(
        monkeypatch, lambda it: (it.log_odds.bayes[1:], it.log_odds.lost[: log_odds.N_EXPERTS])
    )
    assert broken(part(*which)) == ["nats_over_best of online-automl"]


def test_a_mixture_that_forgets_too_soon_is_a_regression(part, plant):
    which = ("ci-streams", ["fried"], ["vanilla", "online-automl"])
    run = part(*which, folder="before", repetitions=12)
    assert gate(run.frame, run.accepted(), quantities=run.quantities).exit_code == 0
    name = "leaseboard.algorithms.online_automl.online_automl"
    plant(name, "gamma=1.0 - 1.0 / self.memory,", "gamma=1.0 - 500.0 / self.memory,")
    run = part(*which, repetitions=12)
    verdict = gate(run.frame, run.accepted(), quantities=run.quantities)
    assert verdict.exit_code == 1
    assert [check.title for check in verdict.checks if check.fails] == [
        "online-automl on synthetic:fried?rows=3000&seed=0"
    ]

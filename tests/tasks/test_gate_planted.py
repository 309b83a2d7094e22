"""The gate on real races: a planted regression is caught, an identical rerun always passes."""

import pytest

from algorithms.online.pool import Pool
from tasks.config import Suite
from tasks.gate import accept, gate
from tasks.run import run_job
from tasks.score.frame import as_frame, to_frame

DATA = (
    {"data": "synthetic:fried?rows=2000&seed=0"},
    {"data": "synthetic:2dplanes?rows=2000&seed=0"},
)
RACE = Suite(
    title="ChaCha, small",
    data=list(DATA),
    algorithms=[{"name": "chacha", "label": "chacha-paper", "settings": {"preset": "paper"}}],
    repetitions=2,
)


@pytest.fixture
def race(tmp_path):
    return lambda: as_frame(to_frame(run_job(job, tmp_path)[0] for job in RACE.jobs()))


@pytest.fixture
def baseline(race):
    return accept(race(), "race", date="2026-11-21", versions={})


def plant(monkeypatch, factor):
    """Every model learns with `factor` times the step size that it should have."""
    start = Pool.start

    def planted(self, slot, configuration):
        start(self, slot, configuration)
        self.rates[slot] *= factor

    monkeypatch.setattr(Pool, "start", planted)


def test_an_identical_rerun_passes_20_of_20_times(race, baseline):
    assert [gate(race(), baseline).exit_code for _ in range(20)] == [0] * 20


def test_a_step_size_that_is_3_percent_too_small_is_caught(race, baseline, monkeypatch):
    plant(monkeypatch, 0.97)
    verdict = gate(race(), baseline)
    assert verdict.exit_code == 1
    assert all(check.verdict == "regressed" for check in verdict.checks)


def test_a_step_size_that_happens_to_be_better_is_reported_and_passes(race, baseline, monkeypatch):
    plant(monkeypatch, 1.03)
    verdict = gate(race(), baseline)
    assert verdict.exit_code == 0
    assert {check.verdict for check in verdict.checks} == {"improved"}


def test_a_planted_crash_is_a_failed_run(race, baseline):
    frame = race()
    frame.loc[0, ["status", "reason", "score"]] = ["crash", "planted", float("nan")]
    assert gate(frame, baseline).exit_code == 2

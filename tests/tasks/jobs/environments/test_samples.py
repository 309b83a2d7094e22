"""Jobs on the samples environment, from a reference to a result."""

import pytest

from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.events import ProbeFinished, read_log
from leaseboard.tasks.evaluate import learners
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.environments import systems
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import run_job
from tests.environments import environment_of

DATA = "synthetic:waveform?rows=3000&seed=0"
QUICK = [
    {"learner": "LogisticRegression", "max_iter": 50},
    {"learner": "LogisticRegression", "max_iter": 50, "C": 1e-4},
    {"learner": "RandomForest", "n_estimators": 2, "max_depth": 1},
    {"learner": "RandomForest", "n_estimators": 2, "max_depth": 4},
]


@pytest.fixture(autouse=True)
def quick(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(learners, "draw_configurations", lambda *_: QUICK)


@pytest.fixture
def run(tmp_path):
    """Run a job on quick learners: its result and its events."""
    folder = tmp_path / "job"
    folder.mkdir()

    def run(algorithm, *, settings=None, **env):
        env = {"initial_rows": 300} | env
        job = Job(algorithm, DATA, 1, 7, settings=settings or {}, environment=env)
        result = run_job(job, folder)
        return result, list(read_log(folder / "events.jsonl.gz"))

    return run


def test_a_replay_is_charged_alike_and_costs_next_to_nothing(run):
    """Seconds decide whom GradientCI probes, and what samples may cost: they are recorded."""
    first, events = run("abc-tight", initial_rows=100)
    again, replayed = run("abc-tight", initial_rows=100)
    # Which samples it takes depends on the seconds that the first ones took.
    assert min(event.rows for event in events if isinstance(event, ProbeFinished)) == 50
    assert replayed[:-1] == events[:-1]
    assert again.score == first.score
    assert again.cpu_seconds == first.cpu_seconds > 0
    assert again.metrics["spent_cpu_seconds"] < 0.5 * first.metrics["spent_cpu_seconds"]


def test_verdicts_represent_learners(tmp_path):
    """The same classifiers for all algorithms, split by the environment's seed alone."""
    data, found = "synthetic:near-ties?rows=1000", {}
    for name in ("full-run", "abc", "successive-halving"):
        job = Job(name, data, 1, 7, environment={"protocol": "verdicts", "initial_rows": 50})
        found[name] = run_job(job, tmp_path)
    assert {result.metrics["configurations"] for result in found.values()} == {4.0}
    assert found["full-run"].score >= max(result.score for result in found.values())
    assert found["full-run"].cpu_seconds == pytest.approx(4 * 0.8)
    job = Job("full-run", data, 1, 8, environment={"protocol": "verdicts"})
    assert run_job(job, tmp_path).score != found["full-run"].score


def test_invalid_verdicts_are_refused(tmp_path):
    job = Job("abc", "sklearn:wine", 0, 0, environment={"protocol": "verdicts"})
    with pytest.raises(DataError, match="column 'alcohol' is not of verdicts"):
        run_job(job, tmp_path)
    drawn = {"protocol": "verdicts", "configurations": 3}
    with pytest.raises(UsageError, match="verdicts are taken unchanged: remove configurations"):
        environments.resolve("samples", drawn)


@pytest.fixture(autouse=True)
def _store(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_STORE", str(tmp_path / "store.sqlite"))


def job(algorithm="lightgbm-default", **given):
    return Job(algorithm, "sklearn:iris", seed=1, environment_seed=2, **given)


def test_a_job_is_scored_on_the_test_rows(tmp_path):
    result = run_job(job(budget=5.0), tmp_path)

    assert (result.status, result.metric, result.unit) == ("ok", "test_accuracy", "cpu_seconds")
    assert result.score > 0.8
    assert result.baseline
    assert result.cpu_seconds == result.metrics["spent_cpu_seconds"] > 0
    again = run_job(job(budget=5.0), tmp_path)
    assert (again.score, again.cpu_seconds) == (result.score, result.cpu_seconds)
    assert again.metrics["spent_cpu_seconds"] == 0


def test_all_rows_but_the_test_rows_are_learned_from():
    env = environment_of(
        "systems", loading.load("sklearn:iris"), job(environment={"test_share": 0.3})
    )

    assert (len(env._fits.train), len(env._fits.test)) == (105, 45)
    assert env.budget == systems.DEFAULT_BUDGET

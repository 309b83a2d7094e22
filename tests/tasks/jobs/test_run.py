import dataclasses
import sys
from pathlib import Path

import pytest

from leaseboard.algorithms.errors import AuditError, UsageError
from leaseboard.algorithms.events import Measured, read_log
from leaseboard.tasks.evaluate import venv
from leaseboard.tasks.folder.results import rows_reached
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import route_settings, run_job
from tests.algorithms import cheats

JOB = Job("vanilla", "synthetic:fried?rows=500&seed=0", seed=3, environment_seed=3)


def job_of(tmp_path, body, data=JOB.data):
    """Return a job of an algorithm whose `run` has this body."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "from pydantic.dataclasses import dataclass\n"
        "from leaseboard.algorithms.base import Algorithm\n"
        "from leaseboard.algorithms.errors import DivergedError\n"
        "from leaseboard.algorithms.events import ConfigurationAdmitted, Eliminated\n"
        "from leaseboard.algorithms.events import LeaseGranted\n\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Mine(Algorithm):\n"
        "    environment = 'stream'\n\n"
        f"    def run(self, env, seed):\n{lines}\n"
    )
    return dataclasses.replace(JOB, algorithm=f"{tmp_path / 'mine.py'}:Mine", data=data)


def test_a_framework_is_charged_what_it_took_in_its_own_process(tmp_path, monkeypatch):
    monkeypatch.setattr(venv, "python", lambda _: Path(sys.executable))
    result = run_job(dataclasses.replace(JOB, algorithm="river-linear"), tmp_path)

    assert (result.status, result.units) == ("ok", 500)
    assert 0 < result.cpu_seconds < result.metrics["spent_cpu_seconds"]  # which has its start
    assert result.metrics["peak_memory_mb"] > 20


def test_the_log_of_a_job_that_is_ended_has_the_rows_that_it_reached(tmp_path):
    class Stop(BaseException):
        pass

    def at_50(event):
        if event.at >= 50:
            raise Stop

    with pytest.raises(Stop):
        run_job(JOB, tmp_path, sinks=(at_50,))
    events = list(read_log(tmp_path / "events.jsonl.gz"))
    last = events[-1]
    assert isinstance(last, Measured)
    assert rows_reached(events) == {"rows": last.at, "loss_so_far": last.value}
    assert 50 <= last.at < 500


ENVIRONMENTS_ = {
    "stream": (JOB.data, {}, None),
    "holdout": (JOB.data, {}, None),
    "pulls": ("synthetic:seven-gaussians?rows=50", {"protocol": "table"}, 14),
}
"""Data, options and budget of a real environment of each kind that answers at once."""


def cheating(cheat):
    data, options, budget = ENVIRONMENTS_[cheat.environment]
    name = f"{cheats.__file__}:{cheat.__name__}"
    return dataclasses.replace(JOB, algorithm=name, data=data, environment=options, budget=budget)


@pytest.mark.parametrize("cheat", [c for c in cheats.CHEATS if cheats.found_by(c) != "look_ahead"])
def test_an_algorithm_that_changes_its_environment_fails_its_job(tmp_path, cheat):
    with pytest.raises((AuditError, ValueError, AttributeError, AssertionError)):
        run_job(cheating(cheat), tmp_path)


@pytest.mark.parametrize("data", ["sklearn:diabetes", "sklearn:breast_cancer"])
@pytest.mark.parametrize(
    "body",
    [
        "raise DivergedError('the weights are infinite')\nyield",
        "yield from env.record(np.full(env.budget, np.nan, np.float32))",
    ],
)
def test_divergence_is_a_status(tmp_path, body, data):
    result = run_job(dataclasses.replace(job_of(tmp_path, body), data=data), tmp_path)

    assert result.status == "diverged"
    assert result.score is None
    assert result.reason


def test_settings_go_to_the_algorithm_or_to_its_environment():
    assert route_settings("online-automl", {"b": "5", "max_rows": "10"}) == (
        {"b": "5"},
        {"max_rows": "10"},
    )
    with pytest.raises(UsageError, match="did you mean 'max_rows'"):
        route_settings("online-automl", {"max_row": "10"})

"""What the tasks add to their functions; whole flows have tests of their own."""

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Job, Result


def result(digest="a" * 12, **fields):
    job = Job(algorithm="vanilla", data="held:sales", seed=0, environment_seed=0)
    return Result.of(job, key="k", digest=digest, status="ok", score=1.0, **fields)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], "results to compare are missing"),
        ([result(), result(digest="b" * 12)], "two datasets are called held:sales"),
    ],
)
def test_a_leaderboard_is_made_of_what_can_be_compared(environment, given, why):
    from leaseboard.tasks.steps import score

    with pytest.raises(UsageError, match=why):
        score.fn(given)


def test_importing_the_steps_room_loads_no_prefect():
    import subprocess
    import sys

    code = "import sys, leaseboard.tasks.steps; assert 'prefect' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_artifacts_of_two_suites_have_two_histories():
    from leaseboard.tasks.steps.prefect_tasks import artifact_key

    assert artifact_key("quick", "leaderboard") == "quick-leaderboard"
    keys = {artifact_key(name, "leaderboard") for name in ("日本", "売上", "a b", "a.b", "a_b")}
    assert len(keys) == 5
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys)

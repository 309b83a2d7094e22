"""What the tasks add to the functions below them; whole flows are tested beside the flows."""

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Job, Result


def result(digest="a" * 12, **fields):
    job = Job(algorithm="vanilla", data="held:sales", seed=0, environment_seed=0)
    return Result.of(job, key="k", digest=digest, status="ok", score=1.0, **fields)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], "no results"),
        ([result(), result(digest="b" * 12)], "two data sets are called held:sales"),
    ],
)
def test_a_board_is_made_of_what_can_be_compared(environment, given, why):
    from leaseboard.tasks.steps import score

    with pytest.raises(UsageError, match=why):
        score.fn(given)


def test_importing_the_steps_room_loads_no_prefect():
    import subprocess
    import sys

    code = "import sys, leaseboard.tasks.steps; assert 'prefect' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)

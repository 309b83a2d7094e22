"""The stream environment of a job; losses under the preprocessing of ChaCha's authors."""

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.job import Job
from tests.environments import environment_of


def job(**changes) -> Job:
    return Job("vanilla", "synthetic:fried", seed=1, environment_seed=2, **changes)


def test_a_job_makes_its_environment():
    env = environment_of(
        "stream",
        load("synthetic:fried?rows=80"),
        job(budget=50, environment={"max_rows": 60, "log_target": False}),
    )

    assert (env.budget, len(env.stream.labels)) == (50, 60)


@pytest.mark.parametrize("budget", [0, -1, 2.5])
def test_a_budget_is_a_whole_number_of_examples(budget):
    with pytest.raises(UsageError, match=f"budget {budget:g} must be a whole number"):
        environment_of("stream", load("synthetic:fried?rows=80"), job(budget=budget))


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("data", "loss"),
    [
        ("openml:201", 2.61481),
        ("openml:215", 5.74161),
        ("openml:344", 22.70862),
        ("openml:564", 7.99468),
        ("openml:1199", 171.16664),
        ("openml:1203", 9.55757),
        ("openml:23515", 0.00051),
    ],
)
def test_vanillas_loss_is_that_of_vowpal_wabbit_on_the_authors_files(mirror, data, loss):
    # Measured with Vowpal Wabbit 9.11.9 on text files written by the authors' rules.
    authors = {"encoding": "codes", "decimals": 6, "log_target": "code", "max_rows": 100_000}
    env = environment_of("stream", load(data, mirrors=(mirror,)), job(environment=authors))

    for _ in play("vanilla", registry.build("vanilla"), env, 0):
        pass

    assert round(env.score().value, 5) == loss

"""The stream bench of a job, and the losses that ChaCha's authors' preprocessing must give."""

from __future__ import annotations

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.fetch import load
from leaseboard.tasks.jobs.benches import check_options
from leaseboard.tasks.jobs.benches.stream import make
from leaseboard.tasks.jobs.job import Job


def job(**changes) -> Job:
    return Job("vanilla", "synthetic:fried", seed=1, environment_seed=2, **changes)


def test_a_job_makes_its_bench():
    bench = make(
        load("synthetic:fried?rows=80"),
        job(budget=50, bench={"namespaces": 2, "log_target": False}),
    )

    assert (bench.budget, bench.seed, len(bench.stream.namespaces)) == (50, 2, 2)


@pytest.mark.parametrize("budget", [0, -1, 2.5])
def test_a_budget_is_a_whole_number_of_examples(budget):
    with pytest.raises(UsageError, match=f"budget {budget:g} must be a whole number"):
        make(load("synthetic:fried?rows=80"), job(budget=budget))


def test_wrong_options_are_named():
    with pytest.raises(UsageError, match=r"option of the stream bench 'max_row'.*'max_rows'"):
        check_options("stream", {"max_row": 3})
    with pytest.raises(UsageError, match="namespaces=0"):
        check_options("stream", {"namespaces": 0})


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
    authors = {"encoding": "codes", "decimals": 6, "max_rows": 100_000}
    bench = make(load(data, mirrors=(mirror,)), job(bench=authors))

    for _ in play("vanilla", registry.build("vanilla"), bench, 0):
        pass

    assert round(bench.score().value, 5) == loss

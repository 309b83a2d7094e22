"""Naive baselines of suites on streams."""

import pytest

from leaseboard.tasks.jobs.suites.plan import with_baselines
from leaseboard.tasks.jobs.suites.suite import Suite


def of(*algorithms, **keys):
    return Suite.model_validate({"title": "t", "data": ["sklearn:diabetes"]} | keys
                                | {"algorithms": list(algorithms)})  # fmt: skip


def names(suite):
    return [one.algorithm for one in suite.algorithms]


NAIVE = ["running-mean", "last-label", "seasonal-last", "online-ridge"]


def test_a_suite_on_streams_runs_the_naive_baselines_that_it_does_not_name():
    assert names(with_baselines(of("online-automl", "vanilla"))) == [
        "online-automl",
        "vanilla",
        *NAIVE,
    ]
    season = {"algorithm": "seasonal-last", "name": "a day", "settings": {"period": 24}}
    assert names(with_baselines(of(season, "online-ridge"))) == [
        "seasonal-last", "online-ridge", "running-mean", "last-label",
    ]  # fmt: skip
    whole = with_baselines(of("online-automl", *NAIVE))
    assert names(whole) == ["online-automl", *NAIVE]


def test_baselines_see_the_rows_and_the_target_that_the_algorithms_see():
    environment = {"log_target": False, "max_rows": 50}
    added = with_baselines(
        of("apple", {"algorithm": "online-automl", "environment": environment})
    ).algorithms[2:]
    assert [one.environment for one in added] == [environment] * 4


@pytest.mark.parametrize(
    ("algorithms", "keys"),
    [(["apple"], {}), (["rising-bandits"], {}), (["online-automl"], {"baselines": False}),
     (["no-such-name"], {}), (["no-such-file.py:Mine"], {})],
)  # fmt: skip
def test_a_suite_on_no_stream_or_that_says_so_stays_what_it_is(algorithms, keys):
    suite = of(*algorithms, **keys)
    assert with_baselines(suite) is suite

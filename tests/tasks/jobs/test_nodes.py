"""Parallel apple has the same events wherever its nodes work."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from leaseboard.algorithms.apple.parallel import ParallelApple
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.errors import SkipError, UsageError
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.environments import make
from leaseboard.tasks.jobs.environments.holdout import cluster
from leaseboard.tasks.jobs.job import Job


def events(workers):
    x = np.random.default_rng(0).normal(size=(900, 8)).astype(np.float32)
    y = x[:, 0] * x[:, 1] - x[:, 4] ** 2
    names = tuple(f"x{i + 1}" for i in range(8))
    holdout = Holdout(Part(x[:600], y[:600]), Part(x[600:], y[600:]), names)
    environment = HoldoutEnvironment(holdout, passes=3, nodes=cluster(workers))
    algorithm = ParallelApple(partitions=2, bits=10, rates=(0.1, 0.5))
    return list(play("apple-parallel", algorithm, environment, 0))


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["processes", pytest.param("dask", marks=pytest.mark.dask)])
def test_the_events_are_the_same_wherever_the_nodes_work(workers):
    alone = events("serial")  # first, so that the nodes find the kernels compiled

    assert events(workers) == alone


def test_dask_is_an_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    with pytest.raises(SkipError, match=r"pip install '\.\[dask\]'"):
        cluster("dask")


def test_workers_are_for_algorithms_that_learn_in_parallel():
    data = load("synthetic:fried?rows=50")

    environment = make(
        "holdout", data, Job("apple-parallel", "t", 0, 0, environment={"workers": "processes"})
    )

    assert environment.nodes is cluster("processes")
    with pytest.raises(UsageError, match="apple does not: leave it out, or take apple-parallel"):
        make("holdout", data, Job("apple", "t", 0, 0, environment={"workers": "processes"}))

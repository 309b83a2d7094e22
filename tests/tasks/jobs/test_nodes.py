"""Parallel apple tells the same events wherever its nodes work."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from leaseboard.algorithms.apple.parallel import ParallelApple
from leaseboard.algorithms.base import play
from leaseboard.algorithms.benches.holdout import Holdout, HoldoutBench, Part
from leaseboard.algorithms.errors import SkipError, UsageError
from leaseboard.tasks.fetch import load
from leaseboard.tasks.jobs.benches import make
from leaseboard.tasks.jobs.benches.holdout import cluster
from leaseboard.tasks.jobs.job import Job


def events(workers):
    x = np.random.default_rng(0).normal(size=(900, 8)).astype(np.float32)
    y = x[:, 0] * x[:, 1] - x[:, 4] ** 2
    names = tuple(f"x{i + 1}" for i in range(8))
    holdout = Holdout(Part(x[:600], y[:600]), Part(x[600:], y[600:]), names)
    bench = HoldoutBench(holdout, passes=3, nodes=cluster(workers))
    algorithm = ParallelApple(partitions=2, kernel="hashed", bits=10, rates=(0.1, 0.5))
    return list(play("apple-parallel", algorithm, bench, 0))


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

    bench = make("holdout", data, Job("apple-parallel", "t", 0, 0, bench={"workers": "processes"}))

    assert bench.nodes is cluster("processes")
    with pytest.raises(UsageError, match="apple does not: leave it out, or take apple-parallel"):
        make("holdout", data, Job("apple", "t", 0, 0, bench={"workers": "processes"}))

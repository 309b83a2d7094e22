"""Timings of rival ways: medians, ratios, and the table."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import chacha
from benchmarks.timing import Way, measure
from leaseboard.algorithms.environments.stream import Namespace, Stream


def test_time_is_scaled_and_repeats_are_limited():
    calls = []

    def work():
        calls.append(1)

    (timing,) = measure([Way("once", 10, work, scale=5, repeats=1)], repeats=4)

    assert len(calls) == timing.runs == 1
    assert timing.loss is None


def small_stream(n=60):
    x = np.random.default_rng(0).random((n, 3)).astype(np.float32)
    spaces = tuple(Namespace(name, i, i + 1) for i, name in enumerate("abc"))
    return Stream(x, x[:, 0] * x[:, 1], spaces, ("x", "y", "z"))


def test_every_way_runs_on_the_same_stream(tmp_path):
    timings = {t.name: t for t in chacha.run(small_stream(), tmp_path, repeats=1)}

    assert timings["kernel b=5, one call at a time"].loss == pytest.approx(
        timings["kernel b=5"].loss
    )
    assert all(t.median_us > 0 for t in timings.values())
    assert len(timings) == 8


def test_vws_text_is_as_the_authors_wrote_it():
    line = next(chacha.vw_lines(small_stream()))

    assert line.split("|")[1:] == ["a 0:0.636962", "b 1:0.269787", "c 2:0.040974"]

"""Timings of rival ways: medians, ratios, and the table."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import chacha
from benchmarks.timing import Timing, Way, measure, ratio
from leaseboard.algorithms.environments.stream import Namespace, Stream


def spin(rounds):
    def work():
        for _ in range(rounds):
            pass
        return 0.5

    return work


def test_a_slower_way_takes_longer_by_about_its_factor():
    timings = measure([Way("short", 1000, spin(20_000)), Way("long", 1000, spin(400_000))])

    assert [t.runs for t in timings] == [5, 5]
    assert 5 < ratio(timings, "long", "short") < 80
    assert all(t.least_us <= t.median_us for t in timings)


def test_time_is_scaled_and_repeats_are_limited():
    calls = []

    def work():
        calls.append(1)

    (timing,) = measure([Way("once", 10, work, scale=5, repeats=1)], repeats=4)

    assert len(calls) == timing.runs == 1
    assert timing.loss is None


def test_errors_are_not_swallowed():
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        measure([Way("broken", 1, fail)])


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


def test_the_command_line_prints_a_table(capsys, tmp_path):
    arguments = ["synthetic:fried?rows=60&seed=0", "--repeats", "1"]
    code = chacha.main([*arguments, "--out", str(tmp_path / "speed.json")])

    assert code == 0
    assert "kernel b=5" in capsys.readouterr().out
    assert Timing(**json.loads((tmp_path / "speed.json").read_text())[0]).examples == 60

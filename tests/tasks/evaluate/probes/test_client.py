"""Probes of real learners: recorded once, replayed exactly, on views of one array."""

from __future__ import annotations

import itertools
import os
import signal
import time

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.tasks.evaluate.probes import fitting
from leaseboard.tasks.evaluate.probes.client import RecordedProbes
from leaseboard.tasks.evaluate.probes.split import Shuffled
from leaseboard.tasks.store.recorded import Store


class Tree(DecisionTreeClassifier):
    """A tree that misbehaves where its configuration says so."""

    def __init__(self, behaviour=""):
        super().__init__(max_depth=2, random_state=0)
        self.behaviour = behaviour

    def fit(self, X, y):
        if self.behaviour == "crash" and len(y) > 100:
            raise ValueError("more rows than I can take")
        while self.behaviour == "hang" and len(y) > 100:
            pass
        return super().fit(X, y)


CONFIGURATIONS = [{"learner": "tree"}, {"behaviour": "crash"}, {"behaviour": "hang"}]


def split(make):
    return Shuffled(digest="test", n_rows=600, seed=0, test_fraction=1 / 3, make=make)


def probes(samples, tmp_path, **kwargs):
    return RecordedProbes(
        split(lambda *_: samples),
        CONFIGURATIONS,
        lambda parameters: Tree(parameters.get("behaviour", "")),
        Store(tmp_path / "probes.sqlite"),
        code="leaseboard.tasks.jobs.benches.samples",
        **kwargs,
    )


def never(*_):
    raise AssertionError("a stored probe was run again")


def test_samples_are_views(samples):
    for features, labels in (samples.train(100), samples.test(50)):
        assert features.base is samples.features
        assert labels.base is samples.labels
        assert features.flags.c_contiguous


def test_training_samples_are_nested_and_never_meet_the_test_rows(samples):
    small, large = samples.train(50)[0], samples.train(400)[0]
    assert np.shares_memory(small, large)
    assert not np.shares_memory(large, samples.test(200)[0])


def test_a_probe_is_replayed_exactly(samples, tmp_path):
    first = probes(samples, tmp_path).measure(0, 100, 200)
    assert first.status == "ok"
    again = probes(samples, tmp_path)
    again._build = never
    assert again.measure(0, 100, 200) == first


def test_a_replay_does_not_make_the_array(samples, tmp_path):
    first = probes(samples, tmp_path).measure(0, 100, 200)
    again = probes(samples, tmp_path)
    again.split = split(never)
    assert again.measure(0, 100, 200) == first


def test_probes_of_other_data_or_options_are_their_own(samples, tmp_path):
    plain = probes(samples, tmp_path)
    other = probes(samples, tmp_path, variant="shared bins")
    assert plain.key(0, 100, 200) != other.key(0, 100, 200)
    assert plain.key(0, 100, 200) != plain.key(0, 200, 200)
    assert plain.key(0, 100, 200) != plain.key(1, 100, 200)


def test_a_crash_is_recorded_with_its_reason(samples, tmp_path):
    probe = probes(samples, tmp_path).measure(1, 200, 200)
    assert (probe.status, probe.reason) == ("crash", "ValueError: more rows than I can take")
    again = probes(samples, tmp_path)
    again._build = never
    assert again.measure(1, 200, 200) == probe
    assert probes(samples, tmp_path).measure(1, 50, 100).status == "ok"


def test_a_fit_without_end_times_out_and_a_longer_limit_asks_again(samples, tmp_path):
    started = time.perf_counter()
    probe = probes(samples, tmp_path, probe_seconds=0.5).measure(2, 200, 200)
    assert probe.status == "timeout"
    assert probe.fit_cpu == 0.5
    assert time.perf_counter() - started < 300
    shorter = probes(samples, tmp_path, probe_seconds=0.4)
    shorter._build = never
    assert shorter.measure(2, 200, 200) == probe
    longer = probes(samples, tmp_path, probe_seconds=0.6).measure(2, 200, 200)
    assert longer.fit_cpu == 0.6


def test_a_new_success_beyond_the_limit_is_what_its_replay_is(samples, tmp_path, monkeypatch):
    """The kernel ends a process after whole seconds, so a shorter limit needs a second look."""
    clock = itertools.count()
    monkeypatch.setattr(fitting, "process_time", lambda: next(clock))  # a busy host's may stand
    new = probes(samples, tmp_path, probe_seconds=0.5).measure(0, 100, 200)
    assert new.status == "timeout"
    assert new.cpu() == pytest.approx(0.5)
    assert probes(samples, tmp_path, probe_seconds=0.5).measure(0, 100, 200) == new


def test_a_recorded_success_beyond_the_limit_counts_as_a_time_out(samples, tmp_path):
    store = Store(tmp_path / "probes.sqlite")
    strict = probes(samples, tmp_path, probe_seconds=1.0)
    record = {"rows": 100, "test_rows": 200, "train_correct": 90, "test_correct": 150,
              "fit_cpu": 3.0, "fit_wall": 4.0, "limit": 3600.0}  # fmt: skip
    store.records(strict.key(0, 100, 200)).extend(lambda _: record)
    assert probes(samples, tmp_path).measure(0, 100, 200).test_correct == 150
    assert strict.measure(0, 100, 200) == Probe(
        rows=100, test_rows=200, fit_cpu=1.0, fit_wall=4 / 3, status="timeout",
        reason="over the limit of 1 s of CPU time",
    )  # fmt: skip


def test_a_probe_that_was_killed_is_not_recorded(samples, tmp_path):
    """The system kills for want of memory: the next attempt may fare better."""
    killed = probes(samples, tmp_path)
    killed._build = lambda _: os.kill(os.getpid(), signal.SIGKILL)
    probe = killed.measure(0, 100, 200)
    assert (probe.status, probe.reason) == (
        "crash", "killed by SIGKILL (the system does that when memory runs out)"
    )  # fmt: skip
    assert probes(samples, tmp_path).measure(0, 100, 200).status == "ok"


def test_folds_of_a_sample_hold_its_rows_and_no_others(samples, tmp_path):
    environment = probes(samples, tmp_path)
    found = [environment.measure_fold(0, 203, fold, 5) for fold in range(5)]

    assert all(each.rows + each.test_rows == 203 for each in found)
    assert sum(each.test_rows for each in found) == 203
    assert {each.status for each in found} == {"ok"}
    assert {each.right for each in found} == {""}


def test_a_fold_of_a_sample_is_replayed_and_is_no_probe_of_the_sample(samples, tmp_path):
    first = probes(samples, tmp_path).measure_fold(0, 100, 1, 5)
    again = probes(samples, tmp_path)
    again._build = again._given["build"] = never
    assert again.measure_fold(0, 100, 1, 5) == first
    others = [again.measure_fold(*asked) for asked in ((0, 101, 1, 5), (0, 100, 2, 5))]
    others += [again.measure_fold(0, 100, 1, 4), again.measure(0, first.rows, first.test_rows)]
    assert all("was run again" in each.reason for each in others)


def test_a_fold_that_crashes_says_so(samples, tmp_path):
    found = probes(samples, tmp_path).measure_fold(1, 200, 0, 5)
    assert (found.status, found.test_correct) == ("crash", 0)
    assert "more rows than I can take" in found.reason

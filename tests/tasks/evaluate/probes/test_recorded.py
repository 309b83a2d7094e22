"""Probes of real learners: recorded once, replayed exactly, on views of one array."""

from __future__ import annotations

import itertools
import os
import signal
import time

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from leaseboard.algorithms.environments.selecting import Probe
from leaseboard.tasks.evaluate.learners import candidates, classifiers
from leaseboard.tasks.evaluate.probes import recorded
from leaseboard.tasks.evaluate.probes.recorded import (
    OnPrefix,
    RecordedFolds,
    RecordedProbes,
    fit_and_test,
)
from leaseboard.tasks.evaluate.probes.sample_rows import Samples, Shuffled
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
        code="leaseboard.tasks.jobs.environments.samples",
        **kwargs,
    )


def never(*_):
    raise AssertionError("a stored probe was run again")


def test_samples_are_nested_views_and_never_meet_the_test_rows(samples):
    for features, labels in (samples.train(100), samples.test(50)):
        assert features.base is samples.features
        assert labels.base is samples.labels
        assert features.flags.c_contiguous
    small, large = samples.train(50)[0], samples.train(400)[0]
    assert np.shares_memory(small, large)
    assert not np.shares_memory(large, samples.test(200)[0])


def test_a_probe_is_replayed_exactly_without_making_the_array(samples, tmp_path):
    first = probes(samples, tmp_path).measure(0, 100, 200)
    assert first.status == "ok"
    again = probes(samples, tmp_path)
    again.build, again.split = never, split(never)
    assert again.measure(0, 100, 200) == first


def test_probes_of_other_data_or_options_are_their_own(samples, tmp_path):
    plain = probes(samples, tmp_path)
    keys = [
        plain.key(0, OnPrefix(100, 200)),
        plain.key(0, OnPrefix(200, 200)), plain.key(1, OnPrefix(100, 200)),
    ]  # fmt: skip
    assert all(one != another for one, another in itertools.combinations(keys, 2))


def test_a_crash_is_recorded_with_its_reason(samples, tmp_path):
    probe = probes(samples, tmp_path).measure(1, 200, 200)
    assert (probe.status, probe.reason) == ("crash", "ValueError: more rows than I can take")
    again = probes(samples, tmp_path)
    again.build = never
    assert again.measure(1, 200, 200) == probe
    assert probes(samples, tmp_path).measure(1, 50, 100).status == "ok"
    fold = probes(samples, tmp_path).measure_fold(1, 200, 0, 5)
    assert (fold.status, fold.test_correct, fold.reason) == ("crash", 0, probe.reason)


def test_a_fit_without_end_times_out_and_a_longer_limit_asks_again(samples, tmp_path):
    started = time.perf_counter()
    probe = probes(samples, tmp_path, probe_seconds=0.5).measure(2, 200, 200)
    assert probe.status == "timeout"
    assert probe.fit_cpu == 0.5
    assert time.perf_counter() - started < 300
    shorter = probes(samples, tmp_path, probe_seconds=0.4)
    shorter.build = never
    assert shorter.measure(2, 200, 200) == probe
    longer = probes(samples, tmp_path, probe_seconds=0.6).measure(2, 200, 200)
    assert longer.fit_cpu == 0.6


def test_a_new_success_beyond_the_limit_is_what_its_replay_is(samples, tmp_path, monkeypatch):
    """The kernel ends a process after whole seconds, so a shorter limit needs a second look."""
    clock = itertools.count()
    monkeypatch.setattr(recorded, "process_time", lambda: next(clock))  # a busy host's may stop
    new = probes(samples, tmp_path, probe_seconds=0.5).measure(0, 100, 200)
    assert new.status == "timeout"
    assert new.cpu() == pytest.approx(0.5)
    assert probes(samples, tmp_path, probe_seconds=0.5).measure(0, 100, 200) == new


def test_a_recorded_success_beyond_the_limit_counts_as_a_time_out(samples, tmp_path):
    store = Store(tmp_path / "probes.sqlite")
    strict = probes(samples, tmp_path, probe_seconds=1.0)
    record = {"rows": 100, "test_rows": 200, "train_correct": 90, "test_correct": 150,
              "fit_cpu": 3.0, "fit_wall": 4.0, "limit": 3600.0}  # fmt: skip
    store.records(strict.key(0, OnPrefix(100, 200))).extend(lambda _: record)
    assert probes(samples, tmp_path).measure(0, 100, 200).test_correct == 150
    assert strict.measure(0, 100, 200) == Probe(
        rows=100, test_rows=200, fit_cpu=1.0, fit_wall=4 / 3, status="timeout",
        reason="over the limit of 1 s of CPU time",
    )  # fmt: skip


def test_a_probe_that_was_killed_is_not_recorded(samples, tmp_path):
    """The system kills for want of memory: the next attempt may fare better."""
    killed = probes(samples, tmp_path)
    killed.build = lambda _: os.kill(os.getpid(), signal.SIGKILL)
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


def test_a_fold_of_a_sample_is_replayed_and_is_not_a_probe_of_the_sample(samples, tmp_path):
    first = probes(samples, tmp_path).measure_fold(0, 100, 1, 5)
    again = probes(samples, tmp_path)
    again.build = never
    assert again.measure_fold(0, 100, 1, 5) == first
    others = [again.measure_fold(*asked) for asked in ((0, 101, 1, 5), (0, 100, 2, 5))]
    others += [again.measure_fold(0, 100, 1, 4), again.measure(0, first.rows, first.test_rows)]
    assert all("was run again" in each.reason for each in others)


def test_a_probe_counts_what_the_model_gets_right(samples):
    probe = fit_and_test(DecisionTreeClassifier(max_depth=1), samples, 200, 100)
    model = DecisionTreeClassifier(max_depth=1).fit(*samples.train(200))
    assert probe.train_accuracy == model.score(*samples.train(200))
    assert probe.test_accuracy == model.score(*samples.test(100))
    assert probe.fit_cpu > 0
    assert fit_and_test(model, samples, 400, 200).train_correct is None  # not asked for


def test_predictions_of_another_shape_are_refused(samples):
    class Column(DecisionTreeClassifier):
        def predict(self, X):
            return super().predict(X)[:, np.newaxis]  # would be compared with every label

    with pytest.raises(ValueError, match=r"\(100, 1\) is predicted for labels \(100,\)"):
        fit_and_test(Column(), samples, 200, 100)


def test_a_sample_of_one_class_trains_the_constant(samples):
    labels = samples.labels.copy()
    labels[:60] = 1
    lopsided = Samples(features=samples.features, labels=labels, train_rows=400)
    probe = fit_and_test(LogisticRegression(), lopsided, 50, 100)
    assert probe.train_accuracy == 1.0
    assert probe.test_correct == np.count_nonzero(lopsided.test(100)[1] == 1)


def test_a_class_that_a_small_sample_misses_harms_no_learner(samples):
    labels = samples.labels.copy()
    labels[300::7] = 2
    rare = Samples(features=samples.features, labels=labels, train_rows=400)
    for drawn in candidates.draw_configurations("bounded", 5, seed=2):
        parameters = {**drawn, "steps": 20} if "steps" in drawn else drawn
        probe = fit_and_test(classifiers.build(parameters, seed=1), rare, 250, 200)
        assert 0 < probe.test_correct < 200, parameters


DEPTHS = [{"max_depth": 1}, {"max_depth": 3}]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    features = rng.random((203, 3))
    labels = np.where(features[:, 0] + features[:, 1] > 1.6, "rare", "common")
    return features, labels


def folds(rows, test_fraction=0.0, store=None, build=DecisionTreeClassifier, **options):
    features, labels = rows
    test_rows = round(len(labels) * test_fraction)
    made = Samples(features=features, labels=labels, train_rows=len(labels) - test_rows)
    split = Shuffled(
        digest="test", n_rows=len(labels), seed=0, test_fraction=test_fraction, make=lambda: made
    )
    return RecordedFolds(
        split, DEPTHS, lambda given: build(**given, random_state=0), store,
        folds=5, code="leaseboard.tasks.jobs.environments.folds", **options,
    )  # fmt: skip


def in_fold(environment, fold):
    return environment._fold(environment._asked(fold))[1]


def test_each_row_is_tested_once_and_each_class_in_its_share(rows):
    environment = folds(rows, probe_seconds=None)
    probes = [environment.measure(0, fold) for fold in range(5)]
    assert sum(probe.test_rows for probe in probes) == 203
    assert all(probe.rows + probe.test_rows == 203 for probe in probes)
    assert all(len(probe.right) == probe.test_rows for probe in probes)
    assert all(probe.right.count("1") == probe.test_correct for probe in probes)
    rare = [int((rows[1][in_fold(environment, fold)] == "rare").sum()) for fold in range(5)]
    assert max(rare) - min(rare) <= 1
    assert environment.held_out(0) is None


def test_verdicts_are_of_the_same_rows_for_everyone(rows):
    environment = folds(rows, probe_seconds=None)
    one, other = (environment.measure(configuration, 2) for configuration in (0, 1))
    assert one.right != other.right
    features, labels = rows
    mine = in_fold(environment, 2)
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    model.fit(np.delete(features, mine, axis=0), np.delete(labels, mine))
    assert other.right == "".join(
        "01"[int(v)] for v in model.predict(features[mine]) == labels[mine]
    )


def test_rows_held_out_are_in_no_fold_and_a_probe_is_recorded_once(rows, tmp_path):
    store = Store(tmp_path / "folds.sqlite")
    environment = folds(rows, test_fraction=0.2, probe_seconds=None, store=store)
    found = [environment.measure(0, fold) for fold in range(5)]
    assert sum(each.test_rows for each in found) == 162
    assert environment.held_out(1).test_rows == 41
    again = folds(rows, test_fraction=0.2, probe_seconds=None, store=store, build=never)
    assert again.measure(0, 3) == found[3]


def test_in_parallel_it_answers_alike(rows):
    serial, parallel = folds(rows, probe_seconds=None), folds(rows, n_jobs=2)
    wanted = [(configuration, fold) for configuration in (0, 1) for fold in (0, 1)]
    parallel.prefetch(wanted)
    assert {(c, asked.fold) for c, asked in parallel._seen} == set(wanted)
    for asked in wanted:
        assert parallel.measure(*asked).right == serial.measure(*asked).right

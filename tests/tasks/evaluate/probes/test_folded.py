"""Folds of real learners: every row is tested once, recorded, and in parallel alike."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from leaseboard.tasks.evaluate.probes.folded import RecordedFolds
from leaseboard.tasks.evaluate.probes.split import OwnRows, Shuffled
from leaseboard.tasks.store.recorded import Store

CONFIGURATIONS = [{"max_depth": 1}, {"max_depth": 3}]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    features = rng.random((203, 3))
    labels = np.where(features[:, 0] + features[:, 1] > 1.6, "rare", "common")
    return features, labels


def folds(rows, test_fraction=0.0, store=None, build=DecisionTreeClassifier, **options):
    features, labels = rows
    test_rows = round(len(labels) * test_fraction)
    made = OwnRows(features=features, labels=labels, train_rows=len(labels) - test_rows)
    split = Shuffled(
        digest="test", n_rows=len(labels), seed=0, test_fraction=test_fraction, make=lambda: made
    )
    return RecordedFolds(
        split, CONFIGURATIONS, lambda given: build(**given, random_state=0), store,
        folds=5, code="leaseboard.tasks.jobs.benches.folds", **options,
    )  # fmt: skip


def never(**_):
    raise AssertionError("what is stored was run again")


def test_each_row_is_tested_once_and_each_class_in_its_share(rows):
    environment = folds(rows, probe_seconds=None)
    probes = [environment.measure(0, fold) for fold in range(5)]
    assert sum(probe.test_rows for probe in probes) == 203
    assert all(probe.rows + probe.test_rows == 203 for probe in probes)
    assert all(len(probe.right) == probe.test_rows for probe in probes)
    assert all(probe.right.count("1") == probe.test_correct for probe in probes)
    rare = [int((rows[1][environment._fold == fold] == "rare").sum()) for fold in range(5)]
    assert max(rare) - min(rare) <= 1
    assert environment.held_out(0) is None


def test_verdicts_are_of_the_same_rows_for_everyone(rows):
    environment = folds(rows, probe_seconds=None)
    one, other = (environment.measure(configuration, 2) for configuration in (0, 1))
    assert one.right != other.right
    features, labels = rows
    mine = environment._fold == 2
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(features[~mine], labels[~mine])
    assert other.right == "".join(
        "01"[int(v)] for v in model.predict(features[mine]) == labels[mine]
    )


def test_rows_held_out_are_in_no_fold(rows):
    environment = folds(rows, test_fraction=0.2, probe_seconds=None)
    assert sum(environment.measure(0, fold).test_rows for fold in range(5)) == 162
    assert environment.held_out(1).test_rows == 41


def test_a_probe_is_recorded_once(rows, tmp_path):
    store = Store(tmp_path / "folds.sqlite")
    first = folds(rows, store=store).measure(1, 3)
    assert folds(rows, store=store, build=never).measure(1, 3) == first


def test_in_parallel_it_answers_alike(rows):
    serial, parallel = folds(rows, probe_seconds=None), folds(rows, n_jobs=2)
    wanted = [(configuration, fold) for configuration in (0, 1) for fold in (0, 1)]
    parallel.foresee(wanted)
    assert set(parallel._seen) == set(wanted)
    for asked in wanted:
        assert parallel.measure(*asked).right == serial.measure(*asked).right

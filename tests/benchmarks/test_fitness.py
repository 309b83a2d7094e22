"""The benchmark of unfit pipelines: its table, its records, its exit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks import fitness, fitness_pipelines
from leaseboard.algorithms.abc_selection.selection import ABC
from leaseboard.tasks.evaluate.learners.pipelines import named
from leaseboard.tasks.store.recorded import Store

PIPELINES = {
    "majority": DummyClassifier(),
    "leaves of 100": DecisionTreeClassifier(min_samples_leaf=100, random_state=0),
}


@pytest.fixture
def environment(tmp_path):
    """Return rows of the table of slices and two pipelines."""
    store = Store(tmp_path / "fits.sqlite")
    table = fitness.load(fitness.SLICES, [])
    return lambda: fitness.Recorded(table, named(PIPELINES), 20_000, 0, store)


def test_a_fit_is_recorded_with_all_its_hits(environment, monkeypatch):
    first = environment().measure(1, 1000, 4000)
    monkeypatch.setattr(fitness.Recorded, "_run", None)  # another fit fails
    again = environment()
    assert again.measure(1, 1000, 4000) == first
    assert again.measure(1, 1000, 2000).test_cpu == pytest.approx(first.test_cpu / 2)
    assert 0 < first.half_correct < first.train_correct < 1000


def test_hits_are_those_of_scikit_learn(environment):
    made = environment()
    order, table = made._order, made._table
    model = PIPELINES["leaves of 100"].fit(
        table.features[order[:2000]], table.labels[order[:2000]]
    )
    right = model.predict(table.features[order]) == table.labels[order]
    probe = made.measure(1, 2000, 4000)
    assert probe.train_correct == np.count_nonzero(right[:2000])
    assert probe.half_correct == np.count_nonzero(right[:1000])
    assert probe.test_correct == np.count_nonzero(right[16_000:])


def test_the_tree_that_fits_no_sample_is_found(environment):
    run = fitness.select(environment(), ABC(delta=0.05))
    assert run.loss == 0
    assert run.speedup > 0


def test_all_pipelines_are_classifiers():
    assert len(named(fitness.SETS["both"]("")).estimators) == 15


def test_an_adversarial_draw_has_pipelines_that_get_worse_in_front_of_others():
    worse = set(fitness_pipelines.worse_with_rows())
    for draw in map(str, range(20)):
        names = list(named(fitness.SETS["adversarial"](draw)).estimators)
        assert names == list(fitness.SETS["adversarial"](draw))
        assert names[0] in worse
        assert 2 <= len(set(names) - worse) <= 4


def test_one_that_fades_loses_the_share_of_its_rows():
    rng = np.random.default_rng(0)
    X = rng.random((32_000, 3)).astype(np.float32)
    y = np.array(["high", "low"])[(X[:, 0] < 0.5).astype(int)]
    fading = fitness_pipelines.Fading((0.0, 0.1, 0.3))
    for rows, right in ((500, 1.0), (2000, 0.9), (4000, 0.8), (8000, 0.7), (32_000, 0.7)):
        assert fading.fit(X[:rows], y[:rows]).score(X, y) == pytest.approx(right, abs=0.01)


def test_a_heavy_tail_is_one_more_feature_of_the_same_rows():
    table = fitness.load(fitness.NORMALS, [])
    tailed = fitness.with_heavy_tail(table)
    assert (tailed.features[:, :2] == table.features).all()
    spread = [np.abs(tailed.features[table.labels == label, 2]).max() for label in (0, 1)]
    assert spread[0] > 1000 * spread[1]
    assert (fitness.with_heavy_tail(table).features == tailed.features).all()


@pytest.mark.parametrize(("loss", "code"), [(0.0, 0), (0.5, 1)])
def test_more_losses_than_delta_allows_exit_with_1(monkeypatch, capsys, tmp_path, loss, code):
    monkeypatch.setattr(fitness, "select", lambda *_: fitness.Run(loss, 3.0, 1.0))
    arguments = [fitness.SLICES, "--seeds", "4", "--store", str(tmp_path / "fits.sqlite")]
    assert fitness.main(arguments) == code
    assert "of 4 runs above epsilon" in capsys.readouterr().out


def test_an_unknown_table_is_refused(capsys):
    with pytest.raises(SystemExit):
        fitness.main(["tiger"])
    assert "no table tiger" in capsys.readouterr().err

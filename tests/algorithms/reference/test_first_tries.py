"""The best of what a person tries first."""

import numpy as np
import pytest

from leaseboard.algorithms import plain, registry
from leaseboard.algorithms.benches.stream import Namespace, Stream, StreamBench
from leaseboard.algorithms.reference.naive import NAIVE_BASELINES, Baselines, best_baseline


def bench(labels, features=None, budget=None, task="regression"):
    labels = np.asarray(labels, np.float32)
    x = np.zeros((len(labels), 1), np.float32) if features is None else features
    return StreamBench(Stream(x, labels, (Namespace("a", 0, 1),), ("x",), task), budget=budget)


def test_they_are_the_registered_ones():
    assert {name: type(registry.build(name)) for name in NAIVE_BASELINES} == NAIVE_BASELINES


def test_the_one_that_loses_least_is_named_with_its_loss():
    random = np.random.default_rng(0)
    walk, noise = random.normal(size=(2, 500)).cumsum(axis=1)[0], random.normal(size=500)
    x, noise_in = random.normal(size=(2, 500, 1)).astype(np.float32)

    assert best_baseline(bench(walk))[0] == "last-label"
    assert best_baseline(bench(noise, noise_in))[0] == "running-mean"
    assert best_baseline(bench(3 * x[:, 0], x))[0] == "online-ridge"
    assert best_baseline(bench(np.tile(random.normal(size=20), 25)))[0] == "seasonal-last"
    name, loss = best_baseline(bench([1, 2, 4, 9], budget=3))
    assert (name, loss) == ("last-label", pytest.approx(2.0))


def test_classes_are_compared_by_their_errors():
    name, loss = best_baseline(bench([1, 1, 1, -1, -1, -1], task="classification"))

    assert name == "last-label"
    assert loss == pytest.approx(2 / 6)


def test_the_bench_itself_is_left_alone():
    own = bench([1, 2, 3])
    best_baseline(own)

    assert own.at == 0


def test_ridge_takes_part_whatever_the_number_of_features():
    x = np.random.default_rng(0).normal(size=(300, 4097)).astype(np.float32)
    spaces, names = (Namespace("a", 0, x.shape[1]),), tuple(map(str, range(x.shape[1])))
    found = best_baseline(StreamBench(Stream(x, x[:, 7], spaces, names, "regression", None, ())))

    assert found is not None
    assert found[0] == "online-ridge on selected features"


def rows_of(rng, n, width):
    return {f"x{k}": column for k, column in enumerate(rng.normal(size=(width, n)))}


@pytest.mark.parametrize("width", [30, 1100])
def test_baselines_that_were_saved_learn_on_as_classes_come(width, tmp_path):
    rng = np.random.default_rng(0)
    tables = [rows_of(rng, 60, width) for _ in range(4)]
    labels = [rng.choice(names, 60) for names in (["a", "b"], [*"abc"], [*"abc"], [*"cabd"])]
    kept, saved = Baselines("classification"), Baselines("classification")

    for table, named in zip(tables, labels, strict=True):
        plain.write(tmp_path / "model", saved.state(), "m")
        saved = Baselines.restored(plain.read(tmp_path / "model", "m"))
        told = saved.learn(table, named)
        assert told == kept.learn(table, named)
        ridge = "online-ridge" if width < 1000 else "online-ridge on selected features"
        assert set(told) == {*NAIVE_BASELINES} - {"online-ridge"} | {ridge}


def test_ridge_that_begins_anew_says_from_which_row_on(tmp_path):
    rng = np.random.default_rng(0)
    baselines = Baselines("regression")
    told = [
        baselines.learn(rows_of(rng, 50, width), rng.normal(size=50)) for width in (1024, 1025)
    ]
    baselines = Baselines.restored(baselines.state())
    told.append(baselines.learn(rows_of(rng, 50, 1025), rng.normal(size=50)))

    assert "online-ridge" in told[0]
    assert all("online-ridge on selected features from row 51 on" in each for each in told[1:])
    assert all("running-mean" in each for each in told)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_those_that_learn_with_a_model_say_that_ridge_is_on_selected_features(task):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=20) if task == "regression" else rng.choice([*"ab"], 20)
    assert "online-ridge" in Baselines(task).learn(rows_of(rng, 20, 4), labels)
    assert "online-ridge on selected features" in Baselines(task).learn(
        rows_of(rng, 20, 1025), labels
    )

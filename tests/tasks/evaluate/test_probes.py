"""From a dataset to samples, and probes on them."""

import itertools
import os
import signal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.evaluate import learners
from leaseboard.tasks.evaluate.probes import RecordedProbes, Samples, Shuffled, split
from leaseboard.tasks.fetch.dataset import Dataset
from leaseboard.tasks.store.database import Store


class Tree(DecisionTreeClassifier):
    """A tree that misbehaves on more than a hundred rows where its configuration says so."""

    def __init__(self, max_depth=2, behaviour=""):
        super().__init__(max_depth=max_depth, random_state=0)
        self.behaviour = behaviour

    def fit(self, X, y):
        if self.behaviour == "crash" and len(y) > 100:
            raise ValueError("more rows than I can take")
        while self.behaviour == "hang" and len(y) > 100:
            pass
        return super().fit(X, y)


def by(build):
    """Return the builder of a suite's configurations."""
    return lambda parameters: build(**parameters)


def never(**_):
    raise AssertionError("a stored probe was run again")


def shuffled(samples, test_rows):
    share = test_rows / len(samples.labels)
    return Shuffled(digest="d", labels=samples.labels, seed=0, test_fraction=share, encode=None,
                    made=samples)  # fmt: skip


@pytest.fixture(scope="module")
def samples():
    """Return rows whose labels follow from one feature."""
    features = np.random.default_rng(0).random((600, 3), dtype=np.float32)
    labels = (features[:, 0] > 0.5).astype(np.int32)
    return Samples(features=features, labels=labels, train_rows=400)


BEHAVIOURS = [{}, {"behaviour": "crash"}, {"behaviour": "hang"}]


@pytest.fixture
def probes(samples, tmp_path):
    def make(configurations=BEHAVIOURS, build=Tree, samples=samples, store=True, **given):
        place = Store(tmp_path / "probes.sqlite") if store else None
        return RecordedProbes(shuffled(samples, 200), configurations, by(build), place, **given)

    return make


def test_a_probe_counts_what_the_model_gets_right_and_is_replayed(samples, probes):
    first = probes(probe_seconds=None).measure(0, 200, 100)
    model = Tree().fit(*samples.train(200))

    assert first.train_accuracy == model.score(*samples.train(200))
    assert first.test_accuracy == model.score(*samples.test(100))
    assert first.fit_cpu > 0
    assert probes(build=never, probe_seconds=None).measure(0, 200, 100) == first
    assert probes().measure(0, 400, 200).train_correct is None  # not asked for at full size


def test_probes_of_other_data_options_or_limits_are_their_own(probes):
    plain = probes()
    asked = (0, 100, 200), (0, 200, 200), (1, 100, 200)
    keys = [plain.key(*each) for each in asked]
    keys.append(probes(probe_seconds=1.0).key(*asked[0]))

    assert all(one != another for one, another in itertools.combinations(keys, 2))


def test_a_crash_is_recorded_with_its_reason(probes):
    probe = probes().measure(1, 200, 200)

    assert (probe.status, probe.reason) == ("crash", "ValueError: more rows than I can take")
    assert probes(build=never).measure(1, 200, 200) == probe
    assert probes().measure(1, 50, 100).status == "ok"


def test_a_fit_without_end_times_out(probes):
    probe = probes(probe_seconds=0.3).measure(2, 200, 200)

    assert (probe.status, probe.fit_cpu) == ("timeout", 0.3)
    assert probes(build=never, probe_seconds=0.3).measure(2, 200, 200) == probe


def test_a_probe_that_was_killed_is_not_recorded(probes):
    """The system kills for want of memory: the next attempt may fare better."""
    here = os.getpid()
    killed = probes(build=lambda: os.getpid() == here or os.kill(os.getpid(), signal.SIGKILL))
    probe = killed.measure(0, 100, 200)

    assert (probe.status, probe.reason) == (
        "crash", "killed by SIGKILL (the system does that when memory runs out)"
    )  # fmt: skip
    assert probes().measure(0, 100, 200).status == "ok"


def test_a_sample_of_one_class_trains_the_constant(samples, probes):
    labels = samples.labels.copy()
    labels[:400] = 1
    lopsided = Samples(features=samples.features, labels=labels, train_rows=400)
    given = {"samples": lopsided, "build": LogisticRegression, "store": False}
    probe = probes(**given, probe_seconds=None).measure(0, 50, 100)

    assert probe.train_accuracy == 1.0
    assert probe.test_correct == np.count_nonzero(lopsided.test(100)[1] == 1)


def test_a_class_that_a_small_sample_misses_harms_no_learner(samples, probes):
    labels = samples.labels.copy()
    labels[300::7] = 2
    rare = Samples(features=samples.features, labels=labels, train_rows=400)
    drawn = learners.draw_configurations(5, seed=2)
    drawn = [{**each, "steps": 20} if "steps" in each else each for each in drawn]
    given = {"build": lambda **each: learners.build(each, seed=1), "samples": rare}
    found = probes(drawn, **given, store=False, probe_seconds=None)

    for number in range(5):
        assert 0 < found.measure(number, 250, 200).test_correct < 200, drawn[number]


def dataset(features, target, task="classification"):
    target = pd.Series(target, dtype="category" if task == "classification" else float)
    return Dataset(
        reference="file:made.csv", name="made", features=pd.DataFrame(features), target=target,
        task=task, digest="d", source="", licence="",
    )  # fmt: skip


CLASSES = ["a", "b"] * 50


def test_rows_are_shuffled_split_and_kept_together():
    made = dataset({"x": np.arange(100), "y": -np.arange(100.0)}, CLASSES)
    samples = split(made, seed=1, test_fraction=0.2).samples
    small, large, test = samples.train(20)[0], samples.train(80)[0], samples.test(20)[0]
    assert samples.train_rows == 80
    assert samples.features.dtype == np.float32
    assert np.shares_memory(small, large)  # samples are nested views
    assert not np.shares_memory(large, test)
    assert test.flags.c_contiguous
    assert not np.array_equal(np.sort(samples.features[:, 0]), samples.features[:, 0])
    x, y = samples.features.T
    assert np.allclose(np.diff(x) * np.diff(y) < 0, True)  # y falls as x rises, in every row


def test_what_cannot_be_sampled_is_refused():
    for features, target, task, message in (
        ({"x": [1.0, 2.0, 3.0]}, [1.0, 2.0, 3.0], "regression", "threshold"),
        ({"x": [1.0, np.inf, 3.0]}, ["a", "b", "a"], "classification", "finite in 32 bits"),
        ({"x": ["long", "text", "here"]}, ["a", "b", "a"], "classification", "free text"),
        ({"x": [1.0, 2.0]}, ["a", "b"], "classification", "too few"),
    ):
        with pytest.raises(DataError, match=message):
            _ = split(dataset(features, target, task), seed=0, test_fraction=0.2).samples


@given(
    counts=st.lists(st.integers(1, 30), min_size=2, max_size=6),
    rows=st.integers(1, 40),
    seed=st.integers(0, 10),
    kind=st.sampled_from(("array", "frame", "sparse")),
)
def test_every_sample_is_fitted_with_every_class_and_counted_without(counts, rows, seed, kind):
    """As many classes as training rows have, however rare; samples with these rows are nested."""
    labels = np.repeat(np.arange(len(counts)), counts)
    np.random.default_rng(seed).shuffle(labels)
    numbers = np.arange(len(labels), dtype=float)[:, None]
    features = {"array": np.array, "frame": pd.DataFrame, "sparse": sparse.csr_matrix}[kind](
        numbers
    )
    train_rows = max(1, len(labels) - 3)
    samples = Samples(features=features, labels=labels, train_rows=train_rows)
    rows = min(rows, train_rows)

    def fitted(rows):
        X, y = samples.fitted_on(rows)
        X = X.toarray() if kind == "sparse" else np.asarray(X)
        assert np.array_equal(labels[X[:, 0].astype(int)], y)  # rows keep their labels
        return X[:, 0].astype(int).tolist()

    chosen = fitted(rows)
    assert chosen[:rows] == list(range(rows))
    assert set(labels[chosen]) == set(labels[:train_rows])
    assert len(chosen) - rows == len(set(labels[:train_rows]) - set(labels[:rows]))
    assert len(samples.train(rows)[1]) == rows  # what is counted
    assert set(chosen) <= set(fitted(min(2 * rows, train_rows)))
    assert fitted(train_rows) == list(range(train_rows))

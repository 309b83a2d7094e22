"""Threads that share a model get what one thread gets, or are refused."""

import copy
import os
import pickle
import signal
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from leaseboard.algorithms.apple.classifier import PolynomialExpansionClassifier
from leaseboard.algorithms.apple.estimator import PolynomialExpansionRegressor
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.scikit import StreamClassifier, StreamRegressor
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
    learn_streams,
)

N, BLOCK, THREADS = 600, 20, 4


@pytest.fixture(autouse=True)
def busy():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def stream(n=N, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] + X[:, 2]).astype(np.float32)


X, Y = stream()
BLOCKS = [X[start : start + BLOCK] for start in range(0, 8 * BLOCK, BLOCK)]


def text(block):
    return pd.DataFrame(block, columns=list("abcde")).assign(t="u")


def regressor(algorithm="online-automl"):
    model = OnlineAutoMLRegressor(algorithm=algorithm)
    model.learn_many(X, Y)
    return model


def classifier(edges, n=N):
    model = OnlineAutoMLClassifier()
    model.learn_many(X[:n], np.digitize(Y[:n], edges).tolist())
    return model


def saved(path):
    regressor().save(path)
    return OnlineAutoMLRegressor.load(path)


def with_text():
    model = OnlineAutoMLRegressor()
    model.learn_many(text(X), Y)
    return model


def apple(kind, target):
    return kind(passes=1, learning_rate=0.5, random_state=0).fit(sparse.csr_array(X), target)


MODELS = {
    "online-automl": regressor,
    "published": partial(regressor, "chacha"),
    "two classes": partial(classifier, [0]),
    "three classes": partial(classifier, [-1, 1]),
    "text": with_text,
    "unpickled": lambda: pickle.loads(pickle.dumps(regressor())),
    "sklearn": lambda: StreamRegressor().fit(X, Y),
    "sklearn classes": lambda: StreamClassifier().fit(X, Y > 0),
    "apple": lambda: apple(PolynomialExpansionRegressor, Y),
    "apple classes": lambda: apple(PolynomialExpansionClassifier, np.digitize(Y, [-1, 1])),
}


def one(name):
    return lambda model, block: getattr(model, name)(
        dict(enumerate(np.asarray(block)[0].tolist()))
    )


def many(name, made=lambda block: block):
    return lambda model, block: getattr(model, name)(made(block))


NUMBERS = [
    *map(
        one,
        (
            "predict_one",
            "predict_interval_one",
            "predict_delayed_one",
            "predict_delayed_interval_one",
        ),
    ),
    *map(many, ("predict_many", "predict_interval_many")),
]
PUBLISHED = [*map(one, ("predict_one", "predict_delayed_one")), many("predict_many")]
CHANCES = [
    *map(one, ("predict_one", "predict_proba_one")),
    *map(many, ("predict_many", "predict_proba_many")),
]
USES = {
    "online-automl": NUMBERS,
    "published": PUBLISHED,
    "two classes": CHANCES,
    "three classes": CHANCES,
    "text": [many("predict_many", text)],
    "unpickled": NUMBERS,
    "sklearn": [many("predict")],
    "sklearn classes": [many("predict"), many("predict_proba")],
    "apple": [many("predict", sparse.csr_array)],
    "apple classes": [
        many(name, sparse.csr_array) for name in ("predict", "predict_proba", "decision_function")
    ],
}


def asked(count, ask):
    """Return what threads that begin together get; raise what one of them raises."""
    begin = threading.Barrier(count)

    def work(thread):
        begin.wait(timeout=240)
        return ask(thread)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_threads_that_predict_get_what_one_gets():
    wrong = {}
    for kind, make in MODELS.items():
        model, uses = make(), USES[kind]
        alone = copy.deepcopy(model)
        wanted = [(use, b, pickle.dumps(use(alone, b))) for use in uses for b in BLOCKS]

        def ask(thread, model=model, wanted=wanted):
            places = [(n * (1 + 2 * thread)) % len(wanted) for n in range(150)]
            return sum(
                pickle.dumps(use(model, block)) != right
                for use, block, right in map(wanted.__getitem__, places)
            )

        if any(asked(THREADS, ask)):
            wrong[kind] = "another answer"
    assert wrong == {}


LEARNING = {
    "one": lambda model, i: model.learn_one(dict(enumerate(X[i].tolist())), target(model, i)),
    "block": lambda model, i: model.predict_then_learn_many(X[i : i + 3], [target(model, i)] * 3),
    "news": lambda model, i: model.learn_one({i % 5: 1.0, f"n{i // 9}": 2.0}, target(model, i)),
}


def target(model, i):
    return float(Y[i]) if isinstance(model, OnlineAutoMLRegressor) else f"c{i % 3 + i // 15}"


# Each is a call of its own: between two of them another thread may learn.
LOOKS = [
    lambda model, _: repr(model.live),
    lambda model, _: repr(model.champion),
    lambda model, _: repr(model.groups),
    lambda model, _: len(model.history),
]


def copied(model, block):
    double = copy.deepcopy(model)
    return double.examples, double.predict_many(block)


@pytest.mark.parametrize(
    ("kind", "learning"),
    [
        ("online-automl", "one"),
        ("published", "block"),
        ("two classes", "news"),
        ("unpickled", "block"),
    ],
)
def test_one_that_learns_meanwhile_is_seen_before_or_after_a_call(kind, learning, tmp_path):
    uses, block = [*USES[kind], copied, *LOOKS], pd.DataFrame(BLOCKS[1])
    model, alone = MODELS[kind](), MODELS[kind]()
    known, turns = {use: [] for use in uses}, 40
    for i in range(turns + 1):
        for use in uses:
            known[use].append(pickle.dumps(use(alone, block)))
        if i < turns:
            LEARNING[learning](alone, i)
    ended = threading.Event()

    def learn():
        try:
            for i in range(turns):
                LEARNING[learning](model, i)
        finally:
            ended.set()

    def ask(thread):
        if not thread:
            return learn()
        wrong = 0
        while not ended.is_set():
            for use in uses[thread::2] + uses:
                try:
                    wrong += pickle.dumps(use(model, block)) not in known[use]
                except UsageError as error:
                    wrong += "in the middle of learning" not in str(error)
        return wrong

    assert asked(THREADS, ask) == [None] + [0] * (THREADS - 1)
    for path, one_of_both in (("model", model), ("alone", alone)):
        one_of_both.save(tmp_path / path)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "alone").read_bytes()


def test_all_that_threads_learn_is_learned():
    model = regressor()

    def learn(thread):
        learned = 0
        for i in range(100):
            try:
                model.learn_one(dict(enumerate(X[i].tolist())), float(thread))
                learned += 1
            except UsageError:
                continue
        return learned

    assert N + sum(asked(THREADS, learn)) == model.examples


@pytest.mark.parametrize("kind", [PolynomialExpansionRegressor, PolynomialExpansionClassifier])
def test_apple_is_seen_before_or_after_a_call(kind):
    labels = Y if kind is PolynomialExpansionRegressor else np.digitize(Y, [-1, 1])
    model = kind(learning_rate=0.5, batch=40)
    rows = sparse.csr_array(X)
    model.partial_fit(rows[:200], labels[:200])
    alone, known = copy.deepcopy(model), []
    for i in range(40):
        known.append(pickle.dumps(alone.predict(rows)))
        known.append(pickle.dumps(pickle.loads(pickle.dumps(alone)).predict(rows)))
        alone.partial_fit(rows[5 * i : 5 * i + 5], labels[5 * i : 5 * i + 5])
    known.append(pickle.dumps(alone.predict(rows)))
    ended = threading.Event()

    def ask(thread):
        if not thread:
            for i in range(40):
                model.partial_fit(rows[5 * i : 5 * i + 5], labels[5 * i : 5 * i + 5])
            return ended.set()
        wrong = 0
        while not ended.is_set():
            made = copy.deepcopy(model) if thread == 1 else model
            wrong += pickle.dumps(made.predict(rows)) not in known
        return wrong

    assert asked(THREADS, ask) == [None] + [0] * (THREADS - 1)
    assert pickle.dumps(model.predict(rows)) == pickle.dumps(alone.predict(rows))


class Slow(Mapping):
    """An example that waits to be read."""

    def __init__(self, reads, go_on):
        self.reads, self.go_on = reads, go_on

    def __iter__(self):
        self.reads.set()
        assert self.go_on.wait(timeout=240)
        return iter(range(5))

    def __len__(self):
        return 5

    def __getitem__(self, key):
        return 1.0


def test_a_fork_predicts_while_a_thread_does():
    model = regressor()
    x = dict.fromkeys(range(5), 1.0)
    wanted = model.predict_one(x)
    reads, forked = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as other:
        found = other.submit(model.predict_one, Slow(reads, forked))
        assert reads.wait(timeout=240)
        child = os.fork()
        if not child:
            signal.alarm(240)  # ends it where it would wait for good
            os._exit(model.predict_one(x) != wanted)
        forked.set()
        assert found.result(timeout=240) == wanted
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_many_streams_keep_the_lock_of_a_model():
    model = regressor()
    lock = model._lock

    class Nodes:
        def map(self, step, /, *shards):
            return [pickle.loads(pickle.dumps(step(*part))) for part in zip(*shards, strict=True)]

    learn_streams([model], [(X[:50], Y[:50])], nodes=Nodes())

    assert model._lock is lock
    assert model.examples == N + 50

"""An unpickled model is built when it is asked for anything, and is then as any other."""

import copy
import io
import os
import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
    files,
)


def stream(n=250):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] + X[:, 2]).astype(np.float32)


def learned(kind=OnlineAutoMLRegressor, **settings):
    X, y = stream()
    model = kind(**settings)
    model.learn_many(X, y if kind is OnlineAutoMLRegressor else np.digitize(y, [-1, 1]).tolist())
    if kind is OnlineAutoMLRegressor:
        model.predict_one({0: 1.0}, id="waits")
    return model


def unpickled(model):
    double = pickle.loads(pickle.dumps(model))
    assert list(vars(double)) == ["_asleep", "_lock"]
    return double


def saved(model, path):
    model.save(path)
    return path.read_bytes()


USES = {
    "predict_one": lambda model: model.predict_one({0: 1.0, 1: 2.0}),
    "predict_many": lambda model: model.predict_many(stream(5)[0]).tolist(),
    "predict_one with an id": lambda model: model.predict_one({0: 1.0}, id=7),
    "examples": lambda model: model.examples,
    "n_pending": lambda model: (model.n_pending, model.n_dropped),
    "champion": lambda model: model.champion,
    "live": lambda model: model.live,
    "groups": lambda model: model.groups,
    "history": lambda model: repr(model.history),
    "settings": lambda model: (model.settings, model.seed, model.algorithm),
    "about": lambda model: model.about,
}


@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
@pytest.mark.parametrize("use", [None, *USES])
def test_any_first_call_finds_the_same_model(use, kind, tmp_path):
    model = learned(kind)
    double = unpickled(unpickled(model))  # twice, never built

    if use is not None:
        assert USES[use](double) == USES[use](model)
    assert saved(double, tmp_path / "double") == saved(model, tmp_path / "model")
    X, y = stream()
    for one in (model, double):
        one.learn_many(X, y if kind is OnlineAutoMLRegressor else (y > 0).tolist())
    assert saved(double, tmp_path / "double") == saved(model, tmp_path / "model")


@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
def test_no_class_has_what_a_model_has(kind):
    # what the class has, an unpickled model would take for its own without being built
    assert [name for name in vars(learned(kind)) if hasattr(kind, name)] == []


def test_what_is_set_before_it_is_built_stays():
    model = unpickled(learned())
    model.about = {"shop": "north"}

    assert model.examples == 250
    assert model.about == {"shop": "north"}


def test_what_is_set_before_it_is_built_is_pickled_too():
    model = unpickled(learned())
    model.about = {"shop": "north"}

    again = unpickled(pickle.loads(pickle.dumps(model)))
    assert (again.about, again.examples) == ({"shop": "north"}, 250)


def test_a_fork_builds_models_while_a_thread_does(monkeypatch):
    content = pickle.dumps(learned(algorithm="chacha", b=3))
    builds, forked = threading.Event(), threading.Event()

    class Slow:
        dumps, HIGHEST_PROTOCOL = pickle.dumps, pickle.HIGHEST_PROTOCOL

        @staticmethod
        def loads(state):
            if threading.current_thread() is not threading.main_thread():
                builds.set()
                forked.wait(timeout=240)
            return pickle.loads(state)

    monkeypatch.setattr(files, "pickle", Slow)
    with ThreadPoolExecutor(1) as other:
        busy = other.submit(lambda: pickle.loads(content).examples)
        assert builds.wait(timeout=240)
        child = os.fork()
        if not child:
            signal.alarm(30)  # ends it where it would wait for good
            os._exit(pickle.loads(content).examples != 250)
        forked.set()
        assert busy.result(timeout=240) == 250
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_no_model_has_it_has_not_either():
    model = unpickled(learned())

    assert not hasattr(model, "__array__")
    assert list(vars(model)) == ["_asleep", "_lock"]
    for one in (model, copy.deepcopy(model), OnlineAutoMLRegressor()):
        with pytest.raises(
            AttributeError, match="'OnlineAutoMLRegressor' object has no attribute 'x'"
        ):
            _ = one.x


def test_an_interrupt_while_a_learner_is_built_leaves_it_unchanged(monkeypatch):
    model = learned()
    double = unpickled(model)
    with monkeypatch.context() as patched:
        patched.setattr(files, "pickle", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            double.predict_one({0: 1.0})

    assert double.predict_one({0: 1.0}) == model.predict_one({0: 1.0})


class Interrupted:
    @staticmethod
    def loads(_):
        raise KeyboardInterrupt


def test_threads_that_ask_at_once_find_one_model():
    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):
            model = unpickled(learned(algorithm="chacha", b=3))
            races = set(map(id, threads.map(lambda _, m=model: m._race, range(8))))
            assert races == {id(model._race)}


def test_one_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(files.plain, "VERSION", 0)
    content = pickle.dumps(learned(algorithm="chacha"))
    monkeypatch.undo()

    with pytest.raises(
        UsageError, match=r"pickled by another version \(leaseboard-model 0, not 4\)"
    ):
        pickle.load(io.BytesIO(content))

"""A saved model continues exactly; any other content of a file is refused and never executed."""

import copy
import hashlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from leaseboard.algorithms import plain
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import to_json
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)

EVAL = {"algorithm": "chacha", "b": 3}
UNFIT = f"is not a model of the format leaseboard-model {plain.VERSION}, or a damaged one: learn"


def product(n=400, d=4):
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 0.5, 1.0], (n, d)).astype(np.float32)
    return x, (3 + x[:, 0] + 4 * x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)).astype(np.float32)


@pytest.mark.parametrize(
    "settings",
    [
        *({}, {"b": 1}, EVAL),
        {"algorithm": "chacha-literal", "tune": "interactions+learning-rate"},
        {"algorithm": "chacha-flaml", "keep": "none", "keep_champion": False},
    ],
    ids=str,
)
def test_a_saved_model_goes_on_exactly(settings, tmp_path):
    x, y = product(1200)
    model = OnlineAutoMLRegressor(seed=3, **settings)
    model.learn_many(x[:500], y[:500])
    model.save(tmp_path / "model")
    double = OnlineAutoMLRegressor.load(tmp_path / "model")
    double.save(tmp_path / "again")

    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()
    assert np.array_equal(
        model.predict_then_learn_many(x[500:], y[500:]),
        double.predict_then_learn_many(x[500:], y[500:]),
    )
    assert [*map(to_json, model.history)] == [*map(to_json, double.history)]
    assert model.live == double.live
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "model"]


@pytest.mark.parametrize("kind", [OnlineAutoMLRegressor, OnlineAutoMLClassifier])
def test_an_unpickled_model_and_a_copy_are_the_same_model(kind):
    x, y = product(250)
    labels = y if kind is OnlineAutoMLRegressor else np.digitize(y, [-1, 3]).tolist()
    model = kind(b=5)
    model.learn_many(x, labels)
    model.predict_one({0: 1.0}, id="waits")
    model.about = {"shop": "north"}
    doubles = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    assert {double.dump() for double in doubles} == {model.dump()}
    for one in (model, *doubles):
        one.learn_many(x, labels)
    assert {double.dump() for double in doubles} == {model.dump()}


def form(value):
    """Return of what types and shapes a state is, of a list those that differ."""
    if isinstance(value, dict):
        return {str(name): form(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return sorted({json.dumps(form(each)) for each in value})
    return f"{value.dtype}{value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def test_what_files_hold_has_another_form_in_another_version_alone():
    x, y = product(60)
    forms = []
    for model, labels in ((OnlineAutoMLRegressor(), y), (OnlineAutoMLClassifier(), y > 3)):
        model.learn_many(x, labels)
        model.predict_one({0: 1.0}, id="waits")
        forms.append(form(model.state()))
    digest = hashlib.sha256(json.dumps(forms, sort_keys=True).encode()).hexdigest()[:12]
    assert (plain.VERSION, digest) == (17, "b14bacbd3a9f"), "another form: raise the version"


# Files that hold something else


class Touch:
    """Object of a hostile pickle."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_is_refused_and_not_executed(tmp_path):
    touched, path = tmp_path / "touched", tmp_path / "model"
    array = io.BytesIO()
    np.save(array, np.array([Touch(touched)], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("values.npy", array.getvalue())
    with pytest.raises(UsageError, match=UNFIT):
        OnlineAutoMLRegressor.load(path)

    assert not touched.exists()
    pickle.loads(pickle.dumps(Touch(touched))).close()
    assert touched.exists(), "the pickle was harmless: the test shows nothing"


def test_what_cannot_be_read_or_is_another_class_is_reported(tmp_path):
    with pytest.raises(UsageError, match=r"missing' cannot be read .*: name the file of"):
        OnlineAutoMLRegressor.load(tmp_path / "missing")
    OnlineAutoMLRegressor().save(tmp_path / "regressor")
    with pytest.raises(UsageError, match="holds OnlineAutoMLRegressor state: load it as such"):
        OnlineAutoMLClassifier.load(tmp_path / "regressor")

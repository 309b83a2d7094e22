"""Many streams at once: each as if it were alone, even if others fail."""

import pickle
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online_automl.scikit import StreamRegressor
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
    learn_streams,
    many_streams,
)
from leaseboard.algorithms.online_automl.streaming.many_streams import StreamsError


def stream(seed, n=250):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=n)).astype(np.float32)


def saved(model, path):
    model.save(path)
    return path.read_bytes()


class Pickled:
    """Nodes as processes are: what goes there and comes back is a copy."""

    def map(self, step, /, *shards):
        for args in zip(*shards, strict=True):
            yield pickle.loads(pickle.dumps(step(*pickle.loads(pickle.dumps(args)))))


NODES = (None, ThreadPoolExecutor(3), Pickled())


@pytest.mark.parametrize("algorithm", ["online-automl", "chacha"])
@pytest.mark.parametrize("nodes", NODES)
def test_each_is_learned_as_if_it_were_alone(algorithm, nodes, tmp_path):
    blocks = [[stream(10 * turn + k) for k in range(6)] for turn in range(2)]
    alone = [OnlineAutoMLRegressor(algorithm=algorithm, seed=k) for k in range(6)]
    many = [OnlineAutoMLRegressor(algorithm=algorithm, seed=k) for k in range(6)]

    for block in blocks:
        expected = [
            model.predict_then_learn_many(*each) for model, each in zip(alone, block, strict=True)
        ]
        found = learn_streams(many, block, nodes=nodes)

        assert list(found) == list(range(6))
        for k in range(6):
            np.testing.assert_array_equal(found[k], expected[k])
    for one, other in zip(alone, many, strict=True):
        assert one.history == other.history
        assert saved(one, tmp_path / "one") == saved(other, tmp_path / "other")


def test_of_very_many_each_message_has_several(monkeypatch):
    monkeypatch.setattr(many_streams, "MESSAGES", 3)
    settings = {"algorithm": "chacha", "b": 2}
    models = {key: OnlineAutoMLRegressor(**settings) for key in range(11)}
    bad = stream(7, 50)[0], [np.nan] * 50
    blocks = {key: bad if key == 7 else stream(key, 50) for key in models}
    nodes = Counting()

    with pytest.raises(StreamsError, match=r"1 of 11 streams .* 7: ") as caught:
        learn_streams(models, blocks, nodes=nodes)

    assert nodes.messages == [4, 4, 3]
    assert [model.examples for model in models.values()] == [50] * 7 + [0] + [50] * 3
    for key, found in caught.value.predictions.items():
        alone = OnlineAutoMLRegressor(**settings)
        np.testing.assert_array_equal(found, alone.predict_then_learn_many(*blocks[key]))
        assert models[key].history == alone.history


class Counting(Pickled):
    def map(self, step, /, *shards):
        self.messages = list(map(len, shards[0]))
        return super().map(step, *shards)


def test_models_that_came_back_are_not_built_to_go_again(tmp_path):
    models = {key: OnlineAutoMLRegressor(seed=key) for key in range(3)}
    for turn in range(2):
        learn_streams(models, {key: stream(10 * turn + key) for key in models}, nodes=Pickled())
        assert [list(vars(model)) for model in models.values()] == [["_asleep", "_lock"]] * 3

    for key, model in models.items():
        alone = OnlineAutoMLRegressor(seed=key)
        for turn in range(2):
            alone.learn_many(*stream(10 * turn + key))
        assert model.history == alone.history
        assert saved(model, tmp_path / "many") == saved(alone, tmp_path / "alone")


def test_groups_of_a_table_with_weights_and_keys_that_are_new():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(90, 2)), columns=["price", "rain"])
    table["shop"] = np.repeat(["north", "south", "west"], 30)
    table["w"] = 2.0
    models = defaultdict(OnlineAutoMLRegressor, east=OnlineAutoMLRegressor())

    found = learn_streams(
        models,
        {
            shop: (rows[["price"]], rows["rain"], rows["w"])
            for shop, rows in table.groupby("shop", sort=False)
        },
    )

    assert list(found) == ["north", "south", "west"]
    assert [models[shop].examples for shop in ("east", *found)] == [0, 30, 30, 30]
    alone, rows = OnlineAutoMLRegressor(), table[30:60]
    np.testing.assert_array_equal(
        alone.predict_then_learn_many(rows[["price"]], rows["rain"], rows["w"]), found["south"]
    )


def test_classifiers_have_no_predictions():
    models = {"a": OnlineAutoMLClassifier(b=2), "b": OnlineAutoMLClassifier(b=2)}
    blocks = {key: (stream(1, 20)[0], ["up", "down"] * 10) for key in models}

    assert learn_streams(models, blocks, nodes=Pickled()) == {"a": None, "b": None}
    assert [model.classes for model in models.values()] == [["up", "down"]] * 2


@pytest.mark.parametrize("nodes", NODES)
def test_one_that_fails_spoils_no_other(nodes):
    bad = stream(2)[1]
    bad[7] = np.nan
    models = {key: OnlineAutoMLRegressor() for key in "abc"}
    blocks = {"a": stream(1), "b": (stream(2)[0], bad), "c": stream(3)}

    with pytest.raises(StreamsError, match=r"1 of 3 streams .* 'b': .*nan") as caught:
        learn_streams(models, blocks, nodes=nodes)

    assert "\n" not in str(caught.value)
    assert list(caught.value.failed) == ["b"]
    assert caught.value.__cause__ is caught.value.failed["b"]
    assert [model.examples for model in models.values()] == [250, 0, 250]
    np.testing.assert_array_equal(
        caught.value.predictions["c"], OnlineAutoMLRegressor().predict_then_learn_many(*stream(3))
    )
    found = learn_streams(models, {"b": stream(2)})  # fixed
    np.testing.assert_array_equal(
        found["b"], OnlineAutoMLRegressor().predict_then_learn_many(*stream(2))
    )


def test_an_error_reports_few_and_has_all():
    with pytest.raises(StreamsError, match=r"^5 of 6 .*; and 2 more, see \.failed$") as caught:
        learn_streams(
            [OnlineAutoMLRegressor() for _ in range(6)],
            [(stream(1)[0], [1.0])] * 5 + [(np.zeros((0, 3)), [])],
        )

    assert list(caught.value.failed) == [0, 1, 2, 3, 4]
    assert list(caught.value.predictions) == [5]


def test_an_error_goes_to_other_processes_and_back():
    failed = {"b": UsageError("wrong")}
    error = StreamsError(failed, {"a": np.ones(2)})

    again = pickle.loads(pickle.dumps(error))

    assert str(again) == str(error)
    assert str(again.failed["b"]) == "wrong"
    np.testing.assert_array_equal(again.predictions["a"], np.ones(2))


class InterruptedInCompiledCode:
    def learn_many(self, X, y):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


def test_an_interrupt_in_compiled_code_is_one():
    models = [InterruptedInCompiledCode(), OnlineAutoMLRegressor()]

    with pytest.raises(KeyboardInterrupt):
        learn_streams(models, [stream(0), stream(1)])

    assert models[1].examples == 0


class Broken:
    def map(self, step, /, *shards):
        yield from list(Pickled().map(step, *shards))[:1]
        raise BrokenProcessPool


def test_where_processes_break_nothing_is_learned():
    models = [OnlineAutoMLRegressor(), OnlineAutoMLRegressor()]

    with pytest.raises(BrokenProcessPool):
        learn_streams(models, [stream(1), stream(2)], nodes=Broken())

    assert [model.examples for model in models] == [0, 0]


@pytest.mark.slow
def test_processes_learn_as_we_do():
    models = [OnlineAutoMLRegressor(seed=k) for k in range(3)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = learn_streams(models, [stream(k) for k in range(3)], nodes=pool)

    for k, model in enumerate(models):
        alone = OnlineAutoMLRegressor(seed=k)
        np.testing.assert_array_equal(found[k], alone.predict_then_learn_many(*stream(k)))
        assert model.predict_one({0: 1.0, 1: 2.0}) == alone.predict_one({0: 1.0, 1: 2.0})


def test_a_group_without_a_name_is_a_stream():
    nan = float("nan")  # of `groupby(..., dropna=False)`

    assert list(learn_streams({nan: OnlineAutoMLRegressor()}, {nan: stream(1, 20)})) == [nan]


def test_what_is_wrong_with_the_call_is_refused_before_anything_is_learned():
    one = OnlineAutoMLRegressor()
    for models, blocks, said in (
        ({"a": one}, {"a": stream(1), "b": stream(2)}, "'b' has no model"),
        ([one], [stream(1), stream(2)], "1 has no model"),
        ([one, one], [stream(1), stream(2)], "0 and 1 have one model"),
        ([one], [list(stream(1))], "stream 0 is a list: give a tuple"),
        ([one], [stream(1)[:1]], "stream 0 is a tuple: give a tuple"),
        ([StreamRegressor()], [stream(1)], "of a fitted StreamRegressor its `model_`"),
        ([one, dict], [stream(1), stream(1)], "which learns no blocks"),
        ([one, OnlineAutoMLRegressor], [stream(1), stream(1)], "which learns no blocks"),
        ([one], {"a": stream(1)}, "two mappings of the same keys, or two lists"),
        ({"a": one}, [stream(1)], "two mappings of the same keys, or two lists"),
        (iter([one]), [stream(1)], "two mappings of the same keys, or two lists"),
    ):
        with pytest.raises(UsageError, match=said):
            learn_streams(models, blocks)

    assert one.examples == 0
    assert learn_streams([], []) == {}

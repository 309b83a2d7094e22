"""Chances of classes by Vowpal Wabbit's --oaa."""

import numpy as np
import pytest
from vowpalwabbit import Workspace

from algorithms.errors import UsageError
from algorithms.online.configuration import VWConfiguration
from algorithms.online.losses import LOGISTIC, OPTIONS
from algorithms.online.one_against_all import OneAgainstAll
from algorithms.online.schema import Schema

SCHEMA = Schema(("a", "b"), ((0,), (1,)), ("x", "y"))


def learner(**given):
    return OneAgainstAll(SCHEMA, VWConfiguration(), 3, **{"options": OPTIONS[LOGISTIC]} | given)


def sample(n=300):
    x = np.random.default_rng(0).normal(size=(n, 2)).round(3).astype(np.float32)
    return x, np.digitize(x[:, 0], [-0.5, 0.5])


def test_chances_are_those_that_vowpal_wabbit_gives_to_its_own_text():
    x, numbers = sample()
    found = learner().learn_many(x, numbers)
    workspace = Workspace("--oaa 3 --loss_function logistic --probabilities --quiet")
    for row, number, chances in zip(x.tolist(), numbers.tolist(), found.tolist(), strict=True):
        text = f"|a x:{row[0]} |b y:{row[1]}"
        assert workspace.predict(text) == pytest.approx(chances, rel=1e-4)
        workspace.learn(f"{number + 1} {text}")

    assert found.sum(axis=1) == pytest.approx(1)
    assert (found.argmax(axis=1)[100:] != numbers[100:]).mean() < 0.2


def test_blocks_of_any_size_give_the_same():
    x, numbers = sample()
    parts = learner()
    found = [parts.learn_many(x[r], numbers[r]) for r in np.array_split(np.arange(300), 7)]

    assert np.array_equal(np.concatenate(found), learner().learn_many(x, numbers))


def test_options_that_vowpal_wabbit_refuses_are_named():
    with pytest.raises(UsageError, match="Vowpal Wabbit refuses --nonsense: "):
        learner(options=("--nonsense",))

import numpy as np
import pytest

from leaseboard.tasks.evaluate.frameworks.stream_river import LEARNERS, scaled
from tests.played import CLASSES, asked_for, played


def learnable(task, n=600):
    """Return rows of two numbers and a category, and labels that follow from them."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(5, 3, (n, 2)), rng.integers(0, 3, n)])
    wanted = rows[:, 0] - rows[:, 1] + 6 * (rows[:, 2] == 1)
    if task == "regression":
        return rows, wanted
    return rows, np.sign(wanted) if task == "binary" else np.digitize(wanted, [0, 4])


ONLY = {"amrules": "regression", "alma": "binary"}
ABLE = [
    (task, learner) for task in CLASSES for learner in LEARNERS if ONLY.get(learner, task) == task
]


@pytest.mark.parametrize(("task", "learner"), ABLE)
def test_every_learner_learns_numbers_and_categories(task, learner):
    asked = asked_for(task, ("x2",))
    rows, labels = learnable(task)
    _, reported = played(asked, LEARNERS[learner](asked), rows, labels)

    late = slice(300, None)
    if task == "regression":
        assert np.mean((reported[late, 0] - labels[late]) ** 2) < labels[late].var()
    elif task == "binary":
        assert np.mean((reported[late, 0] > 0) == (labels[late] > 0)) > 0.7
    else:
        assert np.mean(reported[late].argmax(axis=1) == labels[late]) > 0.5
        assert reported.sum(axis=1).max() <= 1 + 1e-9


def test_a_feature_that_begins_to_vary_throws_out_what_is_not_clipped():
    asked = asked_for("regression")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1300, 3))
    rows[:, 2] = np.where(np.arange(1300) > 1000, rows[:, 2], 0)
    labels = rows[:, 0] + rng.normal(size=1300)
    losses = {}
    for name in ("linear", "linear-plain"):
        _, reported = played(asked, LEARNERS[name](asked), rows, labels)
        losses[name] = np.mean((reported[:, 0] - labels) ** 2)

    assert losses["linear"] < 5
    assert losses["linear-plain"] > 1000


def test_there_may_be_numbers_alone_or_categories_alone():
    for nominal, expected in (
        ((), {"x0", "x1", "x2"}),
        (("x0", "x1", "x2"), {"x0_1", "x1_2", "x2_3"}),
    ):
        for sparse in (True, False):
            model = scaled(asked_for("regression", nominal), sparse=sparse)
            model.learn_one({"x0": 1, "x1": 2, "x2": 3})
            assert set(model.transform_one({"x0": 1, "x1": 2, "x2": 3})) == expected

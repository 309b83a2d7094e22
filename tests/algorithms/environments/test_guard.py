"""What an algorithm can read of its environment, and that it can write nothing."""

import numpy as np
import pytest
from scipy import sparse

from leaseboard.algorithms.base import Algorithm, play
from leaseboard.algorithms.environments.guard import Guard
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment, Part
from leaseboard.algorithms.errors import AuditError, NotYoursError
from leaseboard.algorithms.testing import ENVIRONMENTS, tiny_environment


def arrays(value, seen):
    """Yield every array that can be reached through public names."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays(item, seen)
    elif sparse.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif type(value).__module__.startswith("leaseboard.algorithms.") and id(value) not in seen:
        seen.add(id(value))
        for name in dir(value):
            if not name.startswith("_") and not callable(getattr(value, name)):
                yield from arrays(getattr(value, name), seen)


def sparse_holdout():
    rows = sparse.csr_array(np.eye(4, dtype=np.float32))
    part = Part(rows, np.ones(4, dtype=np.float32))
    return HoldoutEnvironment(Holdout(part, part, tuple("abcd")))


@pytest.mark.parametrize("env", [*map(tiny_environment, ENVIRONMENTS), sparse_holdout()])
def test_no_array_that_an_environment_shows_can_be_written(env):
    shown = list(arrays(env, set()))

    assert bool(shown) == (env.kind in ("stream", "holdout"))
    assert not any(array.flags.writeable for array in shown)


@pytest.mark.parametrize("kind", ENVIRONMENTS)
def test_a_window_shows_what_is_public_and_takes_nothing(kind):
    env = tiny_environment(kind)
    view = Guard(env).view

    assert (view.kind, view.unit, view.budget) == (kind, env.unit, env.budget)
    with pytest.raises(
        NotYoursError, match="the environment owns 'at', so no algorithm can set it"
    ):
        view.at = 0
    with pytest.raises(
        NotYoursError, match="the environment owns 'seed', so no algorithm can remove"
    ):
        del view.seed
    with pytest.raises(NotYoursError, match="'_loss_sum' is the environment's own"):
        _ = view._loss_sum
    with pytest.raises(AttributeError, match="scroe"):
        _ = view.scroe


def test_the_window_hides_the_labels_of_the_test_rows():
    env = tiny_environment("holdout")
    view = Guard(env).view

    assert view.holdout.test.rows is env.holdout.test.rows
    assert not hasattr(view.holdout.test, "labels")
    assert len(view.holdout.train.labels) == env.n_train


def test_what_a_policy_may_change_is_its_own_copy():
    view = Guard(tiny_environment("pulls")).view
    view.pull(0).parameters["n"] = 9
    view.pulls[0] = 100

    assert view.best.parameters == {"n": 9}  # the same feedback, not the stored trial
    assert view.pulls[0] == 1
    assert view.pull(0).parameters == {"n": 1}


PREDICTED = ("stream", "holdout")


def refereed(kind, work):
    """Run `work`, a generator function of an environment, as an algorithm under a guard."""

    class Working(Algorithm):
        environment = kind

        def run(self, env, seed):
            yield from work(env)

    env = tiny_environment(kind)
    guard = Guard(env)
    *_, finished = play("working", Working(), env, 0, guard.view)
    guard.verify()
    return finished


def zeros(n):
    return np.zeros(n, dtype=np.float32)


def bare(env):
    env.record(zeros(env.budget))
    yield from ()


def half(env):
    yield next(env.record(zeros(env.budget)))


def closed(env):
    steps = env.record(zeros(env.budget))
    yield next(steps)
    steps.close()


def crown_bare(env):
    yield from env.admit()
    yield from env.crown(0)
    env.probe(0, 10)


@pytest.mark.parametrize(
    ("kind", "work", "action"),
    [
        *(
            (kind, work, "record")
            for kind in ("stream", "holdout")
            for work in (bare, half, closed)
        ),
        ("samples", crown_bare, "probe"),
    ],
)
def test_what_is_not_iterated_is_named_with_its_fix(kind, work, action):
    with pytest.raises(AuditError) as found:
        refereed(kind, work)

    assert str(found.value) == (
        f"env.{action}(...) was called and not iterated to its end, and does nothing by itself:"
        f" write `yield from env.{action}(...)`"
    )


def too_long(env):
    try:
        yield from env.record(zeros(env.budget + 1))
    except ValueError:
        yield from env.record(zeros(env.budget))


def wrong_block(env):
    yield from env.record(zeros(2))
    for given in (zeros(2)[:, None], ["a"], np.float32([np.nan]), zeros(env.budget)):
        with pytest.raises(Exception, match=r"prediction|budget"):
            yield from env.record(given)
    yield from env.record(zeros(env.budget - 2))


def submitted_again(env):
    yield from env.record(zeros(env.budget))
    n = env.holdout.test.rows.shape[0]
    for given in (zeros(n)[:, None], zeros(n + 1), np.full(n, np.nan), zeros(n) + 1j):
        with pytest.raises(Exception, match="prediction"):
            env.submit(given)
    env.submit(zeros(n))


@pytest.mark.parametrize(
    ("kind", "work"),
    [
        *((kind, w) for kind in ("stream", "holdout") for w in (too_long, wrong_block)),
        ("holdout", submitted_again),
    ],
)
def test_a_refused_action_that_is_corrected_is_honest(kind, work):
    finished = refereed(kind, work)

    assert finished.at == tiny_environment(kind).budget
    assert np.isfinite(finished.score) == (kind == "stream" or work is submitted_again)


@pytest.mark.parametrize("kind", ["stream", "holdout", "pulls", "samples", "folds"])
def test_every_environment_takes_metrics_and_makes_a_thing_once(kind):
    made = []
    least = {
        "stream": lambda env: env.record(zeros(env.budget)),
        "holdout": lambda env: env.record(zeros(env.budget)),
        "pulls": lambda env: env.pull(0) and (),
        "samples": lambda env: env.crown(0),
        "folds": lambda env: env.crown(0),
    }

    def make(name):
        made.append(name)
        return name

    def work(env):
        assert [env.once(make, "thing"), env.once(make, "thing")] == ["thing", "thing"]
        yield from least[kind](env)
        env.note({"mine": 2.0})

    finished = refereed(kind, work)

    assert finished.metrics["mine"] == 2.0
    assert made == ["thing"]

"""What an algorithm can read of its bench, and that it can write nothing."""

import numpy as np
import pytest
from scipy import sparse

from leaseboard.algorithms.abc_selection.simulation import SimulatedLearners
from leaseboard.algorithms.base import Algorithm, play
from leaseboard.algorithms.benches.holdout import Holdout, HoldoutBench, Part
from leaseboard.algorithms.benches.referee import Referee
from leaseboard.algorithms.benches.samples import SamplesBench
from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.errors import AuditError, NotYoursError
from leaseboard.algorithms.events import Finished
from leaseboard.algorithms.testing import BENCHES, tiny_bench


def arrays(value, seen):
    """Every array that can be reached through public names."""
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
    words = tuple(np.arange(2, dtype=np.int32) for _ in range(4))
    part = Part(rows, np.ones(4, dtype=np.float32), words)
    return HoldoutBench(Holdout(part, part, tuple("abcd")))


@pytest.mark.parametrize("bench", [*map(tiny_bench, BENCHES), sparse_holdout()])
def test_no_array_that_a_bench_shows_can_be_written(bench):
    shown = list(arrays(bench, set()))

    assert bool(shown) == (bench.kind in ("stream", "holdout"))
    assert not any(array.flags.writeable for array in shown)


@pytest.mark.parametrize("kind", BENCHES)
def test_a_window_shows_what_is_public_and_takes_nothing(kind):
    bench = tiny_bench(kind)
    window = Referee(bench).window

    assert (window.kind, window.unit, window.budget) == (kind, bench.unit, bench.budget)
    with pytest.raises(NotYoursError, match="the bench owns 'at', so no algorithm can set it"):
        window.at = 0
    with pytest.raises(NotYoursError, match="the bench owns 'seed', so no algorithm can remove"):
        del window.seed
    with pytest.raises(NotYoursError, match="'_loss_sum' is the bench's own"):
        _ = window._loss_sum
    with pytest.raises(AttributeError, match="scroe"):
        _ = window.scroe


def test_the_window_hides_the_labels_of_the_test_rows():
    bench = tiny_bench("holdout")
    window = Referee(bench).window

    assert window.holdout.test.rows is bench.holdout.test.rows
    assert not hasattr(window.holdout.test, "labels")
    assert len(window.holdout.train.labels) == bench.n_train


def test_what_a_policy_may_change_is_its_own_copy():
    window = Referee(tiny_bench("pulls")).window
    window.pull(0).parameters["n"] = 9
    window.pulls[0] = 100

    assert window.best.parameters == {"n": 9}  # the same feedback, not the stored trial
    assert window.pulls[0] == 1
    assert window.pull(0).parameters == {"n": 1}


@pytest.mark.parametrize("field", ["at", "score", "metric", "direction", "metrics"])
def test_the_referee_compares_all_that_the_last_event_says(field):
    bench = tiny_bench("stream")
    referee = Referee(bench)
    list(referee.window.record(np.zeros(bench.budget, dtype=np.float32)))
    score = bench.score()
    true = {
        "at": bench.at, "score": score.value, "metric": score.metric,
        "direction": score.direction, "metrics": dict(score.metrics),
    }  # fmt: skip
    referee.verify(Finished(reason="", **true))
    false = {"at": 1, "score": 0.0, "metric": "x", "direction": "max", "metrics": {"x": 1.0}}
    with pytest.raises(AuditError, match=f"the run tells {field}="):
        Referee.verify(_again(referee), Finished(reason="", **true | {field: false[field]}))


def _again(referee):
    """The same deeds before a fresh twin."""
    fresh = Referee(tiny_bench("stream"))
    fresh.deeds += referee.deeds
    return fresh


PREDICTED = ("stream", "holdout")


def refereed(kind, work):
    """Run `work`, a generator function of a bench, as an algorithm, and let the referee judge."""

    class Working(Algorithm):
        bench = kind

        def run(self, bench, seed):
            yield from work(bench)

    bench = tiny_bench(kind)
    referee = Referee(bench)
    *_, finished = play("working", Working(), bench, 0, referee.window)
    referee.verify(finished)
    return finished


def zeros(n):
    return np.zeros(n, dtype=np.float32)


def bare(bench):
    bench.record(zeros(bench.budget))
    yield from ()


def half(bench):
    yield next(bench.record(zeros(bench.budget)))


def closed(bench):
    steps = bench.record(zeros(bench.budget))
    yield next(steps)
    steps.close()


def crown_bare(bench):
    yield from bench.admit()
    yield from bench.crown(0)
    bench.probe(0, 10)


@pytest.mark.parametrize(
    ("kind", "work", "deed"),
    [
        *(
            (kind, work, "record")
            for kind in ("stream", "holdout")
            for work in (bare, half, closed)
        ),
        ("samples", crown_bare, "probe"),
    ],
)
def test_what_is_not_iterated_is_named_with_its_mend(kind, work, deed):
    with pytest.raises(AuditError) as found:
        refereed(kind, work)

    assert str(found.value) == (
        f"bench.{deed}(...) was called and not iterated to its end, and does nothing by itself:"
        f" write `yield from bench.{deed}(...)`"
    )


def too_long(bench):
    try:
        yield from bench.record(zeros(bench.budget + 1))
    except ValueError:
        yield from bench.record(zeros(bench.budget))


def wrong_block(bench):
    yield from bench.record(zeros(2))
    for given in (zeros(2)[:, None], ["a"], np.float32([np.nan]), zeros(bench.budget)):
        with pytest.raises(Exception, match=r"prediction|budget"):
            yield from bench.record(given)
    yield from bench.record(zeros(bench.budget - 2))


def later(bench):
    first, second = (bench.record(np.full(n, n, np.float32)) for n in (2, bench.budget - 2))
    yield from second
    yield from first


def reused(bench):
    buffer = zeros(bench.budget)
    steps = bench.record(buffer)
    buffer[:] = 1
    yield from steps


def submitted_again(bench):
    yield from bench.record(zeros(bench.budget))
    n = bench.holdout.test.rows.shape[0]
    for given in (zeros(n)[:, None], zeros(n + 1), np.full(n, np.nan), zeros(n) + 1j):
        with pytest.raises(Exception, match="prediction"):
            bench.submit(given)
    bench.submit(zeros(n))


@pytest.mark.parametrize(
    ("kind", "work"),
    [
        *(
            (kind, w)
            for kind in ("stream", "holdout")
            for w in (too_long, wrong_block, later, reused)
        ),
        ("holdout", submitted_again),
    ],
)
def test_who_mends_what_was_refused_is_honest(kind, work):
    finished = refereed(kind, work)

    assert finished.at == tiny_bench(kind).budget
    assert np.isfinite(finished.score) == (kind == "stream" or work is submitted_again)


def test_the_heir_of_a_champion_that_failed_is_one_to_the_referee_too():
    bench = SamplesBench(SimulatedLearners((0.8, 0.6), 1000, 200, 0), initial_rows=100)
    referee = Referee(bench)

    class Failing(Algorithm):
        bench = "samples"

        def run(self, bench, seed):
            yield from bench.crown(0)
            yield from bench.fail(0, Probe(rows=10, test_rows=20, status="crash"), 1)

    *_, finished = play("failing", Failing(), bench, 0, referee.window)
    referee.verify(finished)
    assert bench.champion == 1


@pytest.mark.parametrize("kind", ["stream", "holdout", "pulls", "samples", "folds"])
def test_every_bench_takes_metrics_and_makes_a_thing_once(kind):
    made = []
    least = {
        "stream": lambda bench: bench.record(zeros(bench.budget)),
        "holdout": lambda bench: bench.record(zeros(bench.budget)),
        "pulls": lambda bench: bench.pull(0) and (),
        "samples": lambda bench: bench.crown(0),
        "folds": lambda bench: bench.crown(0),
    }

    def make(name):
        made.append(name)
        return name

    def work(bench):
        assert [bench.once(make, "thing"), bench.once(make, "thing")] == ["thing", "thing"]
        yield from least[kind](bench)
        bench.note({"mine": 2.0})

    finished = refereed(kind, work)

    assert finished.metrics["mine"] == 2.0
    assert made == ["thing"]

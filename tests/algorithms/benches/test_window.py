"""What an algorithm can read of its bench, and that it can write nothing."""

import numpy as np
import pytest
from scipy import sparse

from algorithms.benches.holdout import Holdout, HoldoutBench, Part
from algorithms.benches.referee import Referee
from algorithms.errors import AuditError, NotYoursError
from algorithms.events import Finished
from algorithms.tiny import BENCHES, tiny_bench


def arrays(value, seen):
    """Every array that can be reached through public names."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays(item, seen)
    elif sparse.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif type(value).__module__.startswith("algorithms.") and id(value) not in seen:
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

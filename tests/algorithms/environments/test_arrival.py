"""Labels that come later: what no prediction may know."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, play
from leaseboard.algorithms.checks import Tiny, recorded, tiny_environment
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import StreamEnvironment, one_model, widened
from leaseboard.algorithms.reference.naive import LastLabel
from tests.algorithms.outside import TinyLearner

N, CUT = 300, 120
NAMES = [
    name for name in registry.names() if registry.algorithm_class(name).environment == "stream"
]
LABELS = ("after=24", "with=day", "end")
TINY = {"numbers": Tiny(), "classes": Tiny(classes=3)}


def environment(labels, kind="numbers", changed=False):
    """Return a stream whose labels from `CUT` on may be others, in another order."""
    tiny = tiny_environment("stream", TINY[kind])
    stream = replace(tiny.stream, moments=np.arange(N) // 7)
    if changed:
        moved = stream.labels.copy()
        moved[CUT:] = (moved[CUT:][::-1] + 1) % 3 if stream.classes else 1 - 2 * moved[CUT:][::-1]
        stream = replace(stream, labels=moved)
    return StreamEnvironment(stream, outside=TinyLearner, arrival=Arrival.parse(labels))


def played(algorithm, env):
    """Return what is predicted of each row, of classes their probabilities."""
    auditor, said = Auditor(), recorded(env, "record")
    for event in play("x", algorithm, env, 0):
        auditor(event)
    auditor.close()
    return np.concatenate([widened(each, len(env.stream.classes)) for each in said])


def first_moved(algorithm, labels, kind="numbers"):
    """Return the first row whose prediction moves with the labels, and the first that may."""
    plain, changed = (environment(labels, kind, which) for which in (False, True))
    differs = played(algorithm, plain) != played(algorithm, changed)
    moved = np.flatnonzero(differs.reshape(N, -1).any(axis=1))
    known = plain.arrival.known(N, plain.stream.moments)
    return int(moved[0]) if len(moved) else N, int((known <= CUT).sum())


@pytest.mark.parametrize("labels", LABELS)
def test_no_prediction_depends_on_a_label_that_is_not_known(labels):
    looked, moved = {}, 0
    for name in NAMES:
        algorithm = registry.build(name)
        for kind in TINY:
            if not environment(labels, kind).bars(algorithm):
                row, allowed = first_moved(algorithm, labels, kind)
                looked |= {(name, kind): row} if row < allowed else {}
                moved += row == allowed < N
    assert looked == {}
    assert labels == "end" or moved > 30  # most go by the first label that is another


class _Hasty(Algorithm):
    """Algorithm that learns a label before the rows that are predicted while it is pending."""

    environment: ClassVar[str] = "stream"
    predicts_pending: ClassVar[bool] = True

    def run(self, env, seed):
        at_once = StreamEnvironment(env.stream)
        list(one_model(at_once, LastLabel().predictor(1, "regression"), {}))
        yield from env.record(at_once.predictions)


def test_one_that_learns_at_once_is_found():
    row, allowed = first_moved(_Hasty(), "after=24")

    assert row < allowed


def test_who_needs_each_label_at_once_is_skipped_with_the_reason():
    barred = {name for name in NAMES if "labels after=24" in
              environment("after=24").bars(registry.build(name))}  # fmt: skip

    assert barred == {"offline"}
    assert not environment("immediate").bars(registry.build("offline"))

"""What a learner predicts with, as plain values, and a learner that predicts the same.

The kernels trust their arrays. So a learner is built by its own constructor, and what a file says
of slots and variables is checked before a kernel sees it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.apple.expanders import CLAIMED
from leaseboard.algorithms.apple.hashed import HashedLearner
from leaseboard.algorithms.apple.learner import GrowingLearner, Learning, MonomialLearner
from leaseboard.algorithms.apple.plan import PlanLearner
from leaseboard.algorithms.apple.sparse import FullLearner
from leaseboard.algorithms.apple.update import UNSEEN
from leaseboard.algorithms.plain import fill, fill_array, values_of

_SLOTS = ("keys", "source", "variable", "degree", "parent")
_WEIGHTS = ("w", "inverse")


def state_of(learner: MonomialLearner) -> dict[str, Any]:
    """Return all that predictions depend on, without what only learning needs."""
    state = {
        "n_variables": learner.n_variables,
        "learning": dataclasses.asdict(learner.learning),
        **values_of(learner, ("magnitude", "totals")),
    }
    if isinstance(learner, PlanLearner):
        return state | {"kernel": "plan", **values_of(learner, (*_SLOTS, *_WEIGHTS))}
    if isinstance(learner, HashedLearner):
        used = learner.n_variables + 1 + int(learner.counts[CLAIMED])
        slots = {name: getattr(learner, name)[:used] for name in (*_SLOTS, *_WEIGHTS)}
        buckets = np.flatnonzero(learner.tags)
        table = {"tags": learner.tags[buckets], "owners": learner.owners[buckets]}
        return state | {"kernel": "hashed", "buckets": buckets, **slots, **table}
    if isinstance(learner, FullLearner):
        used_slots = np.flatnonzero(learner.inverse < 1 / UNSEEN)
        slots = {name: getattr(learner, name)[used_slots] for name in _WEIGHTS}
        more = {"degree": learner.full_degree, "indicators": learner.indicators}
        return state | {"kernel": "full", "used": used_slots, **slots, **more}
    raise TypeError(f"a {type(learner).__name__} is not a learner of apple's kernels")


def learner_of(state: Mapping[str, Any]) -> MonomialLearner:
    """Return a learner that predicts as that of `state_of`; it must not learn more.

    Raises
    ------
    ValueError, TypeError, LookupError
        If no learner has that state.
    """
    d, learning = int(state["n_variables"]), Learning(**state["learning"])
    if not 0 < learning.bits <= 28:
        raise ValueError(f"a table of 2^{learning.bits}")
    learner: MonomialLearner
    if state["kernel"] == "plan":
        learner = _plan(d, learning, state)
    elif state["kernel"] == "hashed":
        learner = _hashed(d, learning, state)
    else:
        learner = _full(d, learning, state)
    fill(learner, state, ("totals",))
    magnitude = learner.magnitude.copy()
    fill_array(magnitude, state["magnitude"])
    learner.magnitude = magnitude
    return learner


def _plan(d: int, learning: Learning, state: Mapping[str, Any]) -> PlanLearner:
    learner = PlanLearner(d, learning)
    used = len(state["w"])
    for name in (*_SLOTS, *_WEIGHTS):
        setattr(learner, name, np.zeros(used, dtype=getattr(learner, name).dtype))
    fill(learner, state, (*_SLOTS, *_WEIGHTS))
    _check_slots(learner, used)
    return learner


def _hashed(d: int, learning: Learning, state: Mapping[str, Any]) -> HashedLearner:
    learner = HashedLearner(d, learning)
    used, buckets, owners = len(state["w"]), state["buckets"], state["owners"]
    for name in (*_SLOTS, *_WEIGHTS):
        getattr(learner, name)[:used] = _same(state[name], used)
    learner.counts[CLAIMED] = claimed = used - d - 1
    mask = np.uint64((1 << learning.bits) - 1)
    if len(owners) != claimed or (claimed and (owners & mask).max() >= claimed):
        raise ValueError("the buckets name slots that are not there")
    learner.tags[buckets], learner.owners[buckets] = state["tags"], owners
    _check_slots(learner, used)
    return learner


def _full(d: int, learning: Learning, state: Mapping[str, Any]) -> FullLearner:
    degree = int(state["degree"])
    if not 1 <= degree <= 8:
        raise ValueError(f"degree {degree}")
    learner = FullLearner(d, learning, degree, np.zeros(d, dtype=np.bool_))
    fill(learner, state, ["indicators"])
    for name in _WEIGHTS:
        getattr(learner, name)[state["used"]] = _same(state[name], len(state["used"]))
    return learner


def _same(values: Any, length: int) -> NDArray[Any]:
    if len(values) != length:
        raise ValueError(f"{len(values)} values for {length} slots")
    return np.asarray(values)


def _check_slots(learner: GrowingLearner, used: int) -> None:
    """Raise ValueError unless each slot's source is before it, and its variable exists."""
    d = learner.n_variables
    products = np.arange(d + 1, used)
    source, variable = learner.source[products], learner.variable[products]
    if used <= d or (source >= products).any() or (variable >= max(d, 1)).any():
        raise ValueError("a product of slots that come after it")

"""The way of examples through expansion, models, mixture and intervals, as one compiled call.

It takes handles (`leaseboard.algorithms.online.handles`): that of all that an ensemble knows, the
arrays from `SIMPLE` on, and that of a block. Where one example is predicted and then learned, what
its prediction computed is not computed again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.conformal import Conformal, follow
from leaseboard.algorithms.online.handles import Handle, address_of, array_at, pointer, quick
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots, predict_live
from leaseboard.algorithms.online.placement import ENTERED, learn_live, take_one
from leaseboard.algorithms.online_automl.safe.expansion import (
    N_SIMPLE,
    Block,
    SimpleModels,
    advance,
    width,
)
from leaseboard.algorithms.online_automl.safe.log_odds import LogOdds, to_log_odds
from leaseboard.algorithms.online_automl.safe.mixture import Mixture, mix, targets_of
from leaseboard.algorithms.online_automl.safe.selected import Ridge

LOOK, LEARN, EXPAND, MODEL, MIX, FOLLOW = 0, 1, 2, 4, 8, 16
"""What a call does, as a sum: whether it learns, and which steps it takes."""

ALL = EXPAND + MODEL + MIX

PERIOD, CLASSES, REPRESENTS, LOSS, LOOKED = range(5)
"""The control: the last period, three settings, and the block that was looked at last, if nothing
has been learned since."""

SIMPLE, MIXED, BASELINES, GAMMA, MODELS, LANES, OWN = 1, 13, 20, 21, 22, 23, 24
"""Where in the handle of an ensemble its parts begin; the control comes first, and last what only
numbers or only classes have."""

OUTPUTS, PREDICTIONS, SEEN = 7, 8, 9
"""What comes after the fields of a `Block` in its handle; `SEEN` is the example that was looked at
last, NaN before and of no length where it is not to be learned."""


def in_room(
    examples: Floats, labels: Floats, importances: Floats, b: int, predictions: Floats
) -> tuple[tuple[NDArray[Any], ...], Handle]:
    """Return a block with room for all that becomes of it, while that is kept; and its handle."""
    kept = [np.ascontiguousarray(one, np.float32) for one in (examples, labels, importances)]
    n, d = examples.shape
    wide, values = width(d), b + N_SIMPLE
    room = np.empty(n * (values + 3) + (n * (wide + b) + 1) // 2)
    at = address_of(room)
    at_shown, at_limits = at + 8 * n * values, at + 8 * n * (values + 1)
    at_wide = at_limits + 16 * n
    given = [
        (address_of(kept[0]), n, d, 0),
        (address_of(kept[1]), n, 0, 0),
        (address_of(kept[2]), n, 0, 0),
        (at_wide, n, wide, 0),
        (at, n, values, 0),
        (at_shown, n, 0, 0),
        (at_limits, n, 2, 0),
        (at_wide + 4 * n * wide, n, b, 0),
        (address_of(predictions), n, 0, 0),
        (0, 0, 0, 0),
    ]
    return (room, *kept), np.array(given, dtype=np.int64)


@compiled
def vector(handle: Handle, k: int) -> Doubles:
    """Return the array in row k."""
    found: Doubles = array_at(pointer(handle[k, 0]), (handle[k, 1],), np.float64)
    return found


@compiled
def matrix(handle: Handle, k: int) -> Doubles:
    """Return the array of two dimensions in row k."""
    found: Doubles = array_at(pointer(handle[k, 0]), (handle[k, 1], handle[k, 2]), np.float64)
    return found


@compiled
def numbers(handle: Handle, k: int) -> Slots:
    """Return the array of integers in row k."""
    found: Slots = array_at(pointer(handle[k, 0]), (handle[k, 1],), np.int64)
    return found


@compiled
def floats(handle: Handle, k: int) -> Floats:
    """Return the array of single precision in row k."""
    found: Floats = array_at(pointer(handle[k, 0]), (handle[k, 1],), np.float32)
    return found


@compiled
def rows(handle: Handle, k: int) -> Floats:
    """Return the array of single precision and two dimensions in row k."""
    found: Floats = array_at(pointer(handle[k, 0]), (handle[k, 1], handle[k, 2]), np.float32)
    return found


@compiled
def _handle(handle: Handle, k: int) -> Handle:
    found: Handle = array_at(pointer(handle[k, 0]), (handle[k, 1], handle[k, 2]), np.int64)
    return found


@compiled
def open_simple(handle: Handle) -> SimpleModels:
    """Return the simple models of an ensemble."""
    k = SIMPLE
    return SimpleModels(
        vector(handle, k), matrix(handle, k + 1), vector(handle, k + 2), vector(handle, k + 3),
        Ridge(matrix(handle, k + 4), vector(handle, k + 5), vector(handle, k + 6)),
        Ridge(matrix(handle, k + 7), vector(handle, k + 8), vector(handle, k + 9)),
        numbers(handle, k + 10), rows(handle, k + 11),
    )  # fmt: skip


@compiled
def open_mixture(handle: Handle) -> Mixture:
    """Return the mixture of an ensemble."""
    k, untrained = MIXED, handle[MIXED + 6]
    return Mixture(
        vector(handle, k), vector(handle, k + 1), vector(handle, k + 2), matrix(handle, k + 3),
        vector(handle, k + 4), vector(handle, k + 5),
        array_at(pointer(untrained[0]), (untrained[1],), np.bool_),
    )  # fmt: skip


@compiled
def open_block(given: Handle) -> Block:
    """Return a block."""
    return Block(
        rows(given, 0), floats(given, 1), floats(given, 2), rows(given, 3),
        matrix(given, 4), vector(given, 5), matrix(given, 6),
    )  # fmt: skip


@compiled(inline="always")
def through(
    known: Handle, given: Handle, live: Slots, champion: int, steps: int, start: int
) -> int:
    """Take the `steps` with a block from `start` on; return where expansion stopped.

    Of many features it stops where features may be selected.
    """
    block, simple, mixture = open_block(given), open_simple(known), open_mixture(known)
    control, outputs, learns = numbers(known, 0), rows(given, OUTPUTS), steps & LEARN > 0
    handle, entered = _handle(known, MODELS), _handle(known, LANES)
    classes, examples, end = control[CLASSES] > 0, block.examples, len(block.labels)
    # Whether all that a look computes of this example is there.
    seen, own = floats(given, SEEN), given[3, 0]  # the address of its wide rows
    looked = learns and start == 0 and len(seen) > 0 and control[LOOKED] == own
    for j in range(len(seen)):
        looked = looked and seen[j] == examples[0, j]
        seen[j] = examples[0, j]
    control[LOOKED] = 0 if learns else own
    if steps & EXPAND:
        control[PERIOD], start = advance(
            block, simple, classes, control[PERIOD], start, learns, looked
        )
    if steps & MODEL:
        shown = block.wide if control[REPRESENTS] else examples
        learned = learns and mixture.place[1] != 0.0
        targets = targets_of(block.shown, mixture.place) if learned else block.labels
        if entered[0, ENTERED] and (learned or not learns):
            take_one(
                shown[0], targets[0], block.importances[0], entered, handle, control[LOSS],
                learns, looked, outputs[0],
            )  # fmt: skip
        elif learned:
            learn_live(shown, targets, block.importances, live, handle, control[LOSS], outputs)
        elif not learns:
            predict_live(shown[0], live, handle, outputs[0])
    if steps & MIX:
        gamma = vector(known, GAMMA)[0]
        mix(
            outputs, block, live, numbers(known, BASELINES), champion, gamma, mixture, learns,
            floats(given, PREDICTIONS),
        )  # fmt: skip
    return min(start, end)


@quick
@compiled
def pass_numbers(
    known: Handle, given: Handle, live: Slots, champion: int, steps: int, start: int
) -> int:
    """Do `through`; or `FOLLOW` the predictions that were made with the intervals around them.

    Parameters
    ----------
    known, given : ndarray of int64
        The handles of the ensemble and of the block.
    live : ndarray of int64
        The occupied slots.
    champion : int
        Its slot.
    steps : int
        See `LOOK` and those after it.
    start : int
        The first example that is to be expanded.
    """
    if steps & FOLLOW == 0:
        start = through(known, given, live, champion, steps, start)
    else:
        k, misses = OWN, known[OWN + 4]
        state = Conformal(
            vector(known, k), vector(known, k + 1), matrix(known, k + 2), matrix(known, k + 3),
            array_at(pointer(misses[0]), (misses[1], misses[2]), np.uint8),
            matrix(known, k + 5), vector(known, k + 6), vector(known, k + 7),
        )  # fmt: skip
        predictions = floats(given, PREDICTIONS)
        follow(floats(given, 1), floats(given, 2), predictions, matrix(known, k + 8), state)
    return start


@quick
@compiled
def pass_classes(
    known: Handle, given: Handle, live: Slots, champion: int, steps: int, start: int
) -> int:
    """Do `through`, see `pass_numbers`; then make log odds of the predictions."""
    start = through(known, given, live, champion, steps, start)
    if steps & MIX:
        k: Any = OWN
        own = LogOdds(
            vector(known, k), vector(known, k + 1), vector(known, k + 2), matrix(known, k + 3),
            matrix(known, k + 4), vector(known, k + 5), vector(known, k + 6),
        )  # fmt: skip
        block, predictions = open_block(given), floats(given, PREDICTIONS)
        to_log_odds(block, live, champion, own, steps & LEARN > 0, predictions)
    return start

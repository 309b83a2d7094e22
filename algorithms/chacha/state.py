"""Losses and bounds of live models (equations 1 to 3), and the loop that learns until a decision.

| here | paper |
| --- | --- |
| ``n`` | |D_{c,t}|, examples that c has learned since it was fresh |
| ``dimension`` | d_c, features that c induces |
| ``n_candidates`` | |S_t| |
| ``DELTA`` | δ |
| ``COEFFICIENT * value_range`` | a, a constant related to the bound of the loss (appendix A.2) |
| ``lower``, ``upper`` | L̲_{c,t} and L̄_{c,t} |

`select` names the model that predicts, `observe` takes one example's losses, and
`needs_decision` returns whether the scheduler is needed. All is compiled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online import lanes, placement
from leaseboard.algorithms.online.handles import Handle, array_at, pointer
from leaseboard.algorithms.online.kernel import Floats, look, open_pool, take
from leaseboard.algorithms.transcendental import LN_10, log

COEFFICIENT, DELTA = 0.05, 0.1


@compiled(error_model="numpy")
def clipped_absolute_error(prediction: float, label: float, low: float, high: float) -> float:
    """Return the absolute error, clipped to the range of labels seen (appendix A.2)."""
    return abs(label - min(max(prediction, low), high))


@compiled(error_model="numpy")
def updated_mean(mean: float, n: float, value: float) -> float:
    """Return the mean of ``n + 1`` losses: progressive validation loss after one more example."""
    return mean * (n / (n + 1.0)) + value / (n + 1.0)


@compiled(error_model="numpy")
def epsilon_paper(n: float, dimension: float, n_candidates: float, value_range: float) -> float:
    """Return ε of equation 1 as appendix A.2 states it: ``a sqrt(d_c ln(n |S| / δ) / n)``."""
    a = COEFFICIENT * value_range
    return a * math.sqrt(dimension * log(n * n_candidates / DELTA) / n)


@compiled(error_model="numpy")
def epsilon_flaml(n: float, dimension: float, value_range: float) -> float:
    """Return ε of equation 1 as in the authors' code: ``a sqrt(d_c) sqrt(log10(n / δ) / n)``."""
    a = COEFFICIENT * value_range
    return a * math.sqrt(dimension) * math.sqrt(log(n / DELTA) / (LN_10 * n))


@compiled(error_model="numpy")
def better(challenger_upper: float, champion_lower: float, champion_epsilon: float) -> bool:
    """Return whether the challenger is better by a margin of ε_{C,t} (equation 2)."""
    return challenger_upper < champion_lower - champion_epsilon


@compiled(error_model="numpy")
def worse(
    challenger_lower: float, challenger_epsilon: float, champion_upper: float, margin: float
) -> bool:
    """Return whether the challenger is worse than the champion (equation 3).

    The paper has ``margin`` 0; the authors' evaluation asked for 1 more ε_{c,t}.
    """
    return challenger_lower - margin * challenger_epsilon > champion_upper


Slots = NDArray[np.float64]
"""One row a live model, with the columns below."""

CONFIGURATION, N, LEASE, DIMENSION, LOSS, EPSILON, LOWER, UPPER, LOW, HIGH, OUT, SCORE = range(12)
"""The columns of a slot.

CONFIGURATION is -1 in an empty slot; LOSS is the mean of the proxy over N examples; LOW and HIGH
are the range of the labels that this configuration has seen; OUT is 1 when the configuration is
no longer in S and only stays live until its slot is needed; SCORE is the sum over the N
examples of the environment's loss, squared error or errors of class, which decides nothing.
"""
N_SLOT_COLUMNS = 12

Control = NDArray[np.float64]
"""What the scheduler sets and the steps read or update, with the entries below."""

(
    CHAMPION,  # configuration, not slot
    PREDICTOR,  # configuration that predicted last
    N_CANDIDATES,  # |S|
    MAY_ELIMINATE,  # whether a Worse test would have a consequence
    GLOBAL_LOW,
    GLOBAL_HIGH,
    LITERAL,  # 1: as printed; 0: as the authors programmed it
    RIPE,  # examples before a model may predict, and before a challenger is tested
    WORSE_MARGIN,
    TESTING,  # 0: no Better or Worse test at all
    DUE,  # 1: a decision is due; set by the steps
    CLASSES,  # 1: the labels are -1 and 1, the predictions margins
) = range(12)
N_CONTROLS = 12


def empty_slots(n_slots: int) -> Slots:
    """Return the state of a race without live models."""
    slots = np.zeros((n_slots, N_SLOT_COLUMNS))
    slots[:, CONFIGURATION] = -1
    return slots


@compiled(error_model="numpy")
def select(slots: Slots, control: Control) -> int:
    """Return the slot whose model predicts: ``argmin over B + C of L̄`` (algorithm 1, line 6).

    Models of fewer than RIPE examples are passed over. If all are, the last predictor
    goes on while it lives, then the champion. If the champion is paused, which only an ablation
    allows, the answer is -1: its model starts afresh and has nothing to say.
    """
    best = -1
    previous = -1
    champion = -1
    for slot in range(len(slots)):
        # Find the last predictor, the champion, and the ripe model of least upper bound.
        configuration = slots[slot, CONFIGURATION]
        if configuration < 0:
            continue
        if configuration == control[PREDICTOR]:
            previous = slot
        if configuration == control[CHAMPION]:
            champion = slot
        if slots[slot, N] >= control[RIPE] and (
            best < 0 or slots[slot, UPPER] < slots[best, UPPER]
        ):
            best = slot
    if best < 0:
        best = previous if previous >= 0 else champion
    control[PREDICTOR] = -1 if best < 0 else slots[best, CONFIGURATION]
    return best


@compiled(error_model="numpy")
def observe(
    slots: Slots, control: Control, label: float, predictions: NDArray[np.float32]
) -> None:
    """Take one label: update range, progressive loss, bounds and score of every live model."""
    # Extend the range of all labels.
    control[GLOBAL_LOW] = min(control[GLOBAL_LOW], label)
    control[GLOBAL_HIGH] = max(control[GLOBAL_HIGH], label)
    for slot in range(len(slots)):
        if slots[slot, CONFIGURATION] < 0:
            continue
        # Extend the model's own range, and clip its error to the one that counts.
        slots[slot, LOW] = low = min(slots[slot, LOW], label)
        slots[slot, HIGH] = high = max(slots[slot, HIGH], label)
        if control[LITERAL] != 0:
            low, high = control[GLOBAL_LOW], control[GLOBAL_HIGH]
        error = clipped_absolute_error(predictions[slot], label, low, high)
        # Add the environment's loss to the score.
        if control[CLASSES] != 0:
            slots[slot, SCORE] += (predictions[slot] > 0) != (label > 0)
        else:
            slots[slot, SCORE] += (np.float64(predictions[slot]) - np.float64(label)) ** 2
        # Take the proxy into the progressive loss, and its bounds from that.
        n = slots[slot, N] + 1
        loss = updated_mean(slots[slot, LOSS], n - 1, error)
        slots[slot, N] = n
        slots[slot, LOSS] = loss
        epsilon = _epsilon(control, n, slots[slot, DIMENSION], high - low)
        slots[slot, EPSILON] = epsilon
        slots[slot, LOWER] = max(loss - epsilon, 0.0)
        slots[slot, UPPER] = loss + epsilon


@compiled(error_model="numpy")
def needs_decision(slots: Slots, control: Control) -> bool:
    """Return whether a lease has ended or a test is positive."""
    # A lease that has ended.
    for slot in range(len(slots)):
        if slots[slot, CONFIGURATION] >= 0 and slots[slot, N] >= slots[slot, LEASE]:
            return True
    if control[TESTING] == 0:
        return False
    champion = slot_of(slots, control[CHAMPION])
    if champion < 0 or slots[champion, N] == 0:
        return False
    # A challenger that is better, or one that is worse.
    if challenger_to_promote(slots, control, champion) >= 0:
        return True
    failed = 0
    if control[MAY_ELIMINATE] != 0:
        for slot in range(len(slots)):
            failed += is_worse(slots, control, champion, slot)
    return failed > 0


@compiled(error_model="numpy")
def slot_of(slots: Slots, configuration: float) -> int:
    """Return the slot that holds `configuration`, or -1."""
    for slot in range(len(slots)):
        if slots[slot, CONFIGURATION] == configuration:
            return slot
    return -1


@compiled(error_model="numpy")
def challenger_to_promote(slots: Slots, control: Control, champion: int) -> int:
    """Return the slot of a challenger that passes the Better test against `champion`, or -1.

    The challenger of least upper bound is the one to test: if any passes, it does, and none can
    pass against it. The authors' program chooses it before it asks whether it is ripe, so that a
    fresh challenger can hide a riper one.
    """
    best = -1
    for slot in range(len(slots)):
        # Pass over the champion, those out of S, and those that are too young.
        if slot == champion or slots[slot, CONFIGURATION] < 0 or slots[slot, OUT] != 0:
            continue
        if slots[slot, N] < 1:
            continue
        if control[LITERAL] != 0 and slots[slot, N] < control[RIPE]:
            continue
        if best < 0 or slots[slot, UPPER] < slots[best, UPPER]:
            best = slot
    if best < 0 or slots[best, N] < control[RIPE]:
        return -1
    if better(slots[best, UPPER], slots[champion, LOWER], slots[champion, EPSILON]):
        return best
    return -1


@compiled(error_model="numpy")
def is_worse(slots: Slots, control: Control, champion: int, slot: int) -> bool:
    """Return whether the challenger in `slot` fails the Worse test."""
    return (
        slot != champion
        and slots[slot, CONFIGURATION] >= 0
        and slots[slot, OUT] == 0
        and slots[slot, N] >= control[RIPE]
        and worse(
            slots[slot, LOWER], slots[slot, EPSILON], slots[champion, UPPER], control[WORSE_MARGIN]
        )
    )


@compiled(error_model="numpy")
def _epsilon(control: Control, n: float, dimension: float, value_range: float) -> float:
    if control[LITERAL] != 0:
        return epsilon_paper(n, dimension, control[N_CANDIDATES], value_range)
    if value_range == 0:
        # The authors' guard: a single label so far does not justify certainty.
        value_range = 1.0
    return epsilon_flaml(n, dimension, value_range)


@compiled(error_model="numpy")
def advance(
    examples: Floats,
    labels: Floats,
    importances: Floats,
    predictions: Floats,
    slots: Slots,
    control: Control,
    handle: Handle,
    loss: int,
) -> int:
    """Predict and learn examples until a decision is due; return how many were learned.

    Models that are faster there learn in lanes.

    Parameters
    ----------
    examples : ndarray of float32, shape (n_examples, n_features)
    labels, importances : ndarray of float32, shape (n_examples,)
    predictions : ndarray of float32, shape (n_examples,)
        Written: the progressive predictions of the models that `select` names.
    slots, control : ndarray of float64
        The race's state; updated.
    handle, loss
        Of the models, see `leaseboard.algorithms.online.kernel_models.KernelModels`.
    """
    pool = open_pool(handle)
    # Copy the models that are faster there into lanes.
    live = np.flatnonzero(slots[:, CONFIGURATION] >= 0)
    share = placement.share_of_values(examples)
    joined, single = placement.split(live, pool.n_terms, pool.plain, len(examples), share)
    groups = lanes.enter(joined, pool, examples.shape[1])
    outputs, learned = pool.outputs, 0
    for t in range(len(labels)):
        # Select the model that predicts, before the label is seen.
        predictor = select(slots, control)
        # Let all models learn, and keep what they predicted before.
        for models in groups:
            lanes.look_group(examples[t], models, outputs)
            lanes.learn_group(labels[t], importances[t], loss, models, pool.sums)
        for slot in single:
            outputs[slot] = look(examples[t], slot, handle)
            take(labels[t], importances[t], slot, handle, loss)
        predictions[t] = outputs[predictor] if predictor >= 0 else 0
        # Take the losses, and stop where they call for a decision.
        observe(slots, control, labels[t], outputs)
        control[DUE] = needs_decision(slots, control)
        learned = t + 1
        if control[DUE] != 0:
            break
    for models in groups:
        lanes.leave(models, pool)
    return learned


@compiled
def _open(handle: Handle) -> tuple[Floats, Slots, Control, Handle]:
    """Return the row, the slots, the control and the models' own handle."""
    return (
        array_at(pointer(handle[0, 0]), (handle[0, 1],), np.float32),
        array_at(pointer(handle[1, 0]), (handle[1, 1], N_SLOT_COLUMNS), np.float64),
        array_at(pointer(handle[2, 0]), (N_CONTROLS,), np.float64),
        array_at(pointer(handle[3, 0]), (handle[3, 1], handle[3, 2]), np.int64),
    )


@compiled(error_model="numpy")
def learn_row(handle: Handle, loss: int, label: float, importance: float) -> bool:
    """Learn one example as `advance` does, in no lanes; return whether a decision is due."""
    # Take all arrays out of the handle.
    example, slots, control, models = _open(handle)
    outputs = open_pool(models).outputs
    target: Any = np.float32(label)
    weight = np.float32(importance)
    # Select the model that predicts, then let all models learn.
    select(slots, control)
    for slot in range(len(slots)):
        if slots[slot, CONFIGURATION] >= 0:
            outputs[slot] = look(example, slot, models)
            take(target, weight, slot, models, loss)
    # Take the losses, and find whether they call for a decision.
    observe(slots, control, target, outputs)
    control[DUE] = needs_decision(slots, control)
    return bool(control[DUE] != 0)


@compiled(error_model="numpy")
def predict_row(handle: Handle) -> float:
    """Return `predict_selected` for the example in the row."""
    return predict_selected(*_open(handle))


@compiled(error_model="numpy")
def predict_selected(example: Floats, slots: Slots, control: Control, models: Handle) -> float:
    """Return the prediction of the model that `select` names; 0 if it names none."""
    slot = select(slots, control)
    if slot < 0:
        return 0.0
    return float(look(example, slot, models))

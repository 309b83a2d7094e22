"""Chances of two and more classes: today's prediction, members, and their stack, by Bayes' rule.

*Today's prediction* is what the races and their naive baselines give
(`leaseboard.algorithms.online_automl.one_vs_rest`). The members are trees, Fourier features and
neighbours (`leaseboard.algorithms.online_automl.members.pool`). A logarithmic pool *stacks* the
four [1]_: it predicts in proportion to Π_m p_m(k)^w_m, with weights w that learn online, by a step
of Newton's method on the log loss for each label, whose curvature forgets. At first it is today's
prediction.

The probability that is predicted is the average of the five by Bayes' rule
(`leaseboard.algorithms.online_automl.safe.bayes`).

**Theorem.** For every sequence of examples, after each one, the log loss is at most ln 5 + A,
3.21 nats, above that of the best of today's prediction, the stack, trees, Fourier features and
neighbours, and so at most ln 5 + A + c above that of the best expert of today's prediction, where
its own theorem has the constant c: ln 7 + A for two classes, ln 6 + A for more. None of the five
gives a class less than `LEAST` over the number of classes; a member without a lease is said to
predict today's prediction. The example with which a class comes is left out.

*Proof.* Bayes' rule over the five, then over today's experts. ∎

References
----------
.. [1] Genest, Zidek. Combining probability distributions. Statistical Science 1, 1986.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import Handle, handle_of, quick
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.online_automl.log_pool import PRIOR, pool_logs, step_pool
from leaseboard.algorithms.online_automl.members.leases import SAVED
from leaseboard.algorithms.online_automl.members.pool import (
    MEMBERS,
    OWN,
    MemberPool,
    any_awake,
    consult,
)
from leaseboard.algorithms.online_automl.safe.bayes import average, new_weights, scale, update
from leaseboard.algorithms.online_automl.safe.passes import (
    PREDICTIONS,
    floats,
    matrix,
    rows,
    vector,
)
from leaseboard.algorithms.transcendental import exp, log

LEAST = 1e-3

N_STACKED = 1 + len(MEMBERS)
N_EXPERTS = 1 + N_STACKED
"""Today's prediction, the members, and their stack."""


class ClassPool(MemberPool):
    """Members for classes, and the probabilities that they and today's prediction give.

    Attributes
    ----------
    weights, curvature : ndarray of float64, shapes (4,) and (4, 4)
        Of the stack.
    bayes : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.bayes`.
    lost : ndarray of float64, shape (7,)
        The log loss of each expert and of the average, and the largest excess at any time of the
        latter over that of the best expert.
    came : ndarray of float64, shape (n_classes,)
        1 for each class that came.
    """

    kept: ClassVar[tuple[str, ...]] = (
        *MemberPool.kept,
        "weights",
        "curvature",
        "bayes",
        "lost",
        "came",
    )

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(n_features, n_classes, seed)
        self.weights = np.eye(N_STACKED)[0].copy()
        self.curvature = PRIOR * np.eye(N_STACKED)
        self.bayes = new_weights(N_EXPERTS)
        self.lost = np.zeros(N_EXPERTS + 2)
        self.came = np.zeros(n_classes)

    def grow(self, n_features: int, n_classes: int) -> None:
        """See `MemberPool.grow`."""
        self.came = np.pad(self.came, (0, n_classes - self.n_classes))
        super().grow(n_features, n_classes)

    def learn(self, today: Doubles, examples: Floats, classes: Doubles, worths: Floats) -> Doubles:
        """Learn a block; return its progressive probabilities.

        Parameters
        ----------
        today : ndarray of float64, shape (n, n_classes)
            What is predicted without members.
        examples : ndarray of float32, shape (n, n_features)
        classes : ndarray of float64, shape (n,)
            Their numbers.
        worths : ndarray of float32, shape (n,)
            Importances; an example of 0 is predicted, and teaches nothing.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
        """
        found = np.empty_like(today)
        self._take(today, examples, classes, worths, found, learns=True)
        return found

    def _take(
        self,
        today: Doubles,
        examples: Floats,
        classes: Doubles,
        worths: Floats,
        found: Doubles,
        *,
        learns: bool,
    ) -> None:
        for part in self.parts(len(today), learns=learns):
            given = handle_of(
                today[part], examples[part], classes[part], worths[part], found[part]
            )
            pass_many_classes(self.handle, given, learns)

    def predict(self, today: Doubles, example: Floats) -> Doubles:
        """Return the probabilities of one example, shape (n_classes,); nothing is learned."""
        found, nothing = np.empty((1, len(today))), np.zeros(1, dtype=np.float32)
        self._take(today[None], example[None], np.zeros(1), nothing, found, learns=False)
        return np.asarray(found[0])

    def answer(self, given: Handle, n: int, *, learns: bool) -> None:
        """Replace log odds of the second of two classes by those of the average.

        Parameters
        ----------
        given : ndarray of int64
            The handle of a block, see `leaseboard.algorithms.online_automl.safe.passes`, of labels
            -1 and 1.
        n : int
            Its examples.
        learns : bool
            False learns nothing.
        """
        for part in self.parts(n, learns=learns):
            pass_two_classes(self.handle, given, part.start, part.stop, learns)

    def address(self, given: Handle) -> int:
        """See `MemberPool.address`."""
        return pass_two_classes.address(self.handle, given, 0, 1, True)

    def _own(self) -> tuple[Any, ...]:
        return self.weights, self.curvature, self.bayes, self.lost, self.came

    def weighed(self) -> tuple[Doubles, Doubles]:
        """See `MemberPool.weighed`; those in the stack are exponents."""
        return self.bayes[1:].copy(), self.weights.copy()

    def notes(self) -> dict[str, float]:
        """See `MemberPool.notes`; and the most nats that were lost above the best expert."""
        return {**super().notes(), "nats_over_best_member": float(self.lost[-1])}


@quick
@compiled
def pass_two_classes(pool: Handle, given: Handle, start: int, stop: int, learns: bool) -> None:
    """Do `pool_classes` with a part of a block, of which there are log odds."""
    predictions = floats(given, PREDICTIONS)[start:stop]
    examples, labels = rows(given, 0)[start:stop], floats(given, 1)[start:stop]
    worths = floats(given, 2)[start:stop] if learns else np.zeros(len(labels), np.float32)
    today, found = np.empty((len(labels), 2)), np.empty((len(labels), 2))
    classes = np.empty(len(labels))
    for t in range(len(labels)):
        today[t, 1] = 1.0 / (1.0 + exp(-np.float64(predictions[t])))
        today[t, 0] = 1.0 - today[t, 1]
        classes[t] = 1.0 if labels[t] > 0.0 else 0.0
    pool_classes(pool, today, examples, classes, worths, found)
    for t in range(len(labels)):
        predictions[t] = log(found[t, 1] / found[t, 0])


@quick
@compiled
def pass_many_classes(pool: Handle, given: Handle, learns: bool) -> None:
    """Do `pool_classes` with a block: today's prediction, examples, classes, worths, and found."""
    worths = floats(given, 3)
    pool_classes(
        pool, matrix(given, 0), rows(given, 1), vector(given, 2),
        worths if learns else np.zeros(len(worths), np.float32), matrix(given, 4),
    )  # fmt: skip


@compiled(error_model="numpy")
def pool_classes(
    pool: Handle,
    today: Doubles,
    examples: Floats,
    classes: Doubles,
    worths: Floats,
    found: Doubles,
) -> None:
    """Ask the members, and write the average of each example before its label is used."""
    if not any_awake(pool):
        _count(today, classes, worths, vector(pool, OWN + 3), vector(pool, OWN + 4), found)
        return
    members = np.empty((N_STACKED - 1, len(today), today.shape[1]))
    for m in range(N_STACKED - 1):
        members[m] = today
    consult(pool, examples, classes, worths, members)
    average_classes(pool, today, members, classes, worths, found)


@compiled(error_model="numpy")
def _count(
    today: Doubles, classes: Doubles, worths: Floats, lost: Doubles, came: Doubles, found: Doubles
) -> None:
    """Take what all five lose alike where none has a lease: today's prediction is everyone's."""
    for t in range(len(today)):
        found[t] = today[t]
        scale(found[t], LEAST / today.shape[1])
        worth, number = min(np.float64(worths[t]), 1.0), int(classes[t])
        if worth > 0.0 and came[number] > 0.0:
            for m in range(N_EXPERTS + 1):
                lost[m] -= worth * log(found[t, number])
        elif worth > 0.0:
            came[number] = 1.0


@compiled(error_model="numpy")
def average_classes(
    pool: Handle,
    today: Doubles,
    members: Doubles,
    classes: Doubles,
    worths: Floats,
    found: Doubles,
) -> None:
    """Write the average of today's prediction, of what `members` say, and of their stack."""
    weights, curvature, bayes = vector(pool, OWN), matrix(pool, OWN + 1), vector(pool, OWN + 2)
    came, k, least = vector(pool, OWN + 4), found.shape[1], LEAST / found.shape[1]
    logs, experts, shown = np.empty((N_STACKED, k)), np.empty((N_EXPERTS, k)), np.empty(N_EXPERTS)
    for t in range(len(found)):
        # The four that are stacked, bounded from below, and their stack.
        for m in range(N_STACKED):
            experts[m] = today[t] if m == 0 else members[m - 1, t]
            scale(experts[m], least)
            for j in range(k):
                logs[m, j] = log(experts[m, j])
        stacked = experts[N_STACKED]
        pool_logs(logs, weights, stacked)
        scale(stacked, least)
        # The average of the five.
        for j in range(k):
            found[t, j] = 0.0
            for m in range(N_EXPERTS):
                found[t, j] += bayes[1 + m] * experts[m, j]
        importance, number = np.float64(worths[t]), int(classes[t])
        if importance <= 0.0:
            continue
        if came[number] == 0.0:
            came[number] = 1.0
            continue
        # The stack learns, then leases and Bayes' rule, by what each said of the class that came.
        step_pool(logs, stacked, number, importance, weights, curvature)
        for m in range(N_EXPERTS):
            shown[m] = experts[m, number]
        _weigh(shown, min(importance, 1.0), pool, bayes)


@compiled(error_model="numpy")
def _weigh(shown: Doubles, worth: float, pool: Handle, bayes: Doubles) -> None:
    """Learn what each of the five said of the class that came, `worth` at most 1."""
    leases, lease_lost, lost = matrix(pool, 0), vector(pool, 1), vector(pool, OWN + 3)
    # What a quarter of each member would save today's prediction, in its lease.
    for m in range(N_STACKED - 1):
        lease_lost[m] -= worth * log(shown[0])
        leases[m, SAVED] += worth * log(0.75 + 0.25 * shown[1 + m] / shown[0])
    # What was lost, and the excess over the best; the log loss is mixable up to the weight 1.
    lost[N_EXPERTS] -= worth * log(average(shown, bayes))
    best = math.inf
    for m in range(N_EXPERTS):
        lost[m] -= worth * log(shown[m])
        best = min(best, lost[m])
        if worth < 1.0:
            shown[m] = exp(worth * log(shown[m]))
    lost[N_EXPERTS + 1] = max(lost[N_EXPERTS + 1], lost[N_EXPERTS] - best)
    update(shown, bayes)

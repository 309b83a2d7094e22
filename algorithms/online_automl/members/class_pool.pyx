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

import numpy as np

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online_automl.log_pool cimport add_up, pool_logs, step_pool
from leaseboard.algorithms.online_automl.members.member cimport Chunk
from leaseboard.algorithms.online_automl.members.pool cimport (
    CHUNK, N_EXPERTS, N_MEMBERS, N_STACKED, SAVED,
)
from leaseboard.algorithms.online_automl.safe cimport bayes
from leaseboard.algorithms.online_automl.safe.expansion cimport Block

from leaseboard.algorithms.online_automl.log_pool import PRIOR
from leaseboard.algorithms.online_automl.safe.bayes import new_weights

cdef double _LEAST = 1e-3
LEAST = _LEAST


cdef class ClassPool(MemberPool):
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

    kept = (*MemberPool.kept, "weights", "curvature", "bayes", "lost", "came")

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        super().__init__(n_features, n_classes, seed)
        self.weights = np.eye(N_STACKED)[0].copy()
        self.curvature = PRIOR * np.eye(N_STACKED)
        self.bayes = new_weights(N_EXPERTS)
        self.lost = np.zeros(N_EXPERTS + 2)
        self.came = np.zeros(n_classes)

    def _allocate(self) -> None:
        super()._allocate()
        k = max(1, self.n_classes)
        self._classes, self._average = np.zeros(CHUNK), np.zeros(CHUNK * k)
        self._logs, self._experts = np.zeros(N_STACKED * k), np.zeros(N_EXPERTS * k)
        self._shown = np.zeros(N_EXPERTS)

    def grow(self, n_features: int, n_classes: int) -> None:
        """See `MemberPool.grow`."""
        self.came = np.pad(self.came, (0, n_classes - self.n_classes))
        super().grow(n_features, n_classes)

    def learn(
        self, const double[:, ::1] today, const float[:, ::1] examples,
        const double[::1] classes, const float[::1] worths,
    ):
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
        cdef double[:, ::1] found = np.empty((len(today), self.n_classes))
        cdef Py_ssize_t start = 0, stop
        cdef Chunk chunk
        while start < len(today):
            stop = self.part(start, len(today), True)
            chunk = Chunk(
                &examples[start, 0], NULL, &classes[start], &worths[start], stop - start, False
            )
            self.take(&today[start, 0], chunk, &found[start, 0])
            self.count(stop - start)
            start = stop
        return np.asarray(found)

    def predict(self, const double[::1] today, const float[::1] example):
        """Return the probabilities of one example, shape (n_classes,); nothing is learned."""
        cdef double[::1] found = np.empty(self.n_classes)
        chunk = Chunk(&example[0], NULL, &self._classes[0], &self._nothing[0], 1, False)
        self.take(&today[0], chunk, &found[0])
        return np.asarray(found)

    def weighed(self):
        """See `MemberPool.weighed`; those in the stack are exponents."""
        return np.array(self.bayes[1:]), np.array(self.weights)

    def notes(self):
        """See `MemberPool.notes`; and the most nats that were lost above the best expert."""
        return {**super().notes(), "nats_over_best_member": self.lost[N_EXPERTS + 1]}

    cdef void consult(self, Block block, Py_ssize_t start, Py_ssize_t stop) noexcept:
        """Do `MemberPool.answer` with log odds of the second of two classes."""
        cdef double *today = &self._today[0]
        cdef double *found = &self._average[0]
        cdef Chunk chunk
        while start < stop:
            chunk.n, chunk.examples = min(stop - start, CHUNK), &block._examples[start, 0]
            chunk.targets = &self._classes[0]
            chunk.worths = &block._importances[start] if block.learns else &self._nothing[0]
            for t in range(chunk.n):
                today[2 * t + 1] = 1.0 / (1.0 + exp(-<double>block._predictions[start + t]))
                today[2 * t] = 1.0 - today[2 * t + 1]
                self._classes[t] = 1.0 if block._labels[start + t] > 0.0 else 0.0
            self.take(today, chunk, found)
            for t in range(chunk.n):
                block._predictions[start + t] = <float>log(found[2 * t + 1] / found[2 * t])
            start += chunk.n

    cdef void take(self, const double *today, Chunk chunk, double *found) noexcept:
        """Ask the members, and write the average of each example before its label is used."""
        cdef Py_ssize_t k = self.n_classes, left = chunk.n, m, number
        # Where none has a lease today's prediction is everyone's, and all five lose alike.
        if not self.any_awake():
            for t in range(left):
                for j in range(k):
                    found[j] = today[j]
                bayes.scale(found, k, _LEAST / k)
                worth, number = min(<double>chunk.worths[t], 1.0), <Py_ssize_t>chunk.targets[t]
                if worth > 0.0 and self.came[number] > 0.0:
                    for m in range(N_EXPERTS + 1):
                        self.lost[m] -= worth * log(found[number])
                elif worth > 0.0:
                    self.came[number] = 1.0
                today += k
                found += k
            return
        while left > 0:
            chunk.n = min(left, CHUNK)
            for m in range(N_MEMBERS):
                for t in range(chunk.n):
                    for j in range(k):
                        self._found[m, t, j] = today[t * k + j]
            self.ask(&chunk)
            for t in range(chunk.n):
                self.average(today, t, <Py_ssize_t>chunk.targets[t], chunk.worths[t], found)
                today += k
                found += k
            left, chunk.examples = left - chunk.n, chunk.examples + chunk.n * self.n_features
            chunk.targets, chunk.worths = chunk.targets + chunk.n, chunk.worths + chunk.n

    cdef void average(
        self, const double *today, Py_ssize_t t, Py_ssize_t number, double worth, double *found
    ) noexcept nogil:
        """Write the average of today's prediction, of what members found, and of their stack."""
        cdef Py_ssize_t k = self.n_classes, m
        cdef double least = _LEAST / k
        cdef double *logs = &self._logs[0]
        cdef double *experts = &self._experts[0]
        cdef double *stacked = experts + N_STACKED * k
        # The four that are stacked, bounded from below, and their stack.
        for m in range(N_STACKED):
            for j in range(k):
                experts[m * k + j] = today[j] if m == 0 else self._found[m - 1, t, j]
            bayes.scale(experts + m * k, k, least)
            for j in range(k):
                logs[m * k + j] = log(experts[m * k + j])
        pool_logs(logs, &self.weights[0], N_STACKED, k, stacked)
        bayes.scale(stacked, k, least)
        # The average of the five.
        add_up(&self.bayes[1], experts, N_EXPERTS, k, found)
        if worth <= 0.0:
            return
        if self.came[number] == 0.0:
            self.came[number] = 1.0
            return
        # The stack learns; what a quarter of each member would save today's prediction is in its
        # lease; and Bayes' rule learns by what each said of the class that came.
        step_pool(
            logs, stacked, N_STACKED, k, number, worth, &self.weights[0], &self.curvature[0, 0]
        )
        for m in range(N_EXPERTS):
            self._shown[m] = experts[m * k + number]
        worth = min(worth, 1.0)
        for m in range(N_MEMBERS):
            self._lost[m] -= worth * log(self._shown[0])
            saved = log(0.75 + 0.25 * self._shown[1 + m] / self._shown[0])
            self._leases[m, SAVED] += worth * saved
        bayes.learn(self._shown, worth, self.bayes, self.lost, N_EXPERTS)

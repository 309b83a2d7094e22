"""Effects of texts: by how much the labels with a city, an airport or a product differ from others.

Of a column of many texts the first ones have features of their own; later ones share some, and have
a code (`leaseboard.algorithms.tables.features`), from which neither linear models nor trees learn
hundreds of levels. So from the first code on, models also see the *effect* of each text of the
column on labels y,

    effect = Σ w (y - m) / (Σ w + `PRIOR`),

where m is the mean of all labels so far, and the weight w of a label is its importance times
exp(-n / `MEMORY`), n examples later, since a text's level may change. The sums are of labels that
were learned before, so an example does not know of its own [1]_. The effect of a text that is new,
or missing, is 0.

References
----------
.. [1] Prokhorenkova et al. CatBoost: unbiased boosting with categorical features. NeurIPS 2018,
       section 3: ordered target statistics.
"""

import numpy as np

from libc.string cimport memcpy

from leaseboard.algorithms.elementary cimport exp

from leaseboard.algorithms.tables.features import CODES, MOST_VALUES

PRIOR = 1.0
"""Labels at the mean that are added to those of each text."""

MEMORY = 20_000.0
"""Examples after which a label weighs 1/e."""

SLOTS = 2**16
"""Sums of a column; texts whose codes are equal modulo this share one."""

cdef double _PRIOR = PRIOR, _MEMORY = MEMORY, _CODES = CODES
cdef Py_ssize_t _SLOTS = SLOTS

cdef enum:
    # Of each text: Σ w and Σ w (y - m) when it came last, and how many examples there were then.
    WEIGHT, ABOVE, LAST, N_FIELDS


cdef class TextEffects:
    """Effects of the texts of some columns.

    Parameters
    ----------
    origins : sequence of Origin
        Of the features.

    Attributes
    ----------
    n_columns : int
    learned : tuple of ndarray, shapes (n_texts,) and (n_texts, 3)
        Where something was learned, and what: see `WEIGHT` and those after it.
    """

    kept = ("learned",)

    def __init__(self, origins):
        codes = [j for j, each in enumerate(origins) if each.part == "code"]
        effects = [j for j, each in enumerate(origins) if each.part == "effect"]
        own = np.full((len(codes), MOST_VALUES), -1, dtype=np.int64)
        for k, code in enumerate(codes):
            column = origins[code].column
            # Those of texts of their own came before those that are shared.
            texts = [j for j, of in enumerate(origins) if of.column == column and of.value]
            texts = texts[:MOST_VALUES]
            own[k, : len(texts)] = texts
        self.n_columns = len(codes)
        # A column's code and effect come at once, so both are in one order.
        self._codes, self._effects = np.array([codes, effects], dtype=np.int64)
        self._own = own
        self._sums = np.zeros((self.n_columns, SLOTS + MOST_VALUES, N_FIELDS))
        self._at = np.full(self.n_columns, -1, dtype=np.int64)

    def grow(self, origins):
        """Go on with more features, which were 0 until now."""
        before = self.learned
        self.__init__(origins)
        self.learned = before

    @property
    def learned(self):
        sums = np.asarray(self._sums).reshape(-1, N_FIELDS)
        places = np.flatnonzero(sums[:, WEIGHT])
        return places, sums[places]

    @learned.setter
    def learned(self, found):
        places, sums = found
        np.asarray(self._sums).reshape(-1, N_FIELDS)[places] = sums

    cdef void write(
        self, const float[::1] example, float[::1] written, double seen
    ) noexcept nogil:
        cdef Py_ssize_t k, i, own
        memcpy(&written[0], &example[0], example.shape[0] * sizeof(float))
        for k in range(self._effects.shape[0]):
            # Where the text's sums are: by its code, or else by the feature that is its own.
            self._at[k] = -1
            if example[self._codes[k]] > 0.0:
                self._at[k] = <Py_ssize_t>(example[self._codes[k]] * _CODES) % _SLOTS
            else:
                for i in range(self._own.shape[1]):
                    own = self._own[k, i]
                    if own >= 0 and example[own] != 0.0:
                        self._at[k] = _SLOTS + i
            written[self._effects[k]] = 0.0
            if self._at[k] >= 0:
                sums = &self._sums[k, self._at[k], 0]
                kept = exp((sums[LAST] - seen) / _MEMORY)
                written[self._effects[k]] = <float>(
                    kept * sums[ABOVE] / (kept * sums[WEIGHT] + _PRIOR)
                )

    cdef void learn(self, double above, double importance, double seen) noexcept nogil:
        for k in range(self._effects.shape[0]):
            if self._at[k] >= 0:
                sums = &self._sums[k, self._at[k], 0]
                kept = exp((sums[LAST] - seen) / _MEMORY)
                sums[WEIGHT] = kept * sums[WEIGHT] + importance
                sums[ABOVE] = kept * sums[ABOVE] + importance * above
                sums[LAST] = seen

"""Effects of texts: by how much the labels with a city, an airport or a product differ from others.

Of a column of many texts the first ones have features of their own; the others have a code, which
distinguishes them and whose order means nothing (`leaseboard.algorithms.tables.features`). In the
place of a text's code models see its *effect* on labels y, whose mean was m when each was learned
with importance w,

    effect = Σ w (y - m) / (Σ w + `PRIOR`),

by the examples before alone, so that no example knows of its own label [1]_. It is 0 for a text
that is new.

References
----------
.. [1] Prokhorenkova et al. CatBoost: unbiased boosting with categorical features. NeurIPS 2018,
       section 3: ordered target statistics.
"""

import numpy as np

from libc.string cimport memcpy

PRIOR = 1.0
"""Examples with the mean label as which it counts that little is known of a text."""

MOST = 50_000
"""Texts whose effects are remembered, the first ones."""

cdef double _PRIOR = PRIOR

cdef enum:
    WEIGHT, ABOVE  # of each text: Σ w and Σ w (y - m)


cdef class TextEffects:
    """Effects of the texts of some columns.

    Parameters
    ----------
    origins : sequence of Origin
        Of the features.

    Attributes
    ----------
    columns : ndarray of int64
        Which features are codes.
    learned : tuple of ndarray of float64, shapes (n_texts,) and (n_texts, 2)
        Of each text its column and code, as one number, and its sums.
    """

    kept = ("learned",)

    def __init__(self, origins):
        codes = [j for j, each in enumerate(origins) if each.part == "code"]
        self.columns = self._columns = np.array(codes, dtype=np.int64)
        self._at = np.full(len(codes), -1, dtype=np.int64)
        self.places, self.sums = {}, np.zeros((1, 2))

    def grow(self, origins):
        """Go on with more features, which were 0 until now."""
        before = self.learned
        self.__init__(origins)
        self.learned = before

    @property
    def learned(self):
        keys = np.array([*self.places], dtype=np.float64)
        return keys, np.array(self.sums[: len(keys)])

    @learned.setter
    def learned(self, found):
        keys, sums = found
        self.places = {key: place for place, key in enumerate(keys.tolist())}
        self.sums = np.zeros((max(1, len(keys)), 2))
        np.asarray(self.sums)[: len(keys)] = sums

    cdef int express(self, const float[::1] given, float[::1] shown) except -1:
        if self._columns.shape[0] == 0:
            return 0
        memcpy(&shown[0], &given[0], given.shape[0] * sizeof(float))
        for k in range(self._columns.shape[0]):
            j = self._columns[k]
            self._at[k] = -1
            if given[j] == 0.0:
                continue
            place = self.places.get(<double>j + given[j])
            if place is not None:
                sums = &self.sums[<Py_ssize_t>place, 0]
                shown[j] = <float>(sums[ABOVE] / (sums[WEIGHT] + _PRIOR))
                self._at[k] = place
            else:
                shown[j] = 0.0

    cdef int learn(self, const float[::1] given, double above, double importance) except -1:
        for k in range(self._columns.shape[0]):
            j = self._columns[k]
            # A text that is new has a place, where there is room, which is doubled.
            if given[j] != 0.0 and self._at[k] < 0 and len(self.places) < MOST:
                self._at[k] = len(self.places)
                self.places[<double>j + given[j]] = self._at[k]
                if self._at[k] == self.sums.shape[0]:
                    self.sums = np.pad(self.sums, ((0, self._at[k]), (0, 0)))
            if self._at[k] >= 0:
                sums = &self.sums[self._at[k], 0]
                sums[WEIGHT] += importance
                sums[ABOVE] += importance * above

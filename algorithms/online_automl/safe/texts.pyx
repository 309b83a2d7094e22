"""Effects of texts: by how much the labels with a city, an airport or a product differ from others.

Of a column of many texts the first ones have features of their own; later ones share some, and have
a code (`leaseboard.algorithms.tables.features`), from which neither linear models nor trees learn
hundreds of levels. So models also see the *effect* of each text of the column on labels y,

    effect = Σ w (y - m) / (Σ w + `PRIOR`),

where m is the mean of all labels until then, and the weight w of a label is its importance times
exp(-n / `MEMORY`), n examples later, since a text's level may change. The sums are of labels that
were learned before, so an example does not know of its own [1]_, and begin with the first code. The
effect of a text that is new, or missing, is 0.

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

SLOTS, FEWEST = 2**16, 2**10
"""Sums of a column in all races together, and in each at least. Texts share one if their numbers,
`leaseboard.algorithms.tables.features.CODES` times their codes, are equal modulo those of a race.
"""

cdef double _PRIOR = PRIOR, _MEMORY = MEMORY, _CODES = CODES

cdef enum:
    # Of each text: Σ w and Σ w (y - m) when it came last, and how many examples there were then.
    WEIGHT, ABOVE, LAST, N_FIELDS


cdef class TextEffects:
    """Effects of the texts of some columns.

    Parameters
    ----------
    origins : sequence of Origin
        Of the features.
    shares : int
        How many there are of these, one for each class: together they have bounded memory.

    Attributes
    ----------
    n_columns : int
    found : ndarray of float64, shape (n_columns,)
        The effects of the texts of the last example.
    learned : tuple of ndarray, shapes (n_texts,) and (n_texts, 3)
        Where something was learned, and what: see `WEIGHT` and those after it.
    """

    kept = "shares", "learned"

    def __init__(self, origins, shares=1):
        self.origins, self.shares, self.slots = origins, shares, max(FEWEST, SLOTS // shares)
        codes = {(of.space, of.column): j for j, of in enumerate(origins) if of.part == "code"}
        effects = {(of.space, of.column): j for j, of in enumerate(origins) if of.part == "effect"}
        own = {column: [] for column in codes}
        for j, of in enumerate(origins):
            if (of.space, of.column) in own and of.value and not of.part:
                own[of.space, of.column].append(j)
        self.n_columns = len(codes)
        self._codes = np.array([*codes.values()], dtype=np.int64)
        self._effects = np.array([effects[column] for column in codes], dtype=np.int64)
        places = np.full((self.n_columns, MOST_VALUES), -1, dtype=np.int64)
        for row, its in zip(places, own.values(), strict=True):
            its = its[:MOST_VALUES]  # those of one text came before those that are shared
            row[: len(its)] = its
        self._own = places
        self._sums = np.zeros((self.n_columns, self.slots + MOST_VALUES, N_FIELDS))
        self._at, self.found = np.full(self.n_columns, -1, dtype=np.int64), np.zeros(self.n_columns)

    def grow(self, origins):
        """Go on with more features, which were 0 until now."""
        if sum(of.part == "code" for of in origins) > self.n_columns:
            before = self.learned
            self.__init__(origins, self.shares)
            self.learned = before

    def share(self, shares):
        """Share memory with others, so many in all, before anything is learned."""
        self.__init__(self.origins, shares)

    def fill(self, state):
        """See `leaseboard.algorithms.plain.Saved.fill`; where sums are depends on the shares."""
        self.share(state["shares"])
        self.learned = state["learned"]

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
                self._at[k] = <Py_ssize_t>(example[self._codes[k]] * _CODES) % self.slots
            else:
                for i in range(self._own.shape[1]):
                    own = self._own[k, i]
                    if own >= 0 and example[own] != 0.0:
                        self._at[k] = self.slots + i
            self.found[k] = 0.0
            if self._at[k] >= 0:
                sums = &self._sums[k, self._at[k], 0]
                kept = exp((sums[LAST] - seen) / _MEMORY)
                self.found[k] = kept * sums[ABOVE] / (kept * sums[WEIGHT] + _PRIOR)
            written[self._effects[k]] = <float>self.found[k]

    cdef void learn(self, double above, double importance, double seen) noexcept nogil:
        for k in range(self._effects.shape[0]):
            if self._at[k] >= 0:
                sums = &self._sums[k, self._at[k], 0]
                kept = exp((sums[LAST] - seen) / _MEMORY)
                sums[WEIGHT] = kept * sums[WEIGHT] + importance
                sums[ABOVE] = kept * sums[ABOVE] + importance * above
                sums[LAST] = seen

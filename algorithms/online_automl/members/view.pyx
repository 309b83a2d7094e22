"""What trees see of an example: its features, a number for each category, and effects of texts.

A feature that is 1 for one category parts it from all others. Trees that have only such features
need a split for each category, and find hardly anything that depends on a category and on something
else. So of each nominal column they also see a *code*: which of its features is 1, in the order in
which they came. A split of the code parts several categories at once.

Of three and more classes they see how far each class was above its mean with a text
(`leaseboard.algorithms.online_automl.safe.texts`): the effects that the race of each class has.
Members that go by distances see neither.
"""

from libc.math cimport rint

import numpy as np

from leaseboard.algorithms.online.schema import Origin

from leaseboard.algorithms.online_automl.safe.texts cimport TextEffects

MOST_EFFECTS = 64
"""Columns of effects at most: of the classes that came first."""

cdef double _STEP = 0.25
"""Trees see effects as multiples of this.

Their smallest differences say which of a text's labels came before a row, so which are to come.
Trees that are fitted to all of these rows learn it, and no later row is like that.
"""


cdef class TreeView:
    """Columns that trees see. What is new comes after all that they saw before.

    Parameters
    ----------
    origins : sequence of Origin
        Of the features; empty if all are numbers.
    n_features : int

    Attributes
    ----------
    features, codes : ndarray of int64, shape (n_features,)
        The column of each feature, and that of the code that it is part of; -1 if it is of none.
    effects : ndarray of int64, shape (n_effects, 3)
        The column of each effect, of which race it is, and of which of its columns of texts.
    n_columns : int
    texts : list of TextEffects
        Those of each race.

    Examples
    --------
    >>> red, blue = (Origin("colour", value=text) for text in ("red", "blue"))
    >>> view = TreeView([red, Origin("size"), blue], 3)
    >>> view.features.tolist(), view.codes.tolist()
    ([0, 2, 3], [1, -1, 1])
    """

    kept = "features", "codes", "effects"

    def __init__(self, origins, n_features):
        self._set([], [], [])
        self.grow(origins, n_features)

    def grow(self, origins, n_features, races=()):
        """Go on with more features, which were 0 until now, and more races that have effects."""
        self.texts = [race.ensemble.texts for race in races]
        features, codes = self.features.tolist(), self.codes.tolist()
        effects, end, known = self.effects.tolist(), self.n_columns, {}
        for j, of in enumerate(origins or [Origin("")] * n_features):
            column = of.space, of.column, of.part
            if j == len(features):
                features.append(end)
                end += 1
                if of.value and column not in known:
                    known[column] = end
                    end += 1
                codes.append(known[column] if of.value else -1)
            elif of.value:
                known[column] = codes[j]
        n_texts = sum(of.part == "effect" for of in origins)
        wanted = [[race, of] for race in range(len(races)) for of in range(n_texts)]
        there = [each[1:] for each in effects]
        new = [each for each in wanted[:MOST_EFFECTS] if each not in there]
        self._set(features, codes, [*effects, *([end + k, *each] for k, each in enumerate(new))])

    def _set(self, features, codes, effects):
        self.features, self.codes = np.array(features, np.int64), np.array(codes, np.int64)
        self.effects = np.array(effects, np.int64).reshape(-1, 3)
        self._features, self._codes, self._effects = self.features, self.codes, self.effects
        own = self.codes[self.codes >= 0]
        self.n_columns = len(features) + len(np.unique(own)) + len(effects)
        # The first feature of a code is 1, the next one 2, and so on.
        ranks = [int((self.codes[: j + 1] == code).sum()) for j, code in enumerate(codes)]
        self._ranks = np.array(ranks, np.float32)
        self._seen = np.zeros(self.n_columns, np.float32)

    def fill(self, state):
        """See `leaseboard.algorithms.plain.Saved.fill`."""
        self._set(*(state[name].tolist() for name in self.kept))

    cdef const float *see(self, const float *example) except NULL:
        cdef Py_ssize_t n = self._features.shape[0], j
        if self.n_columns == n:
            return example
        for j in range(n):
            if self._codes[j] >= 0:
                self._seen[self._codes[j]] = 0.0
        for j in range(n):
            self._seen[self._features[j]] = example[j]
            if self._codes[j] >= 0 and example[j] != 0.0:
                self._seen[self._codes[j]] = self._ranks[j]
        for j in range(self._effects.shape[0]):
            effect = (<TextEffects>self.texts[self._effects[j, 1]]).found[self._effects[j, 2]]
            self._seen[self._effects[j, 0]] = <float>(_STEP * rint(effect / _STEP))
        return &self._seen[0]

"""What trees see of an example: its features and, of three and more classes, effects of texts.

The race of each class has the effects of texts on its own class
(`leaseboard.algorithms.online_automl.safe.texts`): how far the class was above its mean with a
text. Trees see those of all races. Members that go by distances see none.
"""

from libc.math cimport rint

import numpy as np

from leaseboard.algorithms.online_automl.safe.texts cimport TextEffects

MOST_EFFECTS = 64
"""Columns of effects at most: mostly of the classes that came first."""

cdef double _STEP = 0.25
"""Trees see effects as multiples of this.

Their smallest differences say which of a text's labels came before a row, so which are to come.
Trees that are fitted to all of these rows learn it, and no later row is like that.
"""


cdef class TreeView:
    """Columns that trees see. What is new comes after all that they saw before.

    Parameters
    ----------
    n_features : int

    Attributes
    ----------
    features : ndarray of int64, shape (n_features,)
        The column of each feature.
    effects : ndarray of int64, shape (n_effects, 3)
        The column of each effect, of which race it is, and of which of its columns of texts.
    n_columns : int
    """

    kept = "features", "effects"

    def __init__(self, n_features):
        self.texts = []
        self._set(range(n_features), [])

    def grow(self, n_features, races=()):
        """Go on with more features, which were 0 until now, and more races that have effects."""
        features, effects, end = self.features.tolist(), self.effects.tolist(), self.n_columns
        n_new = n_features - len(features)
        features += range(end, end + n_new)
        self.texts = [race.ensemble.texts for race in races]
        n_texts = self.texts[0].n_columns if self.texts else 0
        there = {tuple(each[1:]) for each in effects}
        for race in range(len(races)):
            for text in range(n_texts):
                if (race, text) not in there and len(effects) < MOST_EFFECTS:
                    effects.append([len(features) + len(effects), race, text])
        self._set(features, effects)

    def _set(self, features, effects):
        self.features = np.array(features, dtype=np.int64)
        self.effects = np.array(effects, dtype=np.int64).reshape(-1, 3)
        self._features, self._effects = self.features, self.effects
        self.n_columns = len(self.features) + len(self.effects)
        self._seen = np.zeros(self.n_columns, np.float32)

    def fill(self, state):
        """See `leaseboard.algorithms.plain.Saved.fill`; ValueError for columns that are not there."""
        features, effects = state["features"], state["effects"]
        ends = [self.n_columns, len(self.texts), self.texts[0].n_columns if self.texts else 0]
        if (
            (features.shape, effects.shape) != (self.features.shape, self.effects.shape)
            or sorted([*features, *effects[:, 0]]) != [*range(self.n_columns)]
            or not ((effects >= 0) & (effects < ends)).all()
        ):
            raise ValueError("trees see columns that the model does not have")
        self._set(features, effects)

    cdef const float *see(self, const float *example) except NULL:
        cdef Py_ssize_t n = self._features.shape[0], j
        if self.n_columns == n:
            return example
        for j in range(n):
            self._seen[self._features[j]] = example[j]
        for j in range(self._effects.shape[0]):
            effect = (<TextEffects>self.texts[self._effects[j, 1]]).found[self._effects[j, 2]]
            self._seen[self._effects[j, 0]] = <float>(_STEP * rint(effect / _STEP))
        return &self._seen[0]

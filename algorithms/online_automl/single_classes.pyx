"""Examples of three and more classes that come one at a time.

All races predict an example and learn it, then the mixture and the members
(`leaseboard.algorithms.online_automl.one_vs_rest`), with what `SafeRace.single_calls` does for one
race: what a prediction has computed is not computed again when its label comes.
"""

import sys

import numpy as np

from leaseboard.algorithms.online_automl.class_mixture cimport ClassMixture
from leaseboard.algorithms.online_automl.members.class_pool cimport ClassPool
from leaseboard.algorithms.online_automl.safe.bayes cimport one_vs_rest
from leaseboard.algorithms.online_automl.safe.passes cimport OneExample

from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace


cdef class SingleClasses:
    """Way of one example after another through all races, each written into the same row.

    Parameters
    ----------
    races : list of SafeRace
        As long as there are no others and none grows.
    mixture : ClassMixture
    row : ndarray of float32, shape (n_features,)
    """

    cdef readonly list races, live
    cdef readonly Py_ssize_t n_live
    cdef public object until
    cdef list ones, champions
    cdef ClassMixture mixture
    cdef const float[::1] row
    cdef double[::1] margins, own, today
    cdef float[::1] worth

    def __init__(self, races, mixture, row):
        n = 1 + len(races)
        self.races, self.mixture, self.row = races, mixture, row
        self.ones = [OneExample(race.ensemble, row) for race in races]
        self.margins, self.own, self.today = np.zeros(n - 1), np.zeros(n), np.zeros(n)
        self.worth = np.zeros(1, dtype=np.float32)
        self.live, self.champions, self.n_live, self.until = [], [], 0, 0

    @classmethod
    def of(cls, races, mixture, row):
        """Return the way through `races`; None if one of them has another."""
        safe = [race for race in races if isinstance(race, SafeRace) and race.ensemble.is_narrow]
        return cls(safe, mixture, row) if len(safe) == len(races) else None

    def begin(self, *, bint learns):
        """Look up what is live; if the next example is learned, until when it is.

        It is to be done again once the first race has learned `until` examples.
        """
        first = self.races[0].at
        self.live = [race.live for race in self.races]
        self.champions = [race.champion_slot for race in self.races]
        self.n_live, self.until = sum(map(len, self.live)), sys.maxsize if learns else 0
        for race in self.races if learns else ():
            # Until the round ends, or labels may be standardised again (`Ensemble.move`).
            in_round = race.round_length - race.at % race.round_length
            self.until = min(self.until, first + min(in_round, race.ensemble.steady(race.at)))

    def predict(self, ClassPool pool):
        """Return the probabilities of the classes; nothing is learned."""
        if self.races[0].at >= self.until:
            self.begin(learns=False)
        found = np.empty(len(self.own))
        self.take(0, 0.0, pool, False, found)
        return found

    def learn(self, Py_ssize_t number, float importance, ClassPool pool):
        """Learn the example's class; return whether a race may have something to decide."""
        first = self.races[0]
        if first.at >= self.until:
            self.begin(learns=True)
        self.take(number, importance, pool, True, self.own)
        if pool is not None:
            pool.count(1)
        for race in self.races:
            race.at += 1
        return first.at >= self.until

    cdef int take(
        self, Py_ssize_t number, float importance, ClassPool pool, bint learns,
        double[::1] found,
    ) except -1:
        """Predict an example; learn it if it `learns`."""
        cdef OneExample one
        cdef double label = number
        # Each race, with a label of its own.
        for k in range(len(self.ones)):
            one = self.ones[k]
            if learns:
                one.block.labels[0] = 1.0 if number == 1 + k else -1.0
                one.block.importances[0] = importance
            one.take(self.live[k], self.champions[k], learns)
            self.margins[k] = one.block.predictions[0]
        one_vs_rest(self.margins, self.own)
        # The mixture, then the members.
        self.mixture.take(
            &self.own[0], &self.row[0], number, importance, learns, &self.today[0]
        )
        if pool is None:
            found[...] = self.today
            return 0
        self.worth[0] = importance if learns else 0.0
        pool.take(&self.today[0], &self.row[0], &label, &self.worth[0], 1, &found[0])
        return 0

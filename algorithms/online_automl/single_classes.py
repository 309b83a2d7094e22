"""Examples of three and more classes that come one at a time, as one compiled call each.

All races predict an example and learn it, then the mixture and the members
(`leaseboard.algorithms.online_automl.one_vs_rest`), with what `SafeRace.single_calls` does for one
race: models stay in lanes for a round, and what a prediction has computed is not computed again
when its label comes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import (
    Handle,
    address_of,
    array_at,
    call_at,
    handle_of,
    pointer,
    quick,
)
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots
from leaseboard.algorithms.online.placement import ENTERED
from leaseboard.algorithms.online_automl.class_mixture import ClassMixture, pass_mixture
from leaseboard.algorithms.online_automl.members.class_pool import ClassPool, pass_many_classes
from leaseboard.algorithms.online_automl.race import Race
from leaseboard.algorithms.online_automl.safe.bayes import one_vs_rest
from leaseboard.algorithms.online_automl.safe.one_example import MODELS, OneExample
from leaseboard.algorithms.online_automl.safe.passes import (
    ALL,
    LANES,
    LEARN,
    PREDICTIONS,
    floats,
    matrix,
    numbers,
    rows,
    vector,
)
from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace

KNOWN, N_KNOWN, GIVEN, N_GIVEN, SLOTS, N_SLOTS, CHAMPION = range(7)
"""Of a race in the table of all: where the handles of its ensemble and of its block are, and how
many arrays each has; where its live slots are, and how many; its champion's slot."""

_NO_POOL = np.zeros((0, 4), dtype=np.int64)


class SingleClasses:
    """Way of one example after another through all races, each written into the same row.

    Parameters
    ----------
    races : list of SafeRace
        As long as there are no others and none grows.
    mixture : ClassMixture
    row : ndarray of float32, shape (n_features,)
    """

    def __init__(self, races: list[SafeRace], mixture: ClassMixture, row: Floats) -> None:
        self.races, self.mixture = races, mixture
        self.ones = [OneExample(race.ensemble, row) for race in races]
        self.handles = [race.ensemble.handle for race in races]
        self.table = np.zeros((len(races), CHAMPION + 1), dtype=np.int64)
        n = 1 + len(races)
        self.given = np.zeros(n), np.zeros((1, n)), np.zeros(1, dtype=np.int64)
        self.asked = (
            np.zeros((1, n)), row[None], np.zeros(1), np.zeros(1, dtype=np.float32),
            np.zeros((1, n)),
        )  # fmt: skip
        self.handle, self.handle_of_asked = handle_of(*self.given), handle_of(*self.asked)
        self.codes: Slots | None = None
        self.live: list[Any] = []
        self.n_live = self.until = 0

    @classmethod
    def of(cls, races: list[Race], mixture: ClassMixture, row: Floats) -> SingleClasses | None:
        """Return the way through `races`; None if one of them has another."""
        safe = [race for race in races if isinstance(race, SafeRace) and race.ensemble.is_narrow]
        return cls(safe, mixture, row) if len(safe) == len(races) else None

    def begin(self, *, learns: bool) -> None:
        """Look up what is live; if the next example is learned, place models in lanes for more.

        It is to be done again once the first race has learned `until` examples.
        """
        first = self.races[0].at
        self.live = [race.live for race in self.races]
        self.n_live, self.until = sum(map(len, self.live)), sys.maxsize
        for k, (race, one, live) in enumerate(zip(self.races, self.ones, self.live, strict=True)):
            self.table[k] = (
                address_of(self.handles[k]), len(self.handles[k]), address_of(one.given),
                len(one.given), address_of(live), len(live), race.champion_slot,
            )  # fmt: skip
            # Until the round ends, or labels may be standardised again (`Ensemble.move`).
            in_round = race.round_length - race.at % race.round_length
            self.until = min(self.until, first + min(in_round, race.ensemble.steady(race.at)))
            if learns:
                one.enter(live, in_round)
        if not learns:
            self.until = 0

    def predict(self, pool: ClassPool | None) -> Doubles:
        """Return the probabilities of the classes; nothing is learned."""
        if self.races[0].at >= self.until:
            self.begin(learns=False)
        self._take(0, 0.0, pool, learns=False)
        found: Doubles = self.asked[-1][0]
        return found.copy()

    def learn(self, number: int, importance: float, pool: ClassPool | None) -> bool:
        """Learn the example's class; return whether a race may have something to decide."""
        first = self.races[0]
        if first.at >= self.until:
            self.begin(learns=True)
        entered = self._take(number, importance, pool, learns=True)
        self.mixture.last = number
        if pool is not None:
            pool.count_one()
        for race in self.races:
            race.at += 1
        if not entered:
            self.until = 0
        return first.at >= self.until

    def _take(
        self, number: int, importance: float, pool: ClassPool | None, *, learns: bool
    ) -> bool:
        mixture, members = self.mixture, _NO_POOL if pool is None else pool.handle
        if self.codes is None:
            (_, own, classes), (today, features, _, worths, _) = self.given, self.asked
            how = mixture.handle, own, features, classes, worths, 0, True, today
            self.codes = np.array([
                self.ones[0].codes[MODELS],
                pass_mixture.address(*how),
                pass_many_classes.address(members, self.handle_of_asked, True),
            ])  # fmt: skip
        given = self.table, mixture.handle, members, self.handle, self.handle_of_asked
        entered: bool = _take(*given, self.codes, number, importance, mixture.last, learns)
        return entered


@quick
@compiled(error_model="numpy")
def _take(
    races: Handle,
    mixture: Handle,
    pool: Handle,
    given: Handle,
    asked: Handle,
    codes: Slots,
    number: int,
    importance: float,
    last: int,
    learns: bool,
) -> bool:
    """Predict an example; learn it if it `learns`; return whether all models are in lanes.

    Parameters
    ----------
    races : ndarray of int64
        The table of `SingleClasses`.
    mixture, pool : ndarray of int64
        The handles of the mixture and of the members, empty where there are none.
    given, asked : ndarray of int64
        The handle of what the mixture is given of an example: margins, the races' probabilities,
        and the class; and of what members are: the mixture's probabilities, the features, the
        class, its importance, and room for the probabilities of all.
    codes : ndarray of int64, shape (3,)
        The addresses of `pass_classes`, `pass_mixture` and `pass_many_classes`.
    number : int
        The class.
    importance : float
    last : int
        The class before.
    learns : bool
    """
    own, today, found = matrix(given, 1), matrix(asked, 0), matrix(asked, 4)
    margins, classes, worths, entered = vector(given, 0), numbers(given, 2), floats(asked, 3), True
    steps = ALL + LEARN if learns else ALL
    # Each race, with a label of its own.
    for k in range(len(races)):
        row = races[k]
        known = array_at(pointer(row[KNOWN]), (row[N_KNOWN], 4), np.int64)
        block = array_at(pointer(row[GIVEN]), (row[N_GIVEN], 4), np.int64)
        live = array_at(pointer(row[SLOTS]), (row[N_SLOTS],), np.int64)
        if learns:
            floats(block, 1)[0] = 1.0 if number == 1 + k else -1.0
            floats(block, 2)[0] = importance
        call_at(codes[0], 0, (known, block, live, row[CHAMPION], steps, 0))
        margins[1 + k] = floats(block, PREDICTIONS)[0]
        lanes = known[LANES]
        entered &= array_at(pointer(lanes[0]), (lanes[1], lanes[2]), np.int64)[0, ENTERED] > 0
    one_vs_rest(margins[1:], own[0])
    # The mixture, then the members.
    classes[0], vector(asked, 2)[0] = number, number
    worths[0] = importance if learns else 0.0
    features = rows(asked, 1)
    call_at(codes[1], 0, (mixture, own, features, classes, worths, last, learns, today))
    if len(pool):
        call_at(codes[2], None, (pool, asked, learns))
    else:
        found[0] = today[0]
    return entered

"""The second head of a race: predictions of examples whose past labels are not known.

The race predicts the next label, and may go by the labels just before it. Of an example that is
predicted while others wait, those are not known. The second head is made of parts that hold at the
example's own age, each of which is judged by what it lost at the age at which it was asked
(`leaseboard.algorithms.online_automl.late`), and before that by what it is expected to:

- the race's own prediction, where each past label is replaced by their mean, as if it lost what
  the best of the next ones has;
- members that have a lease, the initial configuration, the running mean, the ridge regression on
  features, and regressions of entities (`leaseboard.algorithms.online_automl.safe.entities`): each
  by its discounted loss so far;
- the last label, and the one a season ago, by place and by time: each by what the label so many
  examples before has lost as a prediction (`leaseboard.algorithms.reference.steps`), or
  twice what the mean loses at an age that was not measured;
- the mean of an entity's labels; and the last one, by its loss one step ahead, and k times that k
  steps ahead, which it is for a random walk.

A part that has nothing of its own to say has an infinite loss.

The age of an example is how many came after the last one that was learned: where features have a
time, by it and the mean time between two examples, else by its place. Of an entity it is how many
of its own came. So the prediction of a row that has a time does not depend on other rows.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leaseboard.algorithms import plain
from leaseboard.algorithms.arrays import Doubles, Floats, Slots
from leaseboard.algorithms.online_automl.members.pool import AWAKE, BOOSTED, N_MEMBERS
from leaseboard.algorithms.online_automl.safe import entities  # type: ignore[attr-defined]
from leaseboard.algorithms.online_automl.safe.expansion import MEAN_SO_FAR, RIDGE
from leaseboard.algorithms.online_automl.safe.mixture import MASS
from leaseboard.algorithms.online_automl.safe.predictor import Ensemble
from leaseboard.algorithms.online_automl.safe.scale import COUNT, LEAST, MEAN, MOST
from leaseboard.algorithms.reference.steps import LONGEST

if TYPE_CHECKING:
    from leaseboard.algorithms.online.schema import Schema
    from leaseboard.algorithms.online_automl.safe.safe_race import SafeRace

FIRST_LOOK, TRIED = 64, 512
"""Examples before entities are looked for, again after twice as many; and those after which, of
several columns of entities, the one of least loss stays."""

WITHOUT_PAST, MEMBER = 0, 1
INITIAL, MEAN_PART, RIDGE_PART = range(MEMBER + N_MEMBERS, MEMBER + N_MEMBERS + 3)
"""The first parts of a prediction: the race's without past labels; the members; the initial
configuration; the running mean; the ridge regression."""

STALE, LABEL, SEASON_PART, IN_ORDER, ENTITY = range(RIDGE_PART + 1, RIDGE_PART + 6)
"""The others: the race's by the last labels that are known; the last label; the one a season ago,
by time if there is one; by place all the same; and from there on what entities say."""

N_PARTS = ENTITY + entities.N_SAID

OWN_LAST, OWN_MEAN = ENTITY + entities.LAST, ENTITY + entities.OWN_MEAN

BASELINES = INITIAL, MEAN_PART, RIDGE_PART, LABEL, SEASON_PART, IN_ORDER, OWN_LAST, OWN_MEAN


class Parts(NamedTuple):
    """What a prediction is made of.

    Attributes
    ----------
    said : ndarray of float64, shape (N_PARTS,)
        See `WITHOUT_PAST` and `STALE`, and those after them.
    lost : ndarray of float64, shape (N_PARTS,)
        The mean squared loss that each would have had; infinite if it has no part.
    limits : ndarray of float64, shape (2,)
        The range of labels.
    entity : int
        The number of the example's entity, 0 for none.
    """

    said: Doubles
    lost: Doubles
    limits: Doubles
    entity: int = 0


NOTHING = Parts(np.zeros(N_PARTS), np.zeros(N_PARTS), np.zeros(2))


class Waiting(Counter[int]):
    """How many examples of each entity wait, by its number, 0 for none; -1 for all."""

    def add(self, entity: int, n: int = 1) -> tuple[int, int]:
        """Count `n` more; return how many of all, and of the entity, there were before."""
        before = self[-1], self[entity]
        self.update({-1: n, entity: n})
        return before


class Head:
    """What the second head knows in addition to the race.

    Parameters
    ----------
    ensemble : Ensemble
        What it knows, and learns with it.
    schema : Schema
        Its `entity` is the column whose values are entities, if it is named.

    Attributes
    ----------
    number : ndarray of int64, shape (1,)
        The entity of the next example, where the column is named: from 1 on, 0 for none. Set by
        the caller of the race.
    entities : list of Entities
        One for each column of entities that is tried, three at most; where there is none, and
        there is a time, one of column "", which knows that alone.
    """

    def __init__(self, ensemble: Ensemble, schema: Schema) -> None:
        self.ensemble, self.named = ensemble, schema.entity
        self.number = np.zeros(1, dtype=np.int64)
        self.entities: list[entities.Entities] = ensemble.entities  # which it lets learn
        self.entities += (self._new(each, schema.origins) for each in [self.named] if each)

    def _new(self, column: str, origins: Any, moments: Doubles | None = None) -> entities.Entities:
        moments = np.zeros((2, len(origins))) if moments is None else moments
        number = self.number if self.named else None
        return entities.Entities(column, origins, moments, self.ensemble.gamma, number)

    def look(self, race: SafeRace) -> None:
        """Look for entities at the end of a round."""
        at, looked = race.at, race.at // FIRST_LOOK
        if self.named and at == FIRST_LOOK:
            self.entities[0].put(place=entities.place_of_features(_moments(race)))
        if at % FIRST_LOOK or self.named or race.ensemble.classes:
            return
        if not any(each.column for each in self.entities) and not looked & (looked - 1):
            self._look(race)
        elif len(self.entities) > 1 and self.entities[0].past[0, entities.COUNT] >= TRIED:
            self.entities[:] = [min(self.entities, key=lambda each: each.losses.min())]

    def _look(self, race: SafeRace) -> None:
        known, origins, moments = race.ensemble.known, race.schema.origins, _moments(race)
        if len(origins) != moments.shape[1]:
            return
        columns = entities.entity_columns(origins, moments[0], race.at)
        if not self.entities and any(each.part == "days" for each in origins):
            columns = columns or [""]  # ages go by time all the same
        if columns:
            self.entities[:] = [self._new(name, origins, moments) for name in columns]
        # Until now they would have lost what the regression of all has.
        for each in self.entities:
            each.losses[:] = known.losses[race.b + RIDGE]

    def entity(self, example: Floats) -> int:
        """Return the number of an example's entity, 0 for none."""
        return self.entities[0].entity(example) if self.entities else 0

    @property
    def column(self) -> str:
        """The column by whose entities it predicts, if there is one."""
        return self.entities[0].column if self.entities else ""

    def grow(self, origins: Any) -> None:
        """Go on with more features, which were 0 until now."""
        for each in self.entities:
            each.grow(origins)

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs, as plain values."""
        return {"entities": [plain.values_of(each, each.kept) for each in self.entities]}

    def restore(self, race: SafeRace, state: Any) -> None:
        """Go on from `state`, as `fill` would, which does not know the features."""
        origins = race.schema.origins
        self.entities.clear()
        for its in state["entities"]:
            self.entities.append(self._new(str(its["column"]), origins))
            self.entities[-1].grow(origins, len(its["past"]) - 1)
            plain.fill(self.entities[-1], its, self.entities[-1].kept)


def _moments(race: SafeRace) -> Doubles:
    """Return mean and mean squared deviation of each feature so far."""
    means, squares = race.ensemble.expansion.moments
    return np.array([means, squares / race.at])


def parts_of(
    race: SafeRace,
    example: Floats,
    place: float,
    own_age: float,
    *,
    in_order: bool = True,
    ahead: bool = False,
) -> Parts:
    """Return the parts of a prediction of an example at its two ages.

    Whether examples come `in_order` matters where they have times: if not, only these count.
    If trees that were fitted for many rows `ahead` have been measured, those of now, which are new
    and have lost nothing, are expected to be as good as the best part.
    """
    ensemble, row = race.ensemble, race.calls.row
    said, lost = np.zeros(N_PARTS), np.full(N_PARTS, np.inf)
    said[STALE] = race.predict(example)
    said[:INITIAL] = without_past(race)
    pool, mass = ensemble.pool, max(float(ensemble.known.totals[MASS]), 1.0)
    scale, losses = ensemble.expansion.scale, ensemble.known.losses / mass
    simple = [0, race.b + MEAN_SO_FAR, race.b + RIDGE]
    said[INITIAL:STALE], lost[INITIAL:STALE] = np.asarray(row.values)[simple], losses[simple]
    said[RIDGE_PART] = min(max(said[RIDGE_PART], scale[LEAST]), scale[MOST])
    awake = np.flatnonzero(pool.leases.table[:, AWAKE])
    said[MEMBER + awake] = pool.said()[awake]
    lost[MEMBER + awake] = pool.known.losses[1 + awake] / max(float(pool.known.totals[MASS]), 1.0)
    # What the race says without past labels is expected to be as good as the best of these.
    lost[WITHOUT_PAST], lost[STALE] = lost[:STALE].min(), lost[MEAN_PART]
    if ahead and BOOSTED in awake and pool.members[BOOSTED].ahead:
        lost[MEMBER + BOOSTED] = lost[WITHOUT_PAST]
    mean, limits = said[MEAN_PART], np.array([row.low, row.high])
    # Entities; where there are none, the ridge regression.
    said[ENTITY:] = said[RIDGE_PART]
    number, age, season_ago = 0, place, None
    for each in race.head.entities[:1]:
        number = each.entity(example)
        past, common = each.past[number], each.past[0]
        steps = 1.0 + _age(past, example, each.time, own_age)
        found = each.predict(row, ensemble.expansion)
        drift = found[entities.OWN_STEP :] - found[entities.LAST]
        found[entities.OWN_STEP :] += (steps - 1.0) * drift
        if number and past[entities.COUNT]:
            said[ENTITY:], lost[ENTITY:] = found, each.losses / mass
            lost[OWN_LAST:] *= steps
            if not in_order:  # its last errors are long ago
                lost[ENTITY + entities.OWN_LEVEL] = np.inf
        age = _age(common, example, each.time, age)
        if len(each.time):
            season_ago = each.seasons_ago(float(example[each.time[0]]), ensemble.expansion.period)
    of_time, of_place = slice(LABEL, SEASON_PART + 1), slice(SEASON_PART, IN_ORDER + 1)
    said[IN_ORDER] = mean
    if in_order:
        said[of_place], lost[of_place] = _lags(ensemble, round(place), None, mean, lost[STALE])
    if season_ago is None:  # the one by time is by place, too
        lost[IN_ORDER] = np.inf
    said[of_time], lost[of_time] = _lags(ensemble, round(age), season_ago, mean, lost[STALE])
    return Parts(np.clip(said, *limits), lost, limits, number)


def without_past(race: SafeRace) -> float:
    """Return what a race predicts of its own row if each past label is replaced by their mean."""
    expansion = race.ensemble.expansion
    past, scale = expansion.past, expansion.scale
    begin = -int(scale[COUNT]) % LONGEST
    places = begin + np.array([0, 1, 2, expansion.period - 1])
    kept = past[places]
    past[places] = scale[MEAN]
    found: float = race.calls.predict()
    past[places] = kept
    race.ensemble.forget_look()
    return found


def _age(past: Doubles, row: Floats, time: Any, place: float) -> float:
    """Return how many examples come between the last one and `row`, by its time if it has one."""
    if not len(time) or past[entities.COUNT] < 2.0:
        return place
    last = past[entities.LAST_TIME]
    step = (last - past[entities.FIRST_TIME]) / (past[entities.COUNT] - 1.0)
    return max(0.0, round((float(row[time[0]]) - last) / step) - 1.0) if step > 0.0 else place


def _lags(
    ensemble: Any, age: int, season_ago: Slots | None, mean: float, loss: float
) -> tuple[list[float], list[float]]:
    """Return the last label and the one a season ago, and what they have lost at this age.

    Where no label is known of the time, they are the mean.
    """
    known, period = ensemble.expansion, ensemble.expansion.period
    seen, said, lost = int(known.scale[COUNT]), [mean, mean], [2.0 * loss, 2.0 * loss]
    begin = -seen % LONGEST
    for k, lag in enumerate((1 + age, period * -(-(1 + age) // period))):
        if k and period > 1 and season_ago is not None:
            said[k] = float(known.past[begin + season_ago].mean()) if len(season_ago) else mean
        else:
            said[k] = float(known.past[begin + lag - age - 1])
        if lag <= LONGEST and 2 * lag <= seen:
            lost[k] = float(known.losses[lag]) / (seen - lag)
    return said, lost

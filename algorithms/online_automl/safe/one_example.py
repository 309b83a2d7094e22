"""One example after another through an ensemble, as one compiled call to predict and one to learn.

The call goes through what blocks go through, each part compiled once for both and called here by
its address. What a prediction has computed is not computed again when its label comes.
"""

from __future__ import annotations

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import (
    Handle,
    call_at,
    handle_of,
    quick,
)
from leaseboard.algorithms.online.kernel import Floats, Slots
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online.placement import ENTERED
from leaseboard.algorithms.online_automl.safe.ensemble import Ensemble
from leaseboard.algorithms.online_automl.safe.expansion import N_SIMPLE, new_block
from leaseboard.algorithms.online_automl.safe.passes import ALL, FOLLOW, LEARN

MODELS, MEMBERS, INTERVALS = 0, 1, 2
"""Addresses of three kernels: of the prediction without members, of the members, and of the
intervals. The last is the first again, with another step. One that is not needed is 0."""

_NO_POOL = np.zeros((0, 4), dtype=np.int64)


class OneExample:
    """Way of one example after another through an ensemble, each written into the same row.

    Parameters
    ----------
    ensemble : Ensemble
        As long as it does not `grow`.
    row : ndarray of float32, shape (n_features,)
    """

    def __init__(self, ensemble: Ensemble, row: Floats) -> None:
        self.ensemble = ensemble
        labels, importances, self.predictions = np.zeros((3, 1), dtype=np.float32)
        self.block = new_block(row[None], labels, importances, ensemble.b + N_SIMPLE)
        self.outputs = np.zeros((1, ensemble.b), dtype=np.float32)
        self.seen = np.full(len(row), np.nan, dtype=np.float32)
        self.given = handle_of(*self.block, self.outputs, self.predictions, self.seen)
        self.models: KernelModels | None = None
        if ensemble.is_narrow:
            self.models = ensemble.models
            self.known, pool = ensemble.handle, ensemble.pool
            how = self.known, self.given, np.zeros(1, dtype=np.int64), 0, ALL, 0
            models = ensemble.pass_block.address(*how)
            members = 0 if pool is None else pool.address(self.given)
            intervals = 0 if ensemble.intervals is None else models
            self.codes = np.array([models, members, intervals])

    def predict(self, live: Slots, champion: int) -> float:
        """Return the prediction; nothing is learned."""
        if self.models is None:
            self.ensemble.take(self.given, self.block, live, champion, learns=False)
        else:
            pool = self.ensemble.pool
            members = _NO_POOL if pool is None else pool.handle
            take(self.known, self.given, members, self.codes, live, champion, False)
        return self.predictions.item()

    def enter(self, live: Slots, n: int) -> None:
        """Place the `live` models in lanes for about n examples, unless they are there."""
        models, ensemble = self.models, self.ensemble
        if models is not None and not models.lanes[0, ENTERED] and ensemble.known.place[1]:
            models.enter(self.block.wide[0], live, n)

    def learn(self, label: float, importance: float, live: Slots, champion: int, n: int) -> None:
        """Learn the example's label, one of about n until the `live` models change."""
        block, models = self.block, self.models
        block.labels[0], block.importances[0] = label, importance
        if models is None:
            self.ensemble.take(self.given, block, live, champion, learns=True)
            return
        if not models.lanes[0, ENTERED]:
            self.enter(live, n)
        pool = self.ensemble.pool
        members = _NO_POOL if pool is None else pool.handle
        take(self.known, self.given, members, self.codes, live, champion, True)
        if pool is not None:
            pool.count_one()


@quick
@compiled
def take(
    known: Handle,
    given: Handle,
    pool: Handle,
    codes: Slots,
    live: Slots,
    champion: int,
    learns: bool,
) -> None:
    """Predict an example and, if it `learns`, learn it.

    Parameters
    ----------
    known, given, live, champion
        See `leaseboard.algorithms.online_automl.safe.passes.pass_numbers`.
    pool : ndarray of int64
        The handle of the members, empty where there are none.
    codes : ndarray of int64, shape (3,)
        See `MODELS` and those after it.
    learns : bool
    """
    steps = ALL + LEARN if learns else ALL
    call_at(codes[MODELS], 0, (known, given, live, champion, steps, 0))
    if len(pool):
        call_at(codes[MEMBERS], None, (pool, given, 0, 1, learns))
    if learns and codes[INTERVALS]:
        call_at(codes[INTERVALS], 0, (known, given, live, champion, FOLLOW + LEARN, 0))

"""Other people's searches among given configurations: scikit-learn's halving, Optuna's pruners."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run, settings_of
from leaseboard.algorithms.benches.samples import (
    Decided,
    OutsideDecider,
    SamplesAlgorithm,
    SamplesBench,
)
from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.events import Eliminated, Measured


class OutsideSearch(SamplesAlgorithm):
    """A search that is asked, probe by probe, what it wants to know."""

    system: ClassVar[str]

    def run(self, bench: SamplesBench, seed: int) -> Run:
        """Probe what it asks for, and choose what it chooses.

        When the budget ends before it does, the best on the most rows is the answer.
        """
        distinct = yield from bench.admit()
        which = OutsideDecider(
            self.system, self._told(), len(distinct), bench.train_rows, bench.initial_rows
        )
        known: dict[int, tuple[int, float]] = {}
        failed: dict[int, Probe] = {}
        dropped: dict[int, str] = {}
        with bench.decider(which, seed) as session:
            while not isinstance(said := session.hear(), Decided):
                index = distinct[said.configuration]
                if said.fold is None:
                    probe = yield from bench.probe(index, said.rows, train=False)
                else:
                    probe = yield from bench.probe_fold(index, said.rows, said.fold, said.folds)
                if probe is None:
                    said = Decided(None)
                    break
                fine = probe.status == "ok"
                session.tell(probe.test_accuracy if fine else None)
                if not fine:
                    failed[index] = probe
                    continue
                known[index] = max(known.get(index, (0, 0.0)), (probe.rows, probe.test_accuracy))
                best = max(known, key=lambda each: known[each])
                if index == best:
                    yield Measured(at=bench.at, value=known[best][1])
        if said.chosen is not None:
            yield from bench.crown(distinct[said.chosen])
            dropped = {distinct[each]: why for each, why in said.dropped.items()}
        elif probe is None:
            guess = max(known, key=lambda each: known[each], default=distinct[0])
            yield from bench.crown(guess)
        for index in sorted({*failed, *dropped} - {bench.champion}):
            if index in failed:
                yield from bench.fail(index, failed[index], None)
            else:
                yield Eliminated(at=bench.at, configuration=index, reason=dropped[index])

    def _told(self) -> dict[str, Any]:
        """What the search is told of itself."""
        return settings_of(self)


@dataclass(frozen=True, kw_only=True)
class HalvingSearch(OutsideSearch):
    """scikit-learn's successive halving over given configurations, the class itself.

    ``HalvingGridSearchCV`` or ``HalvingRandomSearchCV`` runs in a process of its own and asks for
    every fit, so it is charged what everybody is charged for it.

    Parameters
    ----------
    search : {"grid", "random"}
        Of a given set the second draws as many candidates as there are: all of them.
    folds : int
        Of cross-validation, 5 by default as there, of which the held-out rows are no part. With 1
        a fit is tested on held-out rows, as those of the others are.
    factor : int
        One of so many goes on, with so many times the rows.
    min_resources : int or "exhaust"
        Rows of the first round; ``exhaust``, the default there, has the last round take all.
    """

    system: ClassVar[str] = "scikit-learn"

    search: Literal["grid", "random"] = "grid"
    folds: Annotated[int, Field(ge=1, le=100)] = 5
    factor: Annotated[int, Field(ge=2)] = 3
    min_resources: Annotated[int, Field(ge=1)] | Literal["exhaust"] = "exhaust"


@dataclass(frozen=True, kw_only=True)
class PrunedStudy(OutsideSearch):
    """Optuna with a pruner over given configurations, in its own environment.

    It runs where ``leaseboard peers install optuna`` has been. A trial is one configuration on
    growing samples, each tested on held-out rows; it reports every accuracy and asks whether it
    is pruned. The best complete trial is the answer.

    Parameters
    ----------
    pruner : {"median", "halving", "hyperband"}
    sampler : {"grid", "tpe"}
        Every configuration once in a random order, or Optuna's default, TPE, with as many trials,
        which may come back to one.
    startup_trials : int
        Of the median pruner: complete trials before it prunes any; 5 there.
    min_resource : int or "auto"
        Of the halving pruner: the first rung in first samples; ``auto`` is the default there.

    Notes
    -----
    A sample is as many times the one before as the pruner's reduction factor, 4 by its default
    for ``halving``, and 4 for ``median``, which has none. For ``hyperband`` it is 3, its default,
    unless that makes more than the 6 brackets which its documentation advises at most.
    """

    system: ClassVar[str] = "optuna"

    pruner: Literal["median", "halving", "hyperband"] = "median"
    sampler: Literal["grid", "tpe"] = "grid"
    startup_trials: Annotated[int, Field(ge=0)] = 5
    min_resource: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"

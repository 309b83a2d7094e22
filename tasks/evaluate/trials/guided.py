"""What is known to be good first, and few rows before all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tasks.evaluate.trials.optimiser import Optimiser, Suggestion
from tasks.evaluate.trials.spaces import Space

ETA = 3
"""One in so many configurations goes on to more rows."""


@dataclass(slots=True)
class _Tried:
    """A configuration, and what it came to on each rung that it has reached."""

    suggestion: Suggestion
    default: bool
    rewards: list[float] = field(default_factory=list)


class Guided(Optimiser):
    """Defaults, then known good configurations, then those of another optimiser; by halving.

    The first trials are the leads of the arms, see `tasks.evaluate.trials.spaces.Arm.leads`: the
    defaults of every arm before all others. With several `shares` a configuration is fitted on
    the smallest share of the rows first, and goes on to the next one if it is in the best third
    of those that came as far (asynchronous successive halving: Li et al. 2020, "A System for
    Massively Parallel Hyperparameter Tuning", Algorithm 2); defaults always go on, unless they
    failed. The other optimiser is told what configurations came to on the first rung.

    Parameters
    ----------
    space, seed
        As of every optimiser.
    then : Optimiser
        What suggests when the leads are through.
    shares : sequence of float
        Of the training rows, in each rung, rising to 1.
    """

    def __init__(
        self, space: Space, seed: int, then: Optimiser, shares: Sequence[float] = (1.0,)
    ) -> None:
        super().__init__(space, seed)
        leads = {name: arm.leads() for name, arm in space.arms.items()}
        self._leads = [
            Suggestion(name, every[turn])
            for turn in range(max(map(len, leads.values())))
            for name, every in leads.items()
            if turn < len(every)
        ]
        self._then = then
        self._shares = shares
        self._tried: list[_Tried] = []

    def suggest(self, n: int) -> Suggestion:
        """A configuration that goes on to more rows if one deserves it, else the next new one."""
        chosen = self._deserving()
        if chosen is not None:
            return replace(chosen.suggestion, fidelity=self._shares[len(chosen.rewards)])
        begun = len(self._tried)
        new = self._leads[begun] if begun < len(self._leads) else self._then.suggest(begun)
        return replace(new, fidelity=self._shares[0])

    def tell(self, n: int, suggestion: Suggestion, reward: float) -> None:
        """Enter a finished trial into its rung."""
        chosen = self._deserving()
        if chosen is None:
            suggestion = replace(suggestion, fidelity=1.0)
            self._then.tell(len(self._tried), suggestion, reward)
            chosen = _Tried(suggestion, default=len(self._tried) < len(self.space.arms))
            self._tried.append(chosen)
        chosen.rewards.append(reward)

    def _deserving(self) -> _Tried | None:
        """Who goes on: from the highest rung down, a default, else one of the best third."""
        for reached in range(len(self._shares) - 1, 0, -1):
            there = [each for each in self._tried if len(each.rewards) >= reached]
            ranked = sorted(there, key=lambda each: -each.rewards[reached - 1])
            best = ranked[: len(there) // ETA]
            for each in [*(each for each in there if each.default), *best]:
                if len(each.rewards) == reached and each.rewards[-1] > 0:
                    return each
        return None

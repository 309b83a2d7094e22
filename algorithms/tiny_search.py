"""Stand-ins for searches of other libraries, on the tiny benches."""

from __future__ import annotations

from leaseboard.algorithms.benches.samples import Decided, OutsideDecider, ProbeAsked


class TinySearches:
    """Stand-ins for searches of other libraries: the best on the first rows, or of two folds."""

    def start(self, which: OutsideDecider, seed: int) -> TinySearch:
        """See `Deciders.start`; it needs no seed."""
        return TinySearch(which)


class TinySearch:
    """One of them, see `DecidingSession`."""

    def __init__(self, which: OutsideDecider) -> None:
        folds = which.settings.get("folds", 1)
        numbers = range(which.configurations)
        if folds == 1:
            self._left = [ProbeAsked(each, which.initial_rows) for each in numbers]
        else:
            rows = max(folds, which.initial_rows)
            self._left = [ProbeAsked(n, rows, f, folds) for n in numbers for f in (0, 1)]
        self._asked: list[int] = []
        self._told: dict[int, float] = {}

    def hear(self) -> ProbeAsked | Decided:
        """See `DecidingSession.hear`."""
        if self._left:
            self._asked.append(self._left[0].configuration)
            return self._left.pop(0)
        best = max(self._told, key=lambda each: self._told[each], default=None)
        others = sorted({*self._asked} - {best})
        return Decided(best, dict.fromkeys(others, "it is not the best"))

    def tell(self, accuracy: float | None) -> None:
        """See `DecidingSession.tell`."""
        number = self._asked[-1]
        self._told[number] = max(accuracy or 0.0, self._told.get(number, 0.0))

    def close(self) -> None:
        """There is nothing to end."""

"""What every configuration achieved in the bench's own metric, over all its leases."""

from __future__ import annotations

from collections.abc import Iterator

from algorithms.events import ConfigurationScored


class Tallies:
    """Squared error, or errors of class, summed by configuration.

    Attributes
    ----------
    sums : dict of int to (float, float)
        Examples that each configuration consumed, and what it lost.

    Examples
    --------
    >>> tallies = Tallies()
    >>> tallies.add(configuration=7, units=1, total=5.0)
    >>> tallies.add(configuration=7, units=2, total=1.0)
    >>> [(event.configuration, event.value, event.units) for event in tallies.scored(at=9)]
    [(7, 2.0, 3)]
    """

    def __init__(self) -> None:
        self.sums: dict[int, tuple[float, float]] = {}

    def add(self, configuration: int, units: float, total: float) -> None:
        """A stay of `units` examples is over, in which the model lost `total`."""
        units_before, total_before = self.sums.get(configuration, (0, 0.0))
        self.sums[configuration] = units_before + units, total_before + total

    def scored(self, at: int) -> Iterator[ConfigurationScored]:
        """The means of all configurations that consumed examples, by number."""
        for number, (units, total) in sorted(self.sums.items()):
            if units:
                yield ConfigurationScored(
                    at=at, configuration=number, value=total / units, units=units
                )

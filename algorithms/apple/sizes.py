"""When apple expands, and by how many monomials: the schedule τ_k and the sizes s_k."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


class EpochEnds(Protocol):
    """The epoch ends :math:`τ_1 < τ_2 < …` of Algorithm 1."""

    def next_end(self, examples: int) -> int | None:
        """The first epoch end after `examples` examples; None if no expansion follows."""


@dataclass(frozen=True, slots=True)
class EqualEpochs:
    """The paper's schedule (section 3.1): equally spaced ends, five of them in six epochs.

    Parameters
    ----------
    n_examples : int
        Length of the data; must be known.
    epochs : int
        Epochs; the features grow at the end of each but the last.
    """

    n_examples: int
    epochs: int = 6

    def ends(self) -> tuple[int, ...]:
        """All ends :math:`τ_k = ⌈n k / K⌉`, each once and before the last example.

        Examples
        --------
        >>> EqualEpochs(100).ends()
        (17, 34, 50, 67, 84)
        """
        n, epochs = self.n_examples, self.epochs
        ends = {-(-n * k // epochs) for k in range(1, epochs)}
        return tuple(sorted(end for end in ends if end < n))

    def next_end(self, examples: int) -> int | None:
        """The first end after `examples`."""
        return next((end for end in self.ends() if end > examples), None)


@dataclass(frozen=True, slots=True)
class Doubling:
    """VW's default for a stream of unknown length: ends at b, 2b, 4b, 8b, …

    Parameters
    ----------
    batch : int
        The first end b, in examples.
    """

    batch: int = 1000

    def next_end(self, examples: int) -> int:
        """The first end after `examples`.

        Examples
        --------
        >>> [Doubling(1000).next_end(t) for t in (0, 1000, 1001, 2000)]
        [1000, 2000, 2000, 4000]
        """
        end = self.batch
        while end <= examples:
            end *= 2
        return end


def expansion_size(mean_nonzeros: float, alpha: float) -> int:
    """:math:`s_k = ⌊s^α⌋`, at least 1.

    Parameters
    ----------
    mean_nonzeros : float
        s, the average number of non-zero base features of an example so far. It counts the
        constant feature: only then do Tables 2 and 3 of the paper have equal columns where
        they do (three of them for ``skin``, s = 2.95, and not two for ``letter``, s = 15.58).
    alpha : float

    Examples
    --------
    >>> [expansion_size(3.95, alpha) for alpha in (0.5, 0.75, 1.0)]
    [1, 2, 3]
    """
    return max(1, math.floor(math.pow(mean_nonzeros, alpha)))

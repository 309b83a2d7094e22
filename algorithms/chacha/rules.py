"""What the paper's text, its authors' two programs and its ablations do differently."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Keep = Literal["median", "top-half", "none"]
Uppers = NDArray[np.float64]


@dataclass(frozen=True)
class Rules:
    """Choices that make a variant of ChaCha.

    Attributes
    ----------
    literal : bool
        The printed text, or the authors' programs. The text has:

        - the bound ``ln(n |S| / δ)`` of appendix A.2, not ``log10(n / δ)``;
        - the range of all labels, not of those a configuration saw while it was live;
        - new candidates that join S at once, of which a random one is chosen; not one by one as
          slots fall free, the newest frontier first;
        - a replaced champion that leaves, and is no challenger;
        - models that predict and are tested from the first example on, not after 100;
        - any ripe challenger that Better may promote, not that of least upper bound alone;
        - tests before the leases that end at the same example;
        - no end of elimination when b candidates are left;
        - slots that only those lose which others need;
        - candidates that change interactions and learning rate at once, and a step of the
          learning rate that shrinks when it stops helping.
    expanded : bool
        n_min is 5 times the features that the configuration induces, or 5 times the raw ones.
    keep : "median", "top-half" or "none"
        Whose slot is safe at the end of a lease: challengers not above the median upper bound of
        the live challengers; the better half of all live models; no one's.
    keep_champion : bool
        Whether the champion's slot is safe always.
    worse_margin : float
        Further ε_{c,t} that the Worse test asks for.
    fixed : bool
        Whether leases never end and no model is tested.
    """

    literal: bool = False
    expanded: bool = False
    keep: Keep = "median"
    keep_champion: bool = True
    worse_margin: float = 0.0
    fixed: bool = False

    def least_lease(self, raw_dimension: int, dimension: int) -> float:
        """Return n_min of a configuration, in examples."""
        if self.fixed:
            return math.inf
        features = dimension if self.expanded else raw_dimension
        return 5.0 * max(1, features)  # a first row without any value has no features yet

    def keeps(self, upper: float, challengers: Uppers, live: Uppers) -> bool:
        """Return whether a model may stay at the end of its lease.

        By the median of the live challengers (algorithm 2, line 8), or in the better half, rounded
        up, of all live models, as in FLAML.
        """
        if self.keep == "median":
            return bool(upper <= np.median(challengers))
        half = math.ceil(len(live) / 2)
        return self.keep == "top-half" and bool(np.sum(live < upper) < half)

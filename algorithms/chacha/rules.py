"""Every rule that the paper, the authors' code and our ablations set differently, by name."""

import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.chacha import state

Bound = Literal["paper", "flaml"]
LabelRange = Literal["all", "own"]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Lease = Literal["raw", "expanded", "endless"] | Positive
Keep = Literal["median", "top-half", "none"]
Pool = Literal["all", "lazy"]
OldChampion = Literal["leaves", "challenger"]
Count = Annotated[int, Field(ge=1)]
Margin = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Choices that make a variant of ChaCha. The defaults are the paper's.

    Attributes
    ----------
    bound : "paper" or "flaml"
        ``ln(n |S| / δ)`` of appendix A.2, or ``log10(n / δ)`` of the authors' code.
    coefficient, delta : float
        ``a`` is `coefficient` times the range of labels; δ.
    label_range : "all" or "own"
        Labels of the whole stream, or those a configuration saw while it was live.
    min_lease : "raw", "expanded", "endless" or float
        n_min: 5 times the raw features, or 5 times those that the configuration induces, or so
        many examples; with endless leases no model leaves its slot.
    keep : "median", "top-half" or "none"
        Whose slot is safe at the end of a lease: challengers not above the median upper bound of
        the live challengers; the better half of all live models; no one's.
    keep_champion : bool
        Whether the champion's slot is safe always.
    swap_when_all_fit : bool
        Whether a challenger loses its slot even if no other needs it, and starts afresh.
    pool : "all" or "lazy"
        New candidates join S at once, and a random one is chosen; or they join one by one as
        slots fall free, the newest frontier first.
    old_champion : "leaves" or "challenger"
        What a replaced champion becomes.
    select_after, test_after : int
        Examples before a model may predict, and before it is tested.
    test_best_only : bool
        Whether Better looks only at the challenger of least upper bound, ripe or not.
    worse_margin : float
        Further ε_{c,t} that the Worse test asks for.
    keep_b_candidates : bool
        Whether elimination stops when only b candidates are left.
    schedule_first : bool
        Whether ended leases are judged before the tests of the same example.
    testing : bool
        Whether there are Better and Worse tests at all.
    combined : bool
        Whether a candidate may change interactions and learning rate at once.
    adaptive : bool
        Whether the learning rate's step shrinks when it stops helping.
    """

    bound: Bound = "paper"
    coefficient: Positive = 0.05
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.1
    label_range: LabelRange = "all"
    min_lease: Lease = "raw"
    keep: Keep = "median"
    keep_champion: bool = True
    swap_when_all_fit: bool = False
    pool: Pool = "all"
    old_champion: OldChampion = "leaves"
    select_after: Count = 1
    test_after: Count = 1
    test_best_only: bool = False
    worse_margin: Margin = 0.0
    keep_b_candidates: bool = False
    schedule_first: bool = False
    testing: bool = True
    combined: bool = True
    adaptive: bool = True

    def least_lease(self, raw_dimension: int, dimension: int) -> float:
        """Return n_min of a configuration, in examples."""
        if not isinstance(self.min_lease, str):
            return self.min_lease
        named = {"raw": 5.0 * raw_dimension, "expanded": 5.0 * dimension, "endless": math.inf}
        return max(5.0, named[self.min_lease])  # a first row without any value has no features yet

    def controls(self) -> state.Control:
        """Return the rules that the compiled steps read, and fresh state for the rest."""
        control = np.zeros(state.N_CONTROLS)
        control[state.CHAMPION] = control[state.PREDICTOR] = -1
        control[state.GLOBAL_LOW] = math.inf
        control[state.GLOBAL_HIGH] = -math.inf
        control[state.LITERAL_BOUND] = self.bound == "paper"
        control[state.OWN_RANGE] = self.label_range == "own"
        control[state.COEFFICIENT] = self.coefficient
        control[state.DELTA] = self.delta
        control[state.SELECT_AFTER] = self.select_after
        control[state.TEST_AFTER] = self.test_after
        control[state.TEST_BEST_ONLY] = self.test_best_only
        control[state.WORSE_MARGIN] = self.worse_margin
        control[state.TESTING] = self.testing
        return control


Uppers = NDArray[np.float64]


def within_median(upper: float, challengers: Uppers, live: Uppers) -> bool:
    """Return whether it is at most the median of the live challengers (algorithm 2, line 8)."""
    return bool(upper <= np.median(challengers))


def in_top_half(upper: float, challengers: Uppers, live: Uppers) -> bool:
    """Return whether it is in the better half, rounded up, of all live models, as in FLAML."""
    return bool(np.sum(live < upper) < math.ceil(len(live) / 2))


def never_kept(upper: float, challengers: Uppers, live: Uppers) -> bool:
    """Return False, for the ablation "aggressive scheduling", in which leases alone decide."""
    return False


KEEPERS: dict[Keep, Callable[[float, Uppers, Uppers], bool]] = {
    "median": within_median,
    "top-half": in_top_half,
    "none": never_kept,
}

FIXED = Rules(
    bound="flaml",
    label_range="own",
    min_lease="endless",
    pool="lazy",
    select_after=100,
    testing=False,
    combined=False,
    adaptive=False,
)
"""The authors' baselines: a fixed set of models, of which the least upper bound predicts."""

"""Every rule that the paper, the authors' code and our ablations set differently, by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from algorithms.chacha.published import state

Preset = Literal["paper", "flaml", "icml-eval"]
Scheduling = Literal["chacha", "aggressive", "no-champion"]
Keep = Literal["median", "top-half", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The choices that make a variant of ChaCha. The defaults are the paper's.

    Attributes
    ----------
    bound : "paper" or "flaml"
        ``ln(n |S| / δ)`` of appendix A.2, or ``log10(n / δ)`` of the authors' code.
    coefficient, delta : float
        ``a`` is `coefficient` times the range of labels; δ.
    label_range : "all" or "own"
        Labels of the whole stream, or those a configuration saw while it was live.
    lease : "raw", "expanded" or float
        The minimum resource lease: 5 times the raw features, or 5 times those that the
        configuration induces, or so many examples.
    keep : "median", "top-half" or "none"
        Whose slot is safe at the end of a lease: challengers not above the median upper bound of
        the live challengers; the better half of all live models; nobody's.
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
    """

    bound: Literal["paper", "flaml"] = "paper"
    coefficient: float = 0.05
    delta: float = 0.1
    label_range: Literal["all", "own"] = "all"
    lease: Literal["raw", "expanded"] | float = "raw"
    keep: Keep = "median"
    keep_champion: bool = True
    swap_when_all_fit: bool = False
    pool: Literal["all", "lazy"] = "all"
    old_champion: Literal["leaves", "challenger"] = "leaves"
    select_after: int = 1
    test_after: int = 1
    test_best_only: bool = False
    worse_margin: float = 0.0
    keep_b_candidates: bool = False
    schedule_first: bool = False
    testing: bool = True

    def replace(self, **changes: object) -> Rules:
        """These rules with some of them changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def minimum_lease(self, raw_dimension: int, dimension: int) -> float:
        """n_min of a configuration, in examples."""
        if self.lease == "raw":
            return 5.0 * raw_dimension
        if self.lease == "expanded":
            return 5.0 * dimension
        return float(self.lease)

    def controls(self) -> state.Control:
        """The rules that the compiled steps read, and fresh state for the rest."""
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
    """Algorithm 2, line 8: not above the median upper bound of the live challengers."""
    return bool(upper <= np.median(challengers))


def in_top_half(upper: float, challengers: Uppers, live: Uppers) -> bool:
    """The authors' code: among the better half, rounded up, of all live models."""
    return bool(np.sum(live < upper) < math.ceil(len(live) / 2))


def never_kept(upper: float, challengers: Uppers, live: Uppers) -> bool:
    """Ablation "aggressive scheduling": leases alone decide."""
    return False


KEEPERS: dict[Keep, Callable[[float, Uppers, Uppers], bool]] = {
    "median": within_median,
    "top-half": in_top_half,
    "none": never_kept,
}

PAPER = Rules()
"""Algorithms 1 to 3 and appendix A.2.

Where the boxes leave a choice they are read so:

- the loop over S (algorithm 1, lines 11 to 15) begins with the challenger of least upper bound,
  so that at most one is promoted an example, and all Worse tests are against the new champion;
- only live challengers are tested: a paused one has no data, and so no bounds;
- S holds challengers only, so a replaced champion is in neither B nor S and leaves;
- what was eliminated never comes back, though another champion's oracle proposes it again;
- a model that has learned nothing has an infinite upper bound: it does not predict, and is not
  in the median.
"""

FLAML = Rules(
    bound="flaml",
    label_range="own",
    lease="expanded",
    keep="top-half",
    swap_when_all_fit=True,
    pool="lazy",
    old_champion="challenger",
    select_after=100,
    test_after=100,
    test_best_only=True,
    keep_b_candidates=True,
    schedule_first=True,
)
"""The authors' public implementation, FLAML 2.7's AutoVW, made deterministic."""

ICML_EVAL = FLAML.replace(lease="raw", worse_margin=1.0)
"""The authors' evaluation code, with which the paper's tables are reproduced."""

FIXED = ICML_EVAL.replace(lease=math.inf, testing=False)
"""The authors' baselines: a fixed set of models, of which the least upper bound predicts."""

PRESETS: dict[Preset, Rules] = {"paper": PAPER, "flaml": FLAML, "icml-eval": ICML_EVAL}

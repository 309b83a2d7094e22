r"""Champion against challenger on the same rows: evidence that holds at every moment one looks.

=========  ======================================================================
symbol     meaning
=========  ======================================================================
d_i        loss of the champion minus loss of the challenger on row i
c_i        the clip of row i, known before the row; it never shrinks
x_i        d_i cut to [-c_i, c_i]
m_i        E[x_i | all rows before i], what the challenger was to gain on row i
A_t        (m_1 + ... + m_t) / t, the average gain so far
λ_k,i      the k-th bet on row i, known before the row, λ c <= 0.9; it never grows
=========  ======================================================================

Rows are those on which something is bet. The capital of bet k after t of them is M_k,t =
prod (1 + λ_k,i x_i), and e_t is a weighted mean of them (`leaseboard.algorithms.sequential_test`).
The evidence for the champion is the same for -x.

**Theorem 1.** For any source of the rows, with probability 1 - α at least: e_t >= 1 / α at no row
before the average gain A_i of some row i <= t has been above 0.

So e is an e-process, and 1 / (largest e so far) a p-process, for the *weak* null of Choe and
Ramdas [1]_: "at no time was the challenger better on average so far". Single rows may be expected
to go either way, and drift as they like. The evidence for the champion tests "at no time was the
champion better on average so far".

*Proof.* N_t = prod (1 + λ_i x_i) / (1 + λ_i m_i) is a non-negative martingale, because λ_i is
known before row i, and M_t = N_t prod (1 + λ_i m_i) <= N_t exp(Σ λ_i m_i). With S_i = i A_i, by
Abel, Σ λ_i m_i = Σ (λ_i - λ_{i+1}) S_i + λ_t S_t, which is at most 0 if all S_i are and λ never
grows. So until some S_i > 0, e_t is at most the weighted mean of the N_t, a non-negative
martingale that starts at 1 and ever reaches 1 / α with probability α at most (Ville). ∎

**Theorem 2** (``restarts``). Half of the capital bets from the beginning, and the other half comes
bit by bit before the rows that follow. With probability 1 - α at least: e_t >= 1 / α at no row
before the gain over some rows in succession j, ..., i <= t has been above 0 on average.

*Proof.* What comes before row j is a weight times prod over i >= j of (1 + λ_i x_i). As long as no
sum of gains from j on is above 0 it is at most its weight times a martingale that starts at 1, as
in the proof of Theorem 1. All weights are at most 1 together, so that the sum of these is a
non-negative supermartingale from at most 1 on. ∎

This is how a new champion that *becomes* worse is found: after a long reign its average so far is
still good, and Theorem 1 would wait until that is gone. What comes at row 1,000 has a weight of
.00001, which costs log(100,000) of evidence.

A bet that grew would break Theorem 1: where odd rows favour the challenger and even rows the
champion by more, who bets on odd rows alone grows rich, though the champion is better on average.
Bets that learn (aGRAPA, Newton steps) test the *strong* null, that no single row was expected to
favour the challenger: `benchmarks.promotion` shows both.

The clip, and what it does to the claim
---------------------------------------
No test of means holds for losses without any bound (Bahadur and Savage 1956): there may be a loss
so large and so rare that it decides the mean and has not come yet. So a difference counts as c_i
at most, for either side, and the claim is one of clipped differences. It is one of the plain mean

- if no difference is ever beyond the clip: with a ``bound`` that is known, such as 1 for 0/1
  losses, always; without one as soon as c reaches the largest difference there can be, which for
  differences of 0 and 1 it does at once;
- if what is cut off cancels: two predictors of the same quality with differences that are
  symmetric given the past have m_i = 0 with any clip.

Else it may be off by the mean of what was cut from the challenger's side. Without a bound c_1 is
``REACH`` times the median of the first ``WAITED`` differences that are not zero, on which nothing
is bet, and c doubles after each row that it has clipped. Rows in random order exceed a clip above
all before them with probability 1 / t, so that some log(t) rows are clipped in all,
`SequentialTest.clipped` says how many, and a decision asks that the plain mean has the same sign:
one condition more cannot make a guarantee false. Since c is made of rows before, a change of scale
by 1,000 costs ten rows and breaks nothing; where losses become small, c stays, and so does what
earlier rows weigh in A_t.

Notes
-----
Departures from [1]_, Theorems 2 and 3:

- Bets in place of their exponential bounds: log(1 + λx) >= λx - ψ_E(λ) x² for λ|x| < 1, so that
  the capital is larger for the same λ. The mixture is a sum over halves of the largest bet in
  place of the integral with its closed form, whose scale c would have to stay.
- No predictable centring: at a difference of 0 it would waste capital.
- Rows are numbered as their labels come. "Given the past" means given the losses that were known
  before, not what was known when the prediction was made, so that late labels need no correction.
  Rows that come at once may be taken in any order that does not look at their losses.

References
----------
.. [1] Choe, Ramdas. Comparing sequential forecasters. Operations Research (2023).
.. [2] Waudby-Smith, Ramdas. Estimating means of bounded random variables by betting. JRSS B 86
       (2024).
.. [3] Howard, Ramdas, McAuliffe, Sekhon. Time-uniform, nonparametric, nonasymptotic confidence
       sequences. Annals of Statistics 49 (2021).
"""

import sys
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.bet_steps import N_BETS, bet, log_mean
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.transcendental import exp, log

Doubles = NDArray[np.float64]

Side = Literal["challenger", "champion"]
Decision = Literal["challenger", "champion", "undecided"]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Capitals = Annotated[tuple[Number, ...], Field(min_length=N_BETS, max_length=N_BETS)]

WAITED, REACH = 11, 2.0
"""Of the first clip: differences that it waits for, and how many medians of them it is."""


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SequentialTest:
    """Sequential test of champion and challenger after some rows; `update` gives the next.

    Parameters
    ----------
    bound : float, optional
        The largest difference of two losses that there can be, such as 1 for 0/1 losses. Without
        it the scale is learned from the rows, and large differences are clipped.
    restarts : bool
        Whether the evidence is of any rows in succession, and not of the average since the
        beginning alone: for the roll-back to the champion before (the challenger here) when the
        new champion becomes worse.
    rows : int
        Seen, with those on which nothing was bet.
    waited : tuple of float
        Sizes of the first differences, before the first clip.
    first_clip, clip : float
        c_1 and c, in the unit of the loss; 0 before the first clip.
    counted, clipped : int
        Rows that were bet on, and how many of them were clipped.
    mean : float
        Of the plain differences of the rows that were bet on, above 0 where the challenger is
        better.
    challenger, champion : tuple of float
        Logarithms of the capitals that bet on either.
    peak_challenger, peak_champion : float
        The largest logarithms of their mixtures so far.

    Examples
    --------
    >>> import dataclasses
    >>> test = SequentialTest(bound=1.0)
    >>> for _ in range(8):
    ...     test = test.update(loss_champion=1.0, loss_challenger=0.0)
    >>> test.decision(alpha=0.05), test.e_value("challenger") > 20
    ('challenger', True)
    >>> SequentialTest(**dataclasses.asdict(test)) == test
    True
    """

    bound: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    restarts: bool = False
    rows: Count = 0
    waited: Annotated[tuple[Amount, ...], Field(max_length=WAITED)] = ()
    first_clip: Amount = 0.0
    clip: Amount = 0.0
    counted: Count = 0
    clipped: Count = 0
    mean: Number = 0.0
    challenger: Capitals = (0.0,) * N_BETS
    champion: Capitals = (0.0,) * N_BETS
    peak_challenger: Amount = 0.0
    peak_champion: Amount = 0.0

    def update(self, loss_champion: float, loss_challenger: float) -> Self:
        """Return the test after one row more.

        Raises
        ------
        UsageError
            If a loss is not a finite number, or the difference is beyond the bound.
        """
        return self.update_many([loss_champion], [loss_challenger])

    def update_many(self, champion: ArrayLike, challenger: ArrayLike) -> Self:
        """Return the test after many rows, exactly as one by one; UsageError as `update`."""
        return self.trace(champion, challenger)[0]

    def trace(self, champion: ArrayLike, challenger: ArrayLike) -> tuple[Self, Doubles]:
        """Return the test after many rows, and both logarithms of e after each of them.

        Returns
        -------
        SequentialTest
        array of shape (n, 2)
            For the challenger and for the champion.
        """
        differences = self._differences(champion, challenger)
        waited, first = list(self.waited), self.first_clip or self.bound or 0.0
        begin = 0
        while not first and begin < len(differences):
            if differences[begin]:
                waited.append(abs(float(differences[begin])))
            if len(waited) == WAITED:
                middle = sorted(waited)[WAITED // 2]
                first = min(REACH * middle, sys.float_info.max)
            begin += 1
        path = np.zeros((len(differences), 2))
        seen = replace(self, rows=self.rows + len(differences), waited=tuple(waited))
        if not first:
            return seen, path
        entry = log(0.5) if self.restarts and not self.first_clip else 0.0
        capitals = np.array(self.challenger) + entry, np.array(self.champion) + entry
        peaks = self.peak_challenger, self.peak_champion
        running = np.array([self.counted, self.clipped, self.mean, self.clip or first, *peaks])
        growing = self.bound is None
        bet(differences[begin:], first, growing, self.restarts, *capitals, running, path[begin:])
        counted, clipped, mean, clip, *tops = running.tolist()
        after = replace(
            seen,
            waited=(),
            first_clip=first,
            clip=clip,
            counted=int(counted),
            clipped=int(clipped),
            mean=mean,
            challenger=tuple(capitals[0].tolist()),
            champion=tuple(capitals[1].tolist()),
            peak_challenger=tops[0],
            peak_champion=tops[1],
        )
        return after, path

    def log_e(self, side: Side) -> float:
        """Return the logarithm of the evidence that this side is better on average."""
        return float(log_mean(np.array(getattr(self, side))))

    def e_value(self, side: Side) -> float:
        """Return the evidence that this side is better on average; infinite beyond all floats."""
        log = self.log_e(side)
        return exp(log)

    def p_value(self, side: Side) -> float:
        """Return 1 / (largest e so far), for "this side was never better on average"."""
        return exp(-getattr(self, f"peak_{side}"))

    def decision(self, alpha: float) -> Decision:
        """Return who is better: e >= 1 / alpha; each side is wrong with probability alpha.

        Without ``restarts`` the plain mean has to agree.

        Raises
        ------
        UsageError
            If alpha is not between 0 and 1.
        """
        if not 0 < alpha < 1:
            raise UsageError(f"alpha={alpha}: give a probability between 0 and 1")
        level, agrees = -log(alpha), self.mean
        if (agrees > 0 or self.restarts) and self.log_e("challenger") >= level:
            return "challenger"
        if (agrees < 0 or self.restarts) and self.log_e("champion") >= level:
            return "champion"
        return "undecided"

    def _differences(self, champion: ArrayLike, challenger: ArrayLike) -> Doubles:
        losses = np.stack([np.asarray(champion), np.asarray(challenger)]).astype(np.float64)
        most = self.bound or sys.float_info.max
        with np.errstate(over="ignore", invalid="ignore"):
            differences: Doubles = losses[0] - losses[1]
        beyond = np.flatnonzero(~(np.abs(differences) <= most))
        if len(beyond):
            one, other = losses[:, beyond[0]]
            raise UsageError(
                f"losses {one} of the champion and {other} of the challenger must be finite and"
                f" differ by {most} at most: give a larger bound, or leave out rows without a loss"
            )
        return differences

import math

from leaseboard.algorithms.environments.pulls import Trial, Trials
from leaseboard.algorithms.seeds import generator
from tests.simulation import Arms


class SyntheticTrials(Trials):
    """Synthetic arms as the trials of one run: trial n of an arm is a fixed draw.

    Parameters
    ----------
    arms : Arms
    seed : int
        Of the draws.
    """

    def __init__(self, arms: Arms, seed: int) -> None:
        self._arms = arms
        self._seed = seed
        self._joint_arms: dict[int, int] = {}
        self._rngs = [generator(seed, "synthetic arm", arm) for arm in range(arms.n_arms)]
        self._drawn: list[list[float]] = [[] for _ in range(arms.n_arms)]
        self.arms = tuple(f"arm{arm + 1}" for arm in range(arms.n_arms))
        self.tunable = (True,) * arms.n_arms

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        """Draw number `n` of `arm`; free of cost."""
        drawn = self._drawn[arm]
        while len(drawn) <= n:
            drawn.append(float(self._arms.draw(arm, len(drawn) + 1, self._rngs[arm])))
        return Trial(arm, {"pull": n + 1}, drawn[n], None, 0.0, 0.0)

    def joint_trial(self, optimiser: str, n: int, seconds: float = math.inf) -> Trial:
        """Draw an arm, as random search does; other optimisers have nothing to tune."""
        if optimiser != "random":
            return super().joint_trial(optimiser, n, seconds)
        arm = int(generator(self._seed, "synthetic joint", n).integers(len(self.arms)))
        self._joint_arms[n] = arm
        before = sum(self._joint_arms[past] == arm for past in range(n))
        return self.trial(arm, before)

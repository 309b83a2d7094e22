"""Joint-space optimisers: the choice of the arm is one more hyperparameter."""

from typing import Literal

from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.pulls import UNAFFORDABLE, PullsAlgorithm, PullsEnvironment
from leaseboard.algorithms.policies.policy import Record


@dataclass(frozen=True, kw_only=True)
class JointSpace(PullsAlgorithm):
    """One optimiser over all arms' hyperparameters at once, with the arm as a hyperparameter.

    Parameters
    ----------
    optimiser : {"tpe", "random", "smac", "bohb"}
        ``tpe`` is hyperopt's; ``random`` draws the arm, then its hyperparameters; ``smac`` and
        ``bohb`` are SMAC's facades and need the extra ``leaseboard[smac]``.

    Notes
    -----
    The fidelity of ``bohb`` is the share of the training rows: 1/9, 1/3 and 1. A trial on a
    share f is charged f trials, and only trials on all rows can become the champion.

    No arm is retired here, however often it fails: what to suggest is the optimiser's own choice,
    and it learns of every failure as the reward 0.
    """

    optimiser: Literal["tpe", "random", "smac", "bohb"] = "tpe"

    def run(self, env: PullsEnvironment, seed: int) -> Run:
        """Run the optimiser's trials in its own order until the budget ends."""
        record = Record(env)
        yield from record.arms()
        while env.at < env.budget:
            before = env.at
            trial = env.pull_joint(self.optimiser)
            yield record.lease(trial.arm, before, env.pulls[trial.arm] - 1)
            yield from record.trial(trial)
            if trial.reason == UNAFFORDABLE:
                return  # nor is it the next time

"""The order of arms for the first round of ``posterior-max``, from tables outside of the suite.

``python -m benchmarks.arm_order --mirror DIR`` runs the default of each arm of the space
``policies`` on `SETS`, none of which is in the suite ``policies``, with `REPETITIONS` splits of
`ROWS` rows, and prints the arms by their mean rank: the setting `first` of the suite's row
``posterior-max, ordered``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from leaseboard.algorithms.seeds import derive_seed
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.environments.pulls import Options, stored_trials

SETS = ("mirror:1501", "mirror:1116", "mirror:9976", "mirror:mushroom", "mirror:shuttle",
        "mirror:poker_train", "mirror:letter", "mirror:41082")  # fmt: skip
ROWS = 1_000
REPETITIONS = 3


def ranks(
    references: Sequence[str],
    options: Options,
    mirrors: Sequence[Path] = (),
    repetitions: int = REPETITIONS,
) -> pd.Series:
    """Return the mean rank of each arm's default over the sets, the best first."""
    found = []
    for reference in references:
        dataset = loading.load(reference, mirrors=tuple(mirrors))
        for repetition in range(repetitions):
            seed = derive_seed(0, "prior", reference.split("?")[0], repetition)
            trials = stored_trials(dataset, options, seed)
            rewards = [trials.trial(arm, 0).reward for arm in range(len(trials.arms))]
            found.append(pd.Series(rewards, trials.arms).rank(ascending=False))
            trials.close()
    return pd.DataFrame(found).mean().sort_values()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="the order of arms for a first round")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
    options = Options(space="policies", trial_cpu_seconds=5.0)
    references = [f"{name}?rows={ROWS}" for name in SETS]
    for arm, rank in ranks(references, options, given.mirror).items():
        print(f"{arm} {rank:.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

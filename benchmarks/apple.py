"""CPU time of apple next to `linear`, alternately, on sets of the suite ``speed-apple``.

``python -m benchmarks.apple [NAME ...] [--mirror FOLDER] [--repeats N]`` prints a table a set: one
pass of learning at one rate, microseconds of CPU an example and how many times those of `linear`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import Timing, Way, measure, table
from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.environments.holdout import Holdout, HoldoutEnvironment
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.environments.holdout import Options, as_holdout
from leaseboard.tasks.jobs.suites.suite import load_suite
from leaseboard.tasks.machine import paths

REFERENCE = "linear"
NAMES = (REFERENCE, "apple")
SUITE = "speed-apple"
RATE = 0.5


def run(holdout: Holdout, repeats: int = 5) -> list[Timing]:
    """Measure every algorithm on the training rows."""
    return measure([_played(name, holdout, repeats) for name in NAMES], repeats)


def _played(name: str, holdout: Holdout, repeats: int) -> Way:
    algorithm = registry.build(name, {"learning_rate": RATE})
    algorithm.prepare(HoldoutEnvironment(holdout))
    environments = [HoldoutEnvironment(holdout, score_on="progressive") for _ in range(repeats)]

    def work() -> float:
        env = environments.pop()
        for _ in play(name, algorithm, env, seed=0):
            pass
        return env.score().value

    return Way(name, len(holdout.train.labels), work)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the module."""
    suite = load_suite(SUITE, paths.shipped_conf())
    sets, env = {entry.name: entry for entry in suite.data}, dict(suite.environment)
    parser = argparse.ArgumentParser(description="CPU time of apple, in times of linear's")
    parser.add_argument("names", nargs="*", default=["20news"], help=f"sets: {', '.join(sets)}")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args(arguments)
    for name in given.names:
        if name not in sets:
            parser.error(f"{name} is not a set of {SUITE}: name one of {', '.join(sets)}")
        data = loading.load(sets[name].data, mirrors=tuple(given.mirror))
        holdout = as_holdout(data, Options(**env | sets[name].environment), seed=0)
        print(name, table(run(holdout, given.repeats), REFERENCE), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

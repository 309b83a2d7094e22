"""Nanoseconds of CPU a term of models that learn side by side, one by one, and at the limit.

``python -m benchmarks.lanes [--models 5 10 48] [--repeats N]`` learns a generated stream of ten
features by models of 11 to 14 terms. The limit is what the two divisions and the square root take
that the update of a term cannot do without, on numbers that stay in the first cache.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Sequence

import numpy as np

from benchmarks.timing import Timing, Way, measure
from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import Floats
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online.placement import learn_live
from leaseboard.algorithms.online.schema import Schema

N_EXAMPLES = 4_000
NAMES = "abcdefghij"


def models_of(n_models: int) -> KernelModels:
    """Return models of ten features and up to three of their pairs."""
    schema = Schema(tuple(NAMES), tuple((k,) for k in range(10)), tuple(map(str, range(10))))
    random, pairs = np.random.default_rng(0), [*itertools.combinations(NAMES, 2)]
    models = KernelModels(schema, n_models)
    for slot in range(n_models):
        chosen = random.choice(len(pairs), slot % 4, replace=False)
        models.start(slot, VWConfiguration(tuple(pairs[k] for k in sorted(chosen))))
    return models


@compiled(error_model="numpy")
def divide(one: Floats, other: Floats, found: Floats, times: int) -> None:
    """Compute two divisions and a square root of each pair of numbers, `times` over."""
    for _ in range(times):
        for k in range(len(one)):
            found[k] = one[k] / other[k] + np.float32(1) / math.sqrt(one[k])


def run(widths: Sequence[int], repeats: int) -> list[Timing]:
    """Time each way, the least of all last; what is counted are terms, not examples."""
    random = np.random.default_rng(1)
    examples = random.normal(size=(N_EXAMPLES, 10)).astype(np.float32)
    labels = (examples[:, 0] * examples[:, 1] + random.normal(size=N_EXAMPLES)).astype(np.float32)
    ones = np.ones(N_EXAMPLES, dtype=np.float32)

    def way(n_models: int, *, together: bool) -> Way:
        slots = np.arange(n_models)
        groups = [slots] if together else list(slots[:, None])
        models = models_of(n_models)
        predictions = np.zeros((N_EXAMPLES, n_models), dtype=np.float32)

        def work() -> float:
            for learned in models.pool[:3]:
                learned[:] = 0
            for live in groups:
                learn_live(examples, labels, ones, live, models.handle, models.loss, predictions)
            return float(np.mean((predictions - labels[:, None]) ** 2))

        name = f"{n_models} models, {'side by side' if together else 'one by one'}"
        return Way(name, N_EXAMPLES * int(models.pool.n_terms.sum()), work)

    one, other, found = random.uniform(0.5, 2.0, (3, 512)).astype(np.float32)

    def limit() -> None:
        divide(one, other, found, 10_000)

    ways = [way(n, together=together) for n in widths for together in (True, False)]
    ways.append(Way("two divisions and a square root", 512 * 10_000, limit))
    for rival in ways:
        rival.work()  # compiles
    return measure(ways, repeats)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="CPU time a term of models side by side")
    parser.add_argument("--models", type=int, nargs="+", default=[5, 10, 48])
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args(arguments)
    timings = run(given.models, given.repeats)
    print(f"{'ns a term':>45} {'least':>8}")
    for one in timings:
        assert one.least_us is not None
        print(f"{one.name:35} {1e3 * one.median_us:9.2f} {1e3 * one.least_us:8.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

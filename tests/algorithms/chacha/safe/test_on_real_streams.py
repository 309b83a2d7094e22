"""The default on real, ordered streams: the promise, and how much is gained."""

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.tasks import fetch
from leaseboard.tasks.preprocess import as_stream

pytestmark = pytest.mark.mirror


def run(name, stream):
    bench = StreamBench(stream)
    for _ in registry.build(name).run(bench, seed=0):
        pass
    return bench


def losses(name, stream):
    return np.cumsum((run(name, stream).predictions.astype(np.float64) - stream.labels) ** 2)


@pytest.mark.parametrize(
    ("number", "most"),
    [(201, 0.45), (215, 0.22), (216, 0.8), (537, 0.27), (564, 0.9), (23515, 0.65), (42225, 0.5)],
)
def test_never_above_the_promise_and_mostly_far_below_vanilla(number, most, mirror):
    stream = as_stream(fetch.load(f"openml:{number}", mirrors=(mirror,)))
    vanilla, default = losses("vanilla", stream), run("chacha", stream)
    metrics = default.score().metrics

    assert metrics["share_of_bound"] <= 1
    assert 0.89 <= metrics["coverage"] <= 0.91
    assert metrics["coverage_in_worst_window"] >= 0.85
    assert metrics["unbounded_intervals"] == 0
    assert default.score().value * len(stream.labels) < most * vanilla[-1]


def test_the_published_rules_do_not_promise_that(mirror):
    """On 537 champions cascade on thin evidence: what the default was built to prevent."""
    stream = as_stream(fetch.load("openml:537", mirrors=(mirror,)))
    vanilla = losses("vanilla", stream)
    published = losses("chacha-icml-eval", stream)

    assert published[-1] > 2 * vanilla[-1]

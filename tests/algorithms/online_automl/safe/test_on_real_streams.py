"""The default on real, ordered streams: the guarantee, and how much is gained."""

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.streaming import StreamOptions, as_stream

pytestmark = pytest.mark.mirror

LOG = StreamOptions(log_target="code")


def run(name, stream):
    environment = StreamEnvironment(stream)
    for _ in registry.build(name).run(environment, seed=0):
        pass
    return environment


def losses(name, stream):
    return np.cumsum((run(name, stream).predictions.astype(np.float64) - stream.labels) ** 2)


@pytest.mark.parametrize(
    ("number", "most"),
    [(201, 0.45), (215, 0.22), (216, 0.8), (537, 0.27), (564, 0.9), (23515, 0.65), (42225, 0.5)],
)
def test_never_above_the_guarantee_and_mostly_far_below_vanilla(number, most, mirror):
    stream = as_stream(loading.load(f"openml:{number}", mirrors=(mirror,)), LOG)
    vanilla, default = losses("vanilla", stream), run("online-automl", stream)
    metrics = default.score().metrics

    assert metrics["share_of_bound"] <= 1
    assert 0.89 <= metrics["coverage"] <= 0.91
    assert metrics["coverage_in_worst_window"] >= 0.85
    assert metrics["unbounded_intervals"] == 0
    assert default.score().value * len(stream.labels) < most * vanilla[-1]


def test_the_published_rules_do_not_guarantee_that(mirror):
    """On 537 champions cascade on thin evidence: what the default was built to prevent."""
    stream = as_stream(loading.load("openml:537", mirrors=(mirror,)), LOG)
    vanilla = losses("vanilla", stream)
    published = losses("chacha", stream)

    assert published[-1] > 2 * vanilla[-1]

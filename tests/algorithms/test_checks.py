"""The common checks catch what their documentation says."""

import random

import numpy as np
import pytest
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Algorithm
from leaseboard.algorithms.checks import check_global_randomness, checks
from leaseboard.algorithms.errors import RuleBrokenError
from leaseboard.algorithms.events import ConfigurationAdmitted, LeaseGranted
from tests.algorithms import cheats

DRAWS = {
    "random.randint": lambda: random.randint(0, 1),
    "numpy.random.choice": lambda: np.random.choice(3),  # noqa: NPY002
    "numpy.random.seed": lambda: np.random.seed(0),  # noqa: NPY002
}


def predict_zero(env):
    """Do the least that an algorithm on a stream must do."""
    yield ConfigurationAdmitted(at=0, configuration=0, parameters={})
    if env.budget:
        yield LeaseGranted(at=0, configuration=0, amount=env.budget)
    yield from env.record(np.zeros(env.budget, dtype=np.float32))


@dataclass(frozen=True, kw_only=True)
class Drawing(Algorithm):
    """Algorithm that draws from a global generator and ignores the draws."""

    environment = "stream"
    draw: str = "random.randint"

    def run(self, env, seed):
        DRAWS[self.draw]()
        yield from predict_zero(env)


@pytest.mark.parametrize("draw", DRAWS)
def test_any_use_of_global_generators_is_caught(draw):
    with pytest.raises(RuleBrokenError, match="a global random generator was used"):
        check_global_randomness(Drawing(draw=draw))


@pytest.mark.parametrize("cheat", cheats.CHEATS)
def test_a_cheat_is_found_by_the_check_that_names_its_kind(cheat):
    with pytest.raises(Exception) as found:  # noqa: PT011  (on any error the check fails)
        checks()[cheats.found_by(cheat)](cheat())
    assert "\n" not in str(found.value)
    assert len(str(found.value)) > 20


@pytest.mark.parametrize("honest", cheats.HONEST)
def test_an_honest_algorithm_passes_every_check(honest):
    for check in checks().values():
        check(honest())

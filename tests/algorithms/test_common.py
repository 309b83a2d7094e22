"""The common checks: over every algorithm, and that they catch what they say."""

import random
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Algorithm, play
from leaseboard.algorithms.checks import broken, check_global_randomness, checks, tiny_environment
from leaseboard.algorithms.errors import DivergedError, RuleBrokenError
from leaseboard.algorithms.events import ConfigurationAdmitted, LeaseGranted, to_json
from tests.algorithms import cheats, failing, outside
from tests.algorithms.played import audited

__all__ = ["outside"]  # for the algorithms of other libraries

PRINT_LOGS = """
import sys
from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.events import to_json
from leaseboard.algorithms.checks import tiny_environment
for name in sys.argv[1:]:
    algorithm = registry.build(name)
    for event in play("x", algorithm, tiny_environment(algorithm.environment), 1):
        print(to_json(event))
"""


NAMES = registry.names()
KINDS = {name: registry.algorithm_class(name).environment for name in reversed(NAMES)}
ONE_AN_ENVIRONMENT = {kind: name for name, kind in KINDS.items() if kind in failing.ENVIRONMENTS}


def test_every_algorithm_keeps_every_rule():
    said = {(name, check): broken(name, check) for name in NAMES for check in checks()}

    assert {which: how for which, how in said.items() if how} == {}


@pytest.mark.parametrize("kind", failing.ENVIRONMENTS)
def test_what_is_not_a_number_or_fails_ends_in_a_clean_log_or_as_diverged(kind):
    for name in NAMES:
        algorithm = registry.build(name)
        if algorithm.environment == kind:
            env = failing.ENVIRONMENTS[kind]()
            algorithm.prepare(env)
            with suppress(DivergedError):
                audited(name, algorithm, env)


def test_another_process_gives_the_same_events():
    here = []
    for algorithm in map(registry.build, ONE_AN_ENVIRONMENT.values()):
        here += map(to_json, play("x", algorithm, tiny_environment(algorithm.environment), 1))
    there = subprocess.run(
        [sys.executable, "-c", PRINT_LOGS, *ONE_AN_ENVIRONMENT.values()],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip

    assert there == here


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

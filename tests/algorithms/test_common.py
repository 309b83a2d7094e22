"""The common checks over every registered algorithm."""

import subprocess
import sys
from contextlib import suppress

import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.checks import broken, checks, tiny_environment
from leaseboard.algorithms.errors import DivergedError
from leaseboard.algorithms.events import to_json
from tests.algorithms import failing, outside
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

"""The common checks over every registered algorithm."""

import subprocess
import sys

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import play
from leaseboard.algorithms.checks import broken, checks, tiny_environment
from leaseboard.algorithms.events import to_json
from tests.algorithms import outside

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
ONE_AN_ENVIRONMENT = {registry.algorithm_class(name).environment: name for name in reversed(NAMES)}


def test_every_algorithm_keeps_every_rule():
    said = {(name, check): broken(name, check) for name in NAMES for check in checks()}

    assert {which: how for which, how in said.items() if how} == {}


def test_another_process_gives_the_same_events():
    here = []
    for algorithm in map(registry.build, ONE_AN_ENVIRONMENT.values()):
        here += map(to_json, play("x", algorithm, tiny_environment(algorithm.environment), 1))
    there = subprocess.run(
        [sys.executable, "-c", PRINT_LOGS, *ONE_AN_ENVIRONMENT.values()],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip

    assert there == here

"""The common checks over every registered algorithm."""

import subprocess
import sys

import pytest

from algorithms import registry
from algorithms.base import play
from algorithms.checks import broken, checks
from algorithms.log_format import to_json
from algorithms.tiny import tiny_bench

PRINT_LOG = """
import sys
from algorithms import registry
from algorithms.base import play
from algorithms.log_format import to_json
from algorithms.tiny import tiny_bench
algorithm = registry.build(sys.argv[1])
for event in play("x", algorithm, tiny_bench(algorithm.bench), 1):
    print(to_json(event))
"""


NAMES = [entry.name for entry in registry.ENTRIES if registry.is_installed(entry)]
ONE_A_BENCH = {registry.algorithm_class(name).bench: name for name in NAMES}


def test_every_algorithm_keeps_every_promise():
    said = {(name, check): broken(name, check) for name in NAMES for check in checks()}

    assert {which: how for which, how in said.items() if how} == {}


@pytest.mark.parametrize("name", ONE_A_BENCH.values(), ids=str)
def test_another_process_gives_the_same_events(name):
    algorithm = registry.build(name)
    here = [to_json(e) for e in play("x", algorithm, tiny_bench(algorithm.bench), 1)]
    there = subprocess.run(
        [sys.executable, "-c", PRINT_LOG, name], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert there == here

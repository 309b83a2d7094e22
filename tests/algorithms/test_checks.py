"""The common checks catch what they promise to catch."""

import random
import subprocess
import sys

import numpy as np
import pytest
from pydantic.dataclasses import dataclass

from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Algorithm
from leaseboard.algorithms.checks import (
    check_global_randomness,
    check_look_ahead,
    check_many_classes,
    check_not_a_number,
    check_restart,
    check_seeded,
    check_settings,
    checks,
)
from leaseboard.algorithms.errors import AuditError, BrokenPromiseError
from leaseboard.algorithms.events import ConfigurationAdmitted, LeaseGranted
from leaseboard.algorithms.policies.policy import ArmPolicy, Policy
from tests.algorithms import cheats

DRAWS = {
    "random.randint": lambda: random.randint(0, 1),
    "random.gauss": lambda: random.gauss(0, 1),
    "numpy.random.choice": lambda: np.random.choice(3),  # noqa: NPY002
    "numpy.random.standard_normal": lambda: np.random.standard_normal(2),  # noqa: NPY002
    "numpy.random.seed": lambda: np.random.seed(0),  # noqa: NPY002
}


def predict_zero(bench):
    """The least that an algorithm on a stream must do."""
    yield ConfigurationAdmitted(at=0, configuration=0, parameters={})
    if bench.budget:
        yield LeaseGranted(at=0, configuration=0, amount=bench.budget)
    yield from bench.record(np.zeros(bench.budget, dtype=np.float32))


@dataclass(frozen=True, kw_only=True)
class Drawing(Algorithm):
    """Draws from a global generator and does not even use what it got."""

    bench = "stream"
    draw: str = "random.randint"

    def run(self, bench, seed):
        DRAWS[self.draw]()
        yield from predict_zero(bench)


@dataclass(frozen=True, kw_only=True)
class Remembering(Algorithm):
    """Tells how often it ran."""

    bench = "stream"
    runs = []  # noqa: RUF012

    def run(self, bench, seed):
        yield ConfigurationAdmitted(at=0, configuration=0, parameters={"runs": len(self.runs)})
        self.runs.append(seed)
        yield from bench.record(np.zeros(bench.budget, dtype=np.float32))


@dataclass(kw_only=True)
class Mutable(Algorithm):
    """Lets its setting be changed."""

    bench = "stream"
    b: int = 1

    def run(self, bench, seed):
        yield from predict_zero(bench)


@dataclass(frozen=True, kw_only=True)
class Stubborn(ArmPolicy):
    """Pulls its second arm for ever, whatever happens to it."""

    def policy(self, problem, rng):
        return StubbornPolicy(problem)


class StubbornPolicy(Policy):
    def _choose(self):
        return np.ones(1, dtype=np.intp)

    def _learn(self, arm, reward, cost):
        pass


def test_a_policy_that_pulls_a_retired_arm_is_caught():
    with pytest.raises(AuditError, match="configuration 1 was given a lease after it had left"):
        check_not_a_number(Stubborn())


@pytest.mark.parametrize("draw", DRAWS)
def test_any_use_of_global_generators_is_caught(draw):
    with pytest.raises(BrokenPromiseError, match="a global random generator was used"):
        check_global_randomness(Drawing(draw=draw))


@pytest.mark.parametrize("check", [check_seeded, check_restart])
def test_state_shared_between_runs_is_caught(check):
    with pytest.raises(BrokenPromiseError):
        check(Remembering())


@dataclass(frozen=True, kw_only=True)
class Foreseeing(Algorithm):
    """Gives a class a chance from the example on which it comes for the first time."""

    bench = "stream"
    many_classes = True

    def run(self, bench, seed):
        known = bench.stream.labels[: bench.budget]
        chances = np.arange(3) == np.maximum.accumulate(known)[:, None]
        yield from bench.record(chances.astype(float))


def test_a_class_that_is_known_before_it_comes_is_caught():
    expected = r"the prediction of example \d+, class \d, moves"
    with pytest.raises(BrokenPromiseError, match=expected):
        check_many_classes(Foreseeing())


def test_settings_that_can_be_changed_are_caught():
    with pytest.raises(BrokenPromiseError, match="setting 'b' can be changed"):
        check_settings(Mutable())


def test_a_promise_is_broken_under_python_o_too():
    code = (
        "from leaseboard.algorithms.checks import _promise\n"
        "from leaseboard.algorithms.errors import BrokenPromiseError\n"
        "try:\n    _promise(False, 'why')\n"
        "except BrokenPromiseError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "why\n"


@pytest.fixture
def own_bench(monkeypatch):
    """A class of benches that a test may patch."""
    for owner, name in cheats.PATCHED:
        monkeypatch.setattr(owner, name, getattr(owner, name))


@pytest.mark.parametrize("cheat", cheats.CHEATS)
def test_a_cheat_is_found_by_the_check_that_names_its_kind(cheat, own_bench):
    with pytest.raises(Exception) as found:  # noqa: PT011  (whatever it is, the check fails)
        checks()[cheats.found_by(cheat)](cheat())
    assert "\n" not in str(found.value)
    assert len(str(found.value)) > 20


@pytest.mark.parametrize("honest", cheats.HONEST)
def test_an_honest_algorithm_passes_every_check(honest):
    for check in checks().values():
        check(honest())


def test_hindsight_is_declared_and_else_found(monkeypatch):
    oracle = registry.build("best-in-hindsight")
    declared = [name for name in registry.names() if registry.algorithm_class(name).hindsight]

    assert declared == ["best-in-hindsight"]
    check_look_ahead(oracle)
    monkeypatch.setattr(type(oracle), "hindsight", False)
    with pytest.raises(BrokenPromiseError, match="although nothing changes before"):
        check_look_ahead(oracle)

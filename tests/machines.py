"""State machines of Hypothesis, small in the tests and large on demand.

``LEASEBOARD_MACHINE=EXAMPLESxSTEPS@SEED``, such as ``200x30@0``, replaces the size and the seed of
each: ``make machines`` runs them so.
"""

import os

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import get_state_machine_test


def run_machine(machine, examples, steps, *, shrink=True):
    """Run a state machine in so many orders of so many steps; `shrink` what fails."""
    number, phases = 0, [Phase.generate, *[Phase.shrink] * shrink]
    if given := os.environ.get("LEASEBOARD_MACHINE"):
        size, _, number = given.partition("@")
        examples, steps = map(int, size.split("x"))
    size = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, database=None,
        derandomize=False, phases=phases, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    seed(int(number or 0))(get_state_machine_test(machine, settings=size))()

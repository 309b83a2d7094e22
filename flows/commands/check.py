"""``leaseboard check``: does an algorithm keep the promises that all of ours keep?"""

from __future__ import annotations

from typing import Annotated

import typer

from leaseboard.algorithms.errors import UserFileError
from leaseboard.flows.terminal import say

LIMITS = {"wall_seconds": 600, "cpu_seconds": 300, "memory_mb": 8000}
"""What one promise may take to check: each is checked in a process of its own."""


def check(
    algorithm: Annotated[
        str, typer.Argument(help="A name of `leaseboard list`, or file.py:Class.")
    ],
) -> int:
    """Run the common checks over an algorithm of your own or of ours.

    Example: leaseboard check my_algorithm.py:MyAlgorithm
    """
    from leaseboard.algorithms.checks import checks
    from leaseboard.algorithms.user_files import file_of
    from leaseboard.tasks.jobs import quarantine
    from leaseboard.tasks.jobs.described import describe
    from leaseboard.tasks.jobs.limits import Limits

    found = describe(algorithm, {})
    failed = 0
    for name, promise in checks().items():
        try:
            broken = quarantine.ask(
                "leaseboard.tasks.jobs.checked:broken", file_of(algorithm), algorithm, name,
                limits=Limits(**LIMITS), follow=False,
            )  # fmt: skip
        except UserFileError as error:  # it did not live to tell
            broken = str(error)
        if broken:
            failed += 1
            say(f"FAILED  {name}: {broken}")
        else:
            say(f"ok      {name}: {(promise.__doc__ or '').strip()}")
    if found.hindsight:
        say("note    it declares hindsight: look_ahead was not asked of it, and boards mark it")
    say(f"{len(checks()) - failed} promises kept, {failed} broken")
    return 1 if failed else 0

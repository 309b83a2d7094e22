"""``leaseboard check``: does an algorithm keep the promises that all of ours keep?"""

from __future__ import annotations

from typing import Annotated

import typer

from flows.terminal import say


def check(
    algorithm: Annotated[
        str, typer.Argument(help="A name of `leaseboard list`, or file.py:Class.")
    ],
) -> int:
    """Run the common checks over an algorithm of your own or of ours.

    Example: leaseboard check my_algorithm.py:MyAlgorithm
    """
    from algorithms import registry
    from algorithms.checks import checks

    built = registry.build(algorithm)
    failed = 0
    for name, promise in checks().items():
        try:
            promise(built)
        except Exception as error:  # noqa: BLE001  (whatever an algorithm raises breaks a promise)
            failed += 1
            say(f"FAILED  {name}: {type(error).__name__}: {error}")
        else:
            say(f"ok      {name}: {(promise.__doc__ or '').strip()}")
    if built.hindsight:
        say("note    it declares hindsight: look_ahead was not asked of it, and boards mark it")
    say(f"{len(checks()) - failed} promises kept, {failed} broken")
    return 1 if failed else 0

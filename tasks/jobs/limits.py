"""What a job may use, enforced from outside it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leaseboard.tasks.machine.yaml_files import Strict

Amount = Annotated[float, Field(gt=0, le=1e9)]
"""Of seconds or megabytes: more than any machine has, and no more than timers and limits take."""


class Limits(Strict):
    """What one job may use before it is stopped; None means no limit.

    A job that prints more than `output_mb` goes on, and its log is cut.
    """

    wall_seconds: Amount | None = None
    cpu_seconds: Amount | None = None
    memory_mb: Amount | None = None
    output_mb: Amount | None = 64.0

"""Python processes of ours: how they are started, and what the kernel lets them use."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def spawn(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """A process that runs `module` and imports from where we do.

    - `*arguments`: anybody can read them: no passwords.
    - `environment`: variables beside our own.
    - `**options`: of `subprocess.Popen`.
    """
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        env={**os.environ, **path, **(environment or {})},
        **options,
    )


def confine(cpu_seconds: float | None = None, memory_mb: float | None = None) -> None:
    """Have the kernel hold this process to limits, also when nobody watches it any more.

    Beyond `cpu_seconds`, in whole seconds, it is killed by SIGXCPU; beyond `memory_mb` of data
    it gets a MemoryError. It leaves no core.
    """
    if cpu_seconds is not None:
        seconds = math.ceil(cpu_seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if memory_mb is not None:
        size = int(memory_mb * 1e6)
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

"""A script that runs jobs in the code of whatever tree is on the path, and tells their CPU time.

Each line of standard input is a job in JSON, each line of standard output what it came to.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tasks.environment import prepare_environment


def serve(mirrors: tuple[Path, ...]) -> None:
    """Answer every line until there is none."""
    prepare_environment()

    from tasks.jobs import Job
    from tasks.run import run_job

    answers, sys.stdout = sys.stdout, sys.stderr  # jobs may print
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder:
            result, _ = run_job(Job(**json.loads(line)), Path(folder), mirrors=mirrors)
        answer = {"status": result.status, "cpu_seconds": result.cpu_seconds}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(tuple(Path(argument) for argument in sys.argv[1:]))

"""Script that runs jobs in the code of the tree on its path, and reports their CPU time.

Each line of standard input is a job in JSON, each line of standard output its status and CPU
seconds. A job that fails, or that this code does not know, is answered too. When the other end is
gone, this process ends, in the middle of a job if need be.

It is a plain script and not `leaseboard.tasks.processes.subprocesses`, which the trees of other
commits do not have.
"""

import json
import os
import queue
import sys
import tempfile
import threading
from pathlib import Path

from leaseboard.tasks.machine.environment import prepare_environment


def serve(mirrors: tuple[Path, ...]) -> None:
    """Answer every line until the input ends."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    prepare_environment()

    from leaseboard.tasks.jobs.job import Job
    from leaseboard.tasks.jobs.run import run_job

    answers, sys.stdout = sys.stdout, sys.stderr  # jobs may print
    while True:
        line = lines.get()
        try:
            with tempfile.TemporaryDirectory() as folder:
                result, _ = run_job(Job(**json.loads(line)), Path(folder), mirrors=mirrors)
            answer = {"status": result.status, "cpu_seconds": result.cpu_seconds}
        except Exception as error:  # noqa: BLE001  (the other jobs continue)
            answer = {"status": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def _read(lines: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    serve(tuple(Path(argument) for argument in sys.argv[1:]))

"""A PostgreSQL server of this machine's programs, for tests and benchmarks: it ends with them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

# Debian keeps its programs off the path.
_FOLDERS = [os.environ["PATH"], *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
INITDB = shutil.which("initdb", path=os.pathsep.join(_FOLDERS))
"""The program that makes a server's files; None without PostgreSQL."""


@contextmanager
def postgresql() -> Iterator[str]:
    """Yield the address of a fresh server, without a database."""
    if INITDB is None:
        raise FileNotFoundError("initdb is not on the path: install PostgreSQL")
    programs = Path(INITDB).parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        user = None
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            user = "nobody"
            shutil.chown(folder, user)
        run = partial(subprocess.run, user=user, cwd=folder, check=True, capture_output=True)
        run([programs / "initdb", "-D", "data", "-U", "mlflow", "--auth=trust", "--no-sync"])
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"
        run([programs / "pg_ctl", "-D", "data", "-o", options, "-l", "log", "-w", "start"])
        try:
            yield f"postgresql://mlflow:secret@127.0.0.1:{port}"
        finally:
            run([programs / "pg_ctl", "-D", "data", "-m", "fast", "-w", "stop"])

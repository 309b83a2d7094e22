"""A process that has imported what commands import, and forks one where a new Python would start.

The imports of a command take 2 to 3 s of CPU, and many tests are about what it does then. What is
about the start of a process, its command line or what hides a module starts a real one.

``zygote.py --serve SOCKET`` is the process, ``zygote.py SOCKET -m MODULE WORDS…`` (or a file's
path in place of ``-m MODULE``) does what Python would do with the rest of the line.
"""

import array
import contextlib
import importlib
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

IMPORTS = (
    "flows.benchmark", "flows.cli", "flows.dispatch", "mlflow.store.tracking.sqlalchemy_store",
    "tasks.gate.verdict", "tasks.models.logged", "tasks.report", "tasks.score.bootstrap",
    "tasks.steps.recording", "tasks.track.recorder",
)  # fmt: skip
"""None of Prefect, which reads its settings when it is imported."""


class Forked:
    """A fork that does what Python does with `words`; it is used as `subprocess.Popen` is."""

    def __init__(self, place, words, *, cwd, env, files):
        self._channel = socket.socket(socket.AF_UNIX)
        self._channel.connect(str(place))
        asked = {"words": [*map(str, words)], "cwd": str(cwd), "environment": dict(env)}
        sent = array.array("i", [file.fileno() for file in files]).tobytes()
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)
        self._channel.sendmsg([b"."], [rights])
        self._lines = self._channel.makefile("rw")
        print(json.dumps(asked), file=self._lines, flush=True)
        self.pid = int(self._lines.readline())
        self.returncode = None

    def wait(self, timeout=None):
        if self.returncode is None:
            self._channel.settimeout(timeout)
            self.returncode = int(self._lines.readline())
            self._channel.close()
        return self.returncode

    def poll(self):
        if self.returncode is None and select.select([self._channel], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class Zygote:
    """The process, and how it is asked."""

    def __init__(self, place):
        self.place = place
        command = [sys.executable, "-P", __file__, "--serve", str(place)]
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path})
        deadline = time.monotonic() + 240
        while not place.exists():
            assert self._process.poll() is None, "the zygote ended"
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def stop(self):
        self._process.terminate()
        self._process.wait()

    def start(self, words, *, cwd, out, err, env=os.environ):
        """Begin what Python does with `words`; what it says goes to the files `out` and `err`."""
        with Path(os.devnull).open() as nothing:
            return Forked(self.place, words, cwd=cwd, env=env, files=(nothing, out, err))

    def run(self, words, *, cwd, env=os.environ):
        """`subprocess.run`, with what it captures as bytes."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self.start(words, cwd=cwd, out=out, env=env, err=err).wait()
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(words, code, out.read(), err.read())

    def program(self, *words):
        """A line of a shell that does what Python does with `words` and its own arguments."""
        return (
            f'exec {shlex.join([sys.executable, "-IS", __file__, str(self.place), *words])} "$@"'
        )


def serve(place):
    """Import, then fork whatever is asked for, until a signal ends us and with us all forks."""
    for name in IMPORTS:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a fork has one thread"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{place}.new")
    listener.listen()
    Path(f"{place}.new").rename(place)
    while True:
        channel, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _mind(channel)
        channel.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _mind(channel):
    """Fork what is asked for, say its number, and how it ended."""
    _, sent, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(3 * 4))
    files = array.array("i")
    files.frombytes(sent[0][2])
    with channel.makefile("rw") as lines:
        asked = json.loads(lines.readline())
        pid = os.fork()
        if pid == 0:
            channel.close()
            _live(asked, files)
        print(pid, file=lines, flush=True)
        for file in files:
            os.close(file)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=lines, flush=True)
    os._exit(0)


def _live(asked, files):
    code = 1
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, 1000)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  (as Python does at its start)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    try:
        if asked["words"][0] == "-m":
            _, module, *words = asked["words"]
            sys.argv = [module, *words]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            sys.argv = asked["words"]
            runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  (as Python does at its end)
        traceback.print_exc()
    finally:
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    place, *words = sys.argv[1:]
    streams = (sys.stdin, sys.stdout, sys.stderr)
    sys.exit(Forked(place, words, cwd=Path.cwd(), env=os.environ, files=streams).wait())

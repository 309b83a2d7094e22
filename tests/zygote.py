"""A process that has imported what commands import, and forks one where a new Python would start.

The imports of a command take 2 to 3 s of CPU, those of a worker and its job as much, and many
tests are about what they do then. What is about the start of a process, its command line or what
hides a module starts a real one.

``zygote.py --serve SOCKET`` is the process, ``zygote.py SOCKET -m MODULE WORDS…`` (or a file's
path in place of ``-m MODULE``) does what Python would do with the rest of the line.
"""

import array
import contextlib
import ctypes
import fcntl
import functools
import gc
import importlib.abc
import importlib.machinery
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
import types
from pathlib import Path

IMPORTS = (
    "leaseboard.algorithms.chacha.presets", "leaseboard.algorithms.online_automl.online_automl",
    "leaseboard.flows.benchmark", "leaseboard.flows.cli", "leaseboard.flows.gate",
    "leaseboard.flows.live_update", "leaseboard.tasks.archive.runs",
    "leaseboard.tasks.jobs.described", "leaseboard.tasks.models.winner",
    "leaseboard.tasks.models.registry", "leaseboard.tasks.pool.workers",
    "leaseboard.tasks.report.build", "leaseboard.tasks.score.inference",
    "leaseboard.tasks.score.verdict", "leaseboard.tasks.steps.interactive",
    "leaseboard.tasks.steps.plain", "leaseboard.tasks.track.tracker",
    "mlflow.pyfunc", "mlflow.store.model_registry.sqlalchemy_store",
    "mlflow.store.tracking.sqlalchemy_workspace_store", "plotly.io._html", "pyarrow.csv",
    "pyarrow.dataset", "sklearn.datasets",
)  # fmt: skip
IDENTIFIED = {"vanilla": "stream", "linear": "holdout", "average": "pulls", "abc": "samples"}
"""Algorithms whose code is read for its version, each with its environment: no fork need do so."""
PREFECT = (
    "prefect.artifacts", "prefect.cli.server", "prefect.client.orchestration",
    "prefect.concurrency.services", "prefect.flow_engine", "prefect.logging.handlers",
    "prefect.schedules", "prefect.server.api.server", "prefect.task_runners",
)  # fmt: skip
"""Modules of Prefect that wait until a fork imports any of them: see `Aside`."""
PACKAGE = "leaseboard."
OURS = f"{PACKAGE}tasks."
_DIE_WITH_PARENT, _NAME, _BECOME_SUBREAPER = 1, 15, 36  # PR_SET_… of linux/prctl.h
_adopting = threading.Lock()


def remember():
    """Compute once what depends on what is installed alone: commands, and the schema of MLflow."""
    for place, name in (("typer.main", "get_command"),
                        ("mlflow.store.db.utils", "_get_latest_schema_revision")):  # fmt: skip
        module = importlib.import_module(place)
        found = getattr(module, name)
        if not hasattr(found, "cache_info"):
            setattr(module, name, functools.cache(found))


def prctl(option, value):
    assert ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0


def ask(place, words, *, cwd, env, files, **how):
    """Have a fork begin what Python does with `words`; `files` are its own, by their numbers."""
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(str(place))
    asked = {"words": [*map(str, words)], "cwd": str(cwd), "environment": dict(env)}
    sent = array.array("i", files.values()).tobytes()
    channel.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
    lines = channel.makefile("rw")
    print(json.dumps(asked | how | {"numbers": [*files]}), file=lines, flush=True)
    return int(lines.readline()), channel, lines


class Forked:
    """A fork that does what Python does with `words`; it is used as `subprocess.Popen` is."""

    def __init__(self, place, words, *, cwd, env, files, forks=True):
        numbers = dict(enumerate(file.fileno() for file in files))
        self.pid, self._channel, self._lines = ask(
            place, words, cwd=cwd, env=env, files=numbers, adopted=False, forks=forks
        )
        self.returncode = None

    def wait(self, timeout=None):
        if self.returncode is None:
            self._channel.settimeout(timeout)
            self.returncode = int(self._lines.readline())
            self._lines.close()
            self._channel.close()
        return self.returncode

    def poll(self):
        if self.returncode is None and select.select([self._channel], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class Adopted(subprocess.Popen):
    """A fork that is a child of this process, as that of a new Python would be."""

    def __init__(self, place, words, **options):
        self._place = place
        super().__init__(words, **options)

    def _execute_child(
        self, words, _executable, _preexec, _close, passed, cwd, env, _info, _flags, _shell,
        given, _write, _read, out, _read_too, err, _restore, _gid, _gids, _uid, _umask, session,
        *_,
    ):  # fmt: skip
        streams = (given, out, err)
        files = {n: n if stream < 0 else stream for n, stream in enumerate(streams)}
        how = {"adopted": True, "session": session}
        with _adopting:
            prctl(_BECOME_SUBREAPER, 1)  # what has no parent any more comes to us
            self.pid, channel, lines = ask(
                self._place, words[1 + (words[1] == "-P") :], cwd=cwd or Path.cwd(), env=env,
                files=files | {number: number for number in passed}, **how,
            )  # fmt: skip
            prctl(_BECOME_SUBREAPER, 0)
        lines.close()
        channel.close()
        self._child_created = True


def starting(place):
    """Return the replacement of `subprocess`: what runs with ``-P`` are forks of `place`.

    So are the runs of a schedule, which Prefect starts.
    """

    def start(words, **options):
        if words[1] != "-P" and "prefect.engine" not in words:
            return subprocess.Popen(words, **options)
        return Adopted(place, words, **options)

    return types.SimpleNamespace(**vars(subprocess) | {"Popen": start})


class Zygote:
    """The process, and how it is asked."""

    def __init__(self, place):
        self.place = place
        command = [sys.executable, "-P", __file__, "--serve", str(place)]
        path = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path})
        while not place.exists():
            assert self._process.poll() is None, "the zygote ended"
            time.sleep(0.02)

    def stop(self):
        self._process.terminate()
        self._process.wait()

    def start(self, words, *, cwd, out, err, env=os.environ, forks=True):
        """Begin what Python does with `words`; what it says goes to the files `out` and `err`.

        What it starts is forked too, unless `forks` is false: a new Python has a command line.
        """
        with Path(os.devnull).open() as nothing:
            files = (nothing, out, err)
            return Forked(self.place, words, cwd=cwd, env=env, files=files, forks=forks)

    def run(self, words, *, cwd, env=os.environ):
        """Run as `subprocess.run` does, with what it captures as bytes."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self.start(words, cwd=cwd, out=out, env=env, err=err).wait()
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(words, code, out.read(), err.read())

    def program(self, *words):
        """Return a shell's line that does what Python does with `words` and its own arguments."""
        return (
            f'exec {shlex.join([sys.executable, "-IS", __file__, str(self.place), *words])} "$@"'
        )


def serve(place):
    """Import, then fork what is asked for, until a signal ends us and with us all forks."""
    gc.disable()
    with tempfile.TemporaryDirectory() as home:
        os.environ["LEASEBOARD_CACHE"] = home
        importlib.import_module("leaseboard.tasks.machine.environment").prepare_environment(
            Path(home)
        )
        for name in IMPORTS:
            importlib.import_module(name)
        sys.modules["leaseboard.tasks.machine.terminal"].PATIENCE = 1e6  # however busy we are
        for algorithm, environment in IDENTIFIED.items():
            job = sys.modules["leaseboard.tasks.jobs.job"].Job(
                algorithm, "synthetic:fried?rows=9", 0, 0
            )
            sys.modules["leaseboard.tasks.jobs.run"].identify(job, environment)
        remember()
        sys.modules["typer"].main.get_command(sys.modules["leaseboard.flows.cli"].app)
        sys.modules["mlflow.store.db.utils"]._get_latest_schema_revision()
        sys.modules["sqlalchemy.orm"].configure_mappers()
        put_aside()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 50, 50)
    assert threading.active_count() == 1, "a fork has one thread"
    listener = listen(f"{place}.new")
    Path(f"{place}.new").rename(place)
    fork_on(listener, place)


class Aside(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder that gives back the modules that were removed when the first of them is imported.

    Prefect reads its settings when it is imported, so a fork must import it after it has made
    its environment; we read them again then. Nothing else is removed: it might be imported
    before that.
    """

    def __init__(self, modules):
        self._modules = modules

    def find_spec(self, name, _path, _target=None):
        if name not in self._modules:
            return None
        package = hasattr(self._modules[name], "__path__")
        return importlib.machinery.ModuleSpec(name, self, is_package=package)

    def create_module(self, spec):
        sys.meta_path.remove(self)
        sys.modules.update(self._modules)
        import prefect.context
        import prefect.logging.configuration

        prefect.context.refresh_global_settings_context()
        prefect.logging.configuration.setup_logging(incremental=False)
        self._spec = self._modules[spec.name].__spec__
        return self._modules[spec.name]

    def exec_module(self, module):
        module.__spec__ = self._spec


def put_aside():
    """Import Prefect, and have a fork's first import of it find it ready."""
    for name in PREFECT:
        importlib.import_module(name)
    aside = [name for name in sys.modules if name.partition(".")[0] == "prefect"]
    sys.meta_path.insert(0, Aside({name: sys.modules.pop(name) for name in aside}))


def listen(place):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()
    return listener


def fork_on(listener, place):
    while True:
        channel, _ = listener.accept()
        middle = os.fork()
        if middle == 0:
            listener.close()
            _mind(channel, place)
        channel.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _mind(channel, place):
    """Fork what is asked for, say its number, and how it ended if it is not adopted."""
    _, sent, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(16 * 4))
    files = array.array("i")
    files.frombytes(sent[0][2])
    with channel.makefile("rw") as lines:
        asked = json.loads(lines.readline())
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            if asked["adopted"]:
                _orphan(write)
            _live(asked, files, place)
        if asked["adopted"]:
            os.waitpid(pid, 0)
            print(os.read(read, 20).decode(), file=lines, flush=True)
        else:
            print(pid, file=lines, flush=True)
            for file in files:
                os.close(file)
            _, status = os.waitpid(pid, 0)
            print(os.waitstatus_to_exitcode(status), file=lines, flush=True)
    os._exit(0)


def _orphan(reported):
    """Go on in a child without its parent: only of such a one another can become the parent."""
    parent = os.getpid()
    if pid := os.fork():
        os.write(reported, str(pid).encode())
        os._exit(0)
    while os.getppid() == parent:
        time.sleep(0.001)


def _live(asked, files, place):
    code = 1
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD, 1000) for file in files]
    os.closerange(3, 1000)
    for number, file in zip(asked["numbers"], aside, strict=True):
        os.dup2(file, number)
        os.close(file)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  (as Python does at its start)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    if asked.get("session"):
        os.setsid()
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = dict.fromkeys([*filter(None, path), *sys.path])
    of_tasks = asked["words"][0] == "-m" and asked["words"][1].startswith(OURS)
    if asked.get("forks", not of_tasks):
        _fork_below(f"{place}-{os.getpid()}")
    try:
        if asked["words"][0] == "-m":
            _, module, *words = asked["words"]
            prctl(_NAME, module.removeprefix(PACKAGE).encode())  # 15 letters of it are shown
            sys.argv = [module, *words]
            if of_tasks:  # in a new Python no one has imported it, and runpy says nothing
                sys.modules.pop(module, None)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        elif asked["words"][0] == "-c":
            _, text, *words = asked["words"]
            sys.argv = ["-c", *words]
            exec(text, {"__name__": "__main__"})
        else:
            sys.argv = asked["words"]
            runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  (as Python does at its end)
        traceback.print_exc()
    finally:
        threading._shutdown()  # as Python does: pools of threads end, others are waited for
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _fork_below(place):
    """Have a child of this process, which goes with it, fork its workers and services."""
    listener = listen(place)
    if os.fork() == 0:
        prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        fork_on(listener, place)
    listener.close()
    for name in ("asyncio.unix_events", "leaseboard.flows.server", f"{OURS}processes.child"):
        sys.modules[name].subprocess = starting(place)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    place, *words = sys.argv[1:]
    streams = (sys.stdin, sys.stdout, sys.stderr)
    sys.exit(Forked(place, words, cwd=Path.cwd(), env=os.environ, files=streams).wait())

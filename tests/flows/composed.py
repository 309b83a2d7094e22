"""The services of ``conf/deploy/compose.yaml`` as plain processes of this machine."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import yaml

from tests.flows import waiting
from tests.flows.schedules import ROOT

DEPLOY = ROOT / "conf" / "deploy"
BIN = Path(sys.executable).parent
EVERYWHERE = "0.0.0.0"
HOME = "/var/lib/leaseboard"
"""Where a container works."""
_VARIABLE = re.compile(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}")


def compose():
    """Return the raw file."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def substituted(text, variables):
    """Return `text` with the variables of a ``.env``, as Docker puts them in."""

    def value(found):
        name, sign, rest = found.groups()
        given = variables.get(name, "")
        assert given or sign != ":?", f"{name}: {rest}"
        return given or (rest if sign == ":-" else "")

    return _VARIABLE.sub(value, text)


class Composed:
    """Services as processes, in `home`, with what a container sees put where it is here.

    - `database`: host and port that replace the service of that name.
    - `variables`: those of ``.env``.
    """

    def __init__(self, home, database, variables):
        self.home = home
        self._database, self._variables = database, variables
        self._services = compose()["services"]
        self.ports = {
            (name, inner.split(":")[-1]): str(waiting.free_port())
            for name, service in self._services.items()
            for inner in service.get("ports", ())
        }
        self.processes = {}

    def start(self, name):
        """Start a service's command, with its environment and nothing else but the path."""
        service = self._services[name]
        for volume in service.get("volumes", ()):
            source = self._place(volume)[0]
            source.mkdir(parents=True, exist_ok=True)
        environment = self._environment(name)
        with (self.home / f"{name}.log").open("w") as log:
            self.processes[name] = subprocess.Popen(
                self._words(name, service["command"]),
                cwd=self._there(name, HOME),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait(self, name):
        """Wait until the service's own health check passes."""
        kind, *check = self._services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        words = self._words(name, check)
        self.until(
            lambda: not subprocess.run(words, env=self._environment(name), capture_output=True,
                                       check=False).returncode,
            name,
        )  # fmt: skip

    def until(self, holds, name):
        """Wait for something that a service is to do."""
        waiting.until(holds, self.processes[name], (self.home / f"{name}.log").read_text)

    def url(self, name, port):
        """Return where the port of a service is here."""
        return f"http://127.0.0.1:{self.ports[name, port]}"

    def stop(self):
        """End all by SIGTERM, those first that need others; returns their exit codes."""
        codes = {}
        for name, process in reversed(self.processes.items()):
            below = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGTERM)
            codes[name] = process.wait(240)
            _, alive = psutil.wait_procs(below, timeout=240)
            assert not alive, name
        self.processes = {}
        return codes

    def kill(self):
        """End what an assertion left."""
        for process in self.processes.values():
            if process.poll() is None:
                for each in psutil.Process(process.pid).children(recursive=True):
                    each.kill()
                process.kill()
                process.wait()

    def _environment(self, name):
        given = self._services[name]["environment"]
        own = {key: self._here(name, value) for key, value in given.items()}
        return {"PATH": f"{BIN}{os.pathsep}{os.defpath}"} | own

    def _words(self, name, command):
        return [self._here(name, word) for word in command]

    def _here(self, name, text):
        """Return `text` of a service with the values of this machine."""
        text = self._there(name, substituted(text, self._variables))
        for (other, inner), port in self.ports.items():
            text = text.replace(f"{other}:{inner}", f"127.0.0.1:{port}")
            if other == name:
                text = port if text == inner else text
                text = text.replace(f"127.0.0.1:{inner}", f"127.0.0.1:{port}")
        text = text.replace("database:5432", self._database)
        return "127.0.0.1" if text == EVERYWHERE else text

    def _there(self, name, text):
        """Return `text` with the places of volumes replaced by what is mounted there."""
        scratch = self.home / "scratch" / name
        scratch.mkdir(parents=True, exist_ok=True)
        if text.startswith("/tmp"):
            return text.replace("/tmp", str(scratch), 1)
        for volume in self._services[name].get("volumes", ()):
            source, target = self._place(volume)
            text = text.replace(target, str(source))
        return str(scratch) if text == HOME else text

    def _place(self, volume):
        """Return the folder of a volume here, and where a service sees it."""
        source, target, *_ = substituted(volume, self._variables).split(":")
        return (Path(source) if os.sep in source else self.home / "volumes" / source), target

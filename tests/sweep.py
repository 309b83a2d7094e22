"""Sweep of failpoints: a command ends or fails at each point that it passes, and is run again."""

import json
import os
import re
import shutil
import sqlite3
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaseboard.flows import cli
from leaseboard.tasks.machine.disk import VARIABLE
from tests.zygote import Zygote

POINTS = sorted(
    name
    for layer in ("tasks", "flows")
    for path in (Path(__file__).parents[1] / layer).rglob("*.py")
    for name in re.findall(r'\breach\("([a-z.-]+)"\)', path.read_text())
)
"""Every failpoint of the product."""

Caller = Callable[[list[str], Path, str], int]
"""Runs the command line in a folder, with a failpoint; returns its exit code."""


def in_fork(words: list[str], home: Path, failpoint: str = "") -> int:
    """Run the command line in a fork of this process: what it imports is there already."""
    child = os.fork()
    if not child:
        code = 70
        try:
            os.chdir(home)
            os.environ[VARIABLE] = failpoint
            said = (home.parent / "said").open("a")
            for stream in (1, 2):
                os.dup2(said.fileno(), stream)
            sys.stdout = sys.stderr = said
            cli.main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_zygote(zygote: Zygote) -> Caller:
    """Return what runs the command line as a process with workers."""

    def call(words: list[str], home: Path, failpoint: str = "") -> int:
        with (home.parent / "said").open("a") as said:
            env = os.environ | {VARIABLE: failpoint}
            words = ["-m", "leaseboard", *words]
            return zygote.start(words, cwd=home, out=said, err=said, env=env).wait()

    return call


@dataclass
class Sweep:
    """Sweep of one command over the points that it passes.

    - `prepare`: fills a folder, in which the command then starts.
    - `outcome`: returns what is compared, as JSON, of the folder after the command.
    - `is_done`: whether a user sees that nothing is left to do.
    - `passes`: points that the command must pass.
    """

    words: list[str]
    folder: Path
    prepare: Callable[[Path], Any]
    outcome: Callable[[Path], Any]
    is_done: Callable[[Path], bool] = lambda _: False
    before: Callable[[], Any] = lambda: None
    call: Caller = in_fork
    passages: int = 2
    """Passages of a point at which the command is killed: the first, and others spread evenly."""
    full: tuple[str, ...] = ()
    """Beginnings of points at which the disk is also full, from their first passage on."""
    passes: Collection[str] = ()
    points: Collection[str] = tuple(POINTS)
    cases: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """The folder in which each case runs: MLflow's tables hold paths."""
        return self.folder / "home"

    def run(self) -> None:
        """Run all cases; `faults` are the outcomes that differ from that of a whole run."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.prepare(self.home)
        shutil.rmtree(self.folder / "pristine", ignore_errors=True)
        shutil.copytree(self.home, self.folder / "pristine")
        record = self.folder / "record"
        record.unlink(missing_ok=True)
        assert self._one(f"record={record}") in (0, 1, 3)
        points = Counter(record.read_text().split() if record.exists() else ())
        assert points.keys() >= set(self.passes), f"not passed: {set(self.passes) - points.keys()}"
        self._one("")
        whole = self._outcome()
        for point in [each for each in self.points if points[each]]:
            count = points[point]
            for number in sorted({1 + n * count // self.passages for n in range(self.passages)}):
                self._case(f"{point}=kill@{number}", whole, kills=True)
            if point.startswith(self.full):
                self._case(f"{point}=disk-full", whole)

    def _case(self, failpoint: str, whole: Any, *, kills: bool = False) -> None:
        self.cases += 1
        code = self._one(failpoint)
        if not kills and not 0 <= code < 128:
            self.faults.append(f"{failpoint}: exit code {code}")
        again = 0
        if code == 70 or not self.is_done(self.home):
            again = self.call(self.words, self.home, "")
        found = self._outcome()
        if found != whole:
            place = next((k for k in whole if found.get(k) != whole[k]), "")
            self.faults.append(
                f"{failpoint} ({code}, then {again}): {place} is {found.get(place)}\n"
                f"    in place of {whole[place]}"
            )

    def _one(self, failpoint: str) -> int:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.folder / "pristine", self.home, symlinks=True, dirs_exist_ok=True)
        self.before()
        return self.call(self.words, self.home, failpoint)

    def _outcome(self) -> Any:
        return json.loads(json.dumps(self.outcome(self.home), default=str))


def query(file: Path, text: str) -> list[Any]:
    """Return what a SQLite file answers."""
    with closing(sqlite3.connect(file)) as connection:
        return sorted(map(list, connection.execute(text)), key=str)


def tracked(store: Path) -> dict[str, Any]:
    """Return the runs and models of an MLflow store, without times.

    A run of a suite that has failed stays next to the one that made it good.
    """
    tag = "(select value from tags where tags.run_uuid = r.run_uuid and key = 'leaseboard.{}')"
    level, key, day = (tag.format(each) for each in ("level", "key", "day"))
    return {
        "runs": query(
            store,
            f"select {level}, {key}, {day}, status, lifecycle_stage, (select value from"
            " latest_metrics m where m.run_uuid = r.run_uuid and m.key = 'score'), (select"
            " count(*) from params p where p.run_uuid = r.run_uuid) from runs r where"
            " status != 'FAILED'",
        ),
        "metrics": query(
            store,
            "select key, count(*) from metrics m join runs r on m.run_uuid = r.run_uuid where"
            " status != 'FAILED' and key not like '%seconds%' and key not like 'jobs.%'"
            " group by key",
        ),
        "counts of jobs": query(  # zero: an earlier call had such jobs
            store,
            "select key, value from latest_metrics m join runs r on m.run_uuid = r.run_uuid where"
            " status != 'FAILED' and key like 'jobs.%' and value > 0",
        ),
        "versions": query(
            store,
            "select name, value from model_version_tags where key = 'leaseboard.key'",
        ),
        "aliases": query(
            store,
            "select a.alias, t.value from registered_model_aliases a join model_version_tags t on"
            " t.name = a.name and t.version = a.version and t.key = 'leaseboard.key'",
        ),
        "logged models": query(
            store, "select name, status, lifecycle_stage, count(*) from logged_models group by"
            " name, status, lifecycle_stage",
        ),
    }  # fmt: skip

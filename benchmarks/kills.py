"""Ten thousand jobs of four suites at once on one PostgreSQL, and 25 kills of ``run``.

``python -m benchmarks.kills [--jobs 10000] [--suites 4] [--kills 25] [--seed 0]`` starts a server,
and `leaseboard run` once a suite, all with one MLflow store. Each kill ends the process of one of
them with SIGKILL, at a random number of jobs that are finished or recorded in MLflow and a random
moment after it, and the same command goes on. At the end no job may be lost, or be in the run
folder, its table or MLflow twice, and no process may be left. It prints the memory of the parents
and the CPU a job by tenths.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil
import sqlalchemy as sa

from benchmarks.postgresql import postgresql
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.folder import results
from leaseboard.tasks.track.store import experiment, open_store
from leaseboard.tasks.track.writers import every

SUITE = """
title: Short jobs {number}
data: ["synthetic:fried?rows=60&seed={number}"]
algorithms: [running-mean]
repetitions: {jobs}
baselines: false
tracking: {{configurations: none}}
"""
LONGEST_DELAY = 0.5
"""Seconds from the job after which a run is killed to the kill."""
TENTHS = 10


@dataclass
class SuiteRun:
    """Runs of one suite, one after the other, until it is whole."""

    number: int
    home: Path
    uri: str
    jobs: int
    before: int = 0
    """Jobs that had a result when the present run started."""
    done: int = 0
    cpu: float = 0.0
    """CPU seconds of the present run, as seen last."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.home / "out"

    def start(self) -> None:
        """Start the command."""
        self.before, self.cpu = self.done, 0.0
        options = f"--local --workers 1 --run-dir out --tracking-uri {self.uri}"
        words = ["-m", "leaseboard", "run", f"short{self.number}.yaml", *options.split()]
        command = [sys.executable, *words]
        with (self.home / "said").open("ab") as said:
            self.process = subprocess.Popen(command, cwd=self.home, stdout=said, stderr=said)

    def family(self) -> list[psutil.Process]:
        """Return the process and all below it; empty once it has ended."""
        with suppress(psutil.Error):
            if self.process is not None and self.process.poll() is None:
                parent = psutil.Process(self.process.pid)
                return [parent, *parent.children(recursive=True)]
        return []

    def kill(self) -> None:
        """Kill the parent; its workers must end by themselves."""
        family = self.family()
        if family and self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            _, left = psutil.wait_procs(family[1:], timeout=60)
            if left:
                raise RuntimeError(f"{left} outlived the run by a minute")

    def look(self) -> Look:
        """Return what has come of it since the last look."""
        were, spent, family = self.done, self.cpu, self.family()
        with suppress(FileNotFoundError):
            folders = (self.folder / "jobs").iterdir()
            self.done = sum((each / results.RESULT).exists() for each in folders)
        now = parent = 0.0
        for each in reversed(family):
            with suppress(psutil.Error):
                now += sum(each.cpu_times()[:2])
                parent = each.memory_info().rss / 1e6
        self.cpu = max(spent, now)
        is_at_work = self.before < were < self.jobs
        return Look(self.done - were, self.cpu - spent, parent, is_at_work)


class Look(NamedTuple):
    """Progress of a run since the last look."""

    jobs: int
    cpu: float
    parent: float
    """Memory of the parent, in MB."""
    is_at_work: bool
    """Whether it runs jobs: it neither starts, nor writes the page of all."""


@dataclass
class Tenth:
    """What a tenth of the jobs took."""

    jobs: int = 0
    cpu: float = 0.0
    kills: int = 0
    parent: float = 0.0
    """The most memory of a parent, in MB."""
    others: float = 0.0
    """CPU seconds of starts and ends of runs."""


def run(runs: Sequence[SuiteRun], kills: int, seed: int) -> list[Tenth]:
    """Run all suites at once, kill them so often, and return what each tenth of the jobs took."""
    rng, jobs = generator("kills", seed), sum(each.jobs for each in runs)
    moments = sorted(rng.integers(0, int(0.98 * 2 * jobs), kills).tolist())
    store = sa.create_engine(runs[0].uri)
    tenths = [Tenth() for _ in range(TENTHS)]
    for each in runs:
        each.start()
    while any(each.process is not None for each in runs):
        time.sleep(1.0)
        tenth = tenths[min(TENTHS - 1, TENTHS * sum(each.done for each in runs) // jobs)]
        for look in [each.look() for each in runs]:
            tenth.jobs += look.jobs
            if look.is_at_work:
                tenth.cpu, tenth.parent = tenth.cpu + look.cpu, max(tenth.parent, look.parent)
            else:
                tenth.others += look.cpu
        running = [each for each in runs if each.family()]
        with store.connect() as connection:
            recorded = connection.scalar(sa.text("SELECT count(*) FROM runs")) or 0
        if moments and running and sum(each.done for each in runs) + recorded >= moments[0]:
            del moments[0]
            time.sleep(LONGEST_DELAY * rng.random())
            killed = running[int(rng.integers(len(running)))]
            killed.kill()
            tenth.kills += 1
            killed.look()
            killed.start()
        for each in runs:
            if each.process is not None and (code := each.process.poll()) is not None:
                if code:
                    said = (each.home / "said").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"suite {each.number} ended with exit code {code}: {said}")
                each.process = None
    if moments:
        raise RuntimeError(f"{len(moments)} kills had no run to end: raise --jobs")
    return tenths


def check(runs: Sequence[SuiteRun]) -> list[str]:
    """Return what was lost or doubled, a line each."""
    faults = []
    for each in runs:
        found = results.read_results(each.folder)
        keys = Counter(result.key for result in found)
        good = sum(result.status == "ok" for result in found)
        table = results.read_table(each.folder / results.TABLE)
        client = open_store(each.uri)
        place = experiment(client, each.uri, f"short{each.number}")
        logged = Counter[str]()
        scores = {}
        for one in every(client.search_runs, [place]):
            if one.data.tags.get("leaseboard.level") == "job":
                logged[one.data.tags["leaseboard.key"]] += 1
                scores[one.data.tags["leaseboard.key"]] = (
                    one.info.status,
                    one.data.metrics.get("score"),
                )
        expected = {result.key: ("FINISHED", result.score) for result in found}
        counts = {
            "results": len(found), "keys": len(keys), "ok": good, "rows": len(table),
            "keys of rows": table["key"].nunique(), "MLflow": sum(logged.values()),
            "keys in MLflow": len(logged),
        }  # fmt: skip
        faults += [f"suite {each.number}: {count} {name} of {each.jobs}"
                   for name, count in counts.items() if count != each.jobs]  # fmt: skip
        wrong = [key for key in expected if scores.get(key) != expected[key]]
        faults += [f"suite {each.number}: {len(wrong)} of MLflow differ: {wrong[:3]}"] * bool(
            wrong
        )
        faults += [f"suite {each.number}: damaged: {one}" for one in results.damaged(each.folder)]
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, kill, check and print; 1 if anything was lost or doubled."""
    parser = argparse.ArgumentParser(description="many jobs, several suites, and kills")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--suites", type=int, default=4)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    jobs = given.jobs // given.suites
    with tempfile.TemporaryDirectory() as folder, postgresql() as server:
        os.environ["LEASEBOARD_ARTIFACTS"] = str(Path(folder) / "artifacts")
        runs = []
        for number in range(given.suites):
            home = Path(folder) / f"suite{number}"
            home.mkdir()
            text = SUITE.format(number=number, jobs=jobs)
            (home / f"short{number}.yaml").write_text(text)
            runs.append(SuiteRun(number, home, f"{server}/postgres", jobs))
        open_store(runs[0].uri)  # its tables are made once
        clock = time.monotonic()
        tenths = run(runs, given.kills, given.seed)
        wall = time.monotonic() - clock
        print(f"{jobs * given.suites:,} jobs of {given.suites} suites in {wall:,.0f} s,"
              f" {sum(each.kills for each in tenths)} kills, seed {given.seed}")  # fmt: skip
        print("tenth   jobs   kills   CPU ms a job   largest parent, MB   CPU s of starts, ends")
        for number, each in enumerate(tenths, 1):
            cost = 1000 * each.cpu / max(1, each.jobs)
            print(f"{number:5} {each.jobs:6} {each.kills:7} {cost:14.1f} {each.parent:20.0f}"
                  f"{each.others:20.1f}")  # fmt: skip
        faults = check(runs)
        print("\n".join(faults) if faults else "nothing lost, nothing doubled, no process left")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())

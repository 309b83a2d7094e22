"""The benchmark: fetch, prepare, run, score, report and record.

Every step is a function of `leaseboard.tasks.steps.plain`, which an executor carries out. Jobs
that are done are skipped, the rest run and are recorded, so a kill at any moment is made good by
the next run. Meanwhile a terminal shows a bar, and plain lines come elsewhere.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from leaseboard.algorithms.benches.holdout import ONE_CLASS, SAYS_NOTHING
from leaseboard.flows.console import new_folder, say, say_damage, tell
from leaseboard.flows.executor import Executor
from leaseboard.tasks.fetch.kept import Kept
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import TABLE
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.prepared import Prepared, group
from leaseboard.tasks.jobs.run import failed, verdict
from leaseboard.tasks.jobs.suites.plan import Planned, plan, require_ranking
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.addresses import discreet, redacted
from leaseboard.tasks.machine.terminal import cell, harmless, show
from leaseboard.tasks.score.compared import Compared
from leaseboard.tasks.steps import plain
from leaseboard.tasks.track import Recorder, Tracker
from leaseboard.tasks.track.store import TrackingError

if TYPE_CHECKING:
    import rich.progress


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    results: list[Result]
    """One for each planned job, in the plan's order, those of earlier runs included."""
    problems: list[str] = field(default_factory=list)
    """What went wrong beside the jobs, such as a tracking store that is gone: one line each.
    Nothing that a job came to is lost by it, and the next run makes it good."""

    @property
    def failed(self) -> int:
        """How many jobs have failed."""
        return sum(result.failed for result in self.results)

    @property
    def skipped(self) -> int:
        """How many jobs could not be run here."""
        return sum(result.status == "skipped" for result in self.results)


def look(suite: Suite, out: Path, digest: Callable[[str], str]) -> list[Planned]:
    """Every job of the suite with its key and state; what is damaged in `out` is said.

    `digest`: that of the data that a reference names, which are loaded for it if need be.
    """
    found: list[results.Damage] = []

    def earlier(key: str) -> Result | None:
        seen = results.look(out, key, whole_log=True)
        if isinstance(seen, results.Damage):
            found.append(seen)
            return None
        return seen if seen is not None and seen.status == "ok" else None

    planned = plan(suite.jobs(), earlier, digest)
    say_damage(found)
    return planned


def run_jobs(
    suite: Suite,
    planned: list[Planned],
    data: dict[str, Kept],
    executor: Executor,
    *,
    out: Path,
    tracking_uri: str | None = None,
) -> Outcome:
    """Run what is not done of `planned`, and record everything under `out` and in MLflow.

    - `data`: what was fetched, by reference; a job on other data loads them itself.
    - `out`: an existing folder that this process has locked.
    - `tracking_uri`: the MLflow store; None records nothing there.
    """
    results.discard_unfinished(out)
    recorder = _recorder(suite, planned, out, tracking_uri)
    done = sum(entry.done for entry in planned)
    try:
        with Progress(len(planned), done, suite.data_names) as progress, recorder:
            run = _Run(planned, data, executor, out, recorder, progress)
            run.perform()
    finally:
        results.discard_unfinished(out)
    ordered = [run.rows[entry.key] for entry in planned]
    results.assemble(out, ordered)
    return Outcome(ordered, run.problems + recorder.problems)


class _Run:
    """The state of a run in its own process."""

    def __init__(
        self,
        planned: list[Planned],
        data: dict[str, Kept],
        executor: Executor,
        out: Path,
        recorder: Recorder,
        progress: Progress,
    ) -> None:
        self.rows = {entry.key: entry.earlier for entry in planned if entry.earlier is not None}
        self.problems: list[str] = []
        self._waiting = {entry.key: entry for entry in planned if not entry.done}
        self._total = len(planned)
        self._data = data
        self._executor = executor
        self._out = out
        self._recorder = recorder
        self._progress = progress
        self._prepared: dict[tuple[str, str], Prepared | Exception] = {}
        # What each job shares with others, and with how many that are still to come.
        self._shares: dict[str, tuple[str, str]] = {}
        for entry in self._waiting.values():
            if entry.waits and entry.job.data in data:
                self._shares[entry.key] = entry.job.data, group(entry.job)
        self._users = Counter(self._shares.values())

    def perform(self) -> None:
        """Start every job after what it is prepared from, and settle each that is over."""
        # Whole repetitions first: a run that is stopped has complete ones to compare.
        for entry in sorted(self._waiting.values(), key=lambda each: each.job.repetition):
            self._start(entry)
            self._settle(leave=self._executor.ahead)
        self._settle(leave=0)

    def _start(self, entry: Planned) -> None:
        job, reason = entry.job, entry.fault or entry.obstacle
        if reason:
            self._over(_failed(entry, "crash" if entry.fault else "skipped", reason))
            return
        prepared = self._prepare(entry)
        if isinstance(prepared, Exception):
            status, reason = verdict(prepared)
            if status in {"crash", "memout"}:  # as in a worker: where it came from is in the log
                self._explain(entry.key, prepared)
            self._over(_failed(entry, status, reason))
        else:
            self._executor.start(job, entry.key, prepared)

    def _explain(self, key: str, error: Exception) -> None:
        """Write into a job's log what it died of before it ran."""
        trace = discreet("".join(traceback.format_exception(error)))
        try:
            folder = results.begin(self._out, key)
            (folder / results.LOG).write_text(trace, encoding="utf-8")
        except OSError as full:
            self.problems.append(f"the log of job {key} was not kept: {full.strerror}")

    def _prepare(self, entry: Planned) -> Prepared | Exception | None:
        """What a job is made from, prepared for the first that asks; or why there is none."""
        shared = self._shares.get(entry.key)
        if shared is None:
            return None
        if shared not in self._prepared:
            try:
                kept = self._data[shared[0]]
                prepare = self._executor.make("prepare", plain.prepare, after=[kept])
                self._prepared[shared] = prepare(kept, entry.job)
            except Exception as error:  # noqa: BLE001  (as in a job: it costs those that need it)
                self._prepared[shared] = error
        return self._prepared[shared]

    def _settle(self, *, leave: int) -> None:
        """Keep what came of the jobs that are over; wait until no more than `leave` run."""
        for key, attempt in self._executor.ended(leave=leave):
            entry = self._waiting[key]
            if attempt is None:
                reason = "one Dask worker after the other died while it ran"
                self._over(_failed(entry, "crash", reason))
                continue
            try:
                if attempt.files is not None:
                    folder = results.begin(self._out, key)
                    for name, content in attempt.files.items():
                        (folder / name).write_bytes(content)
            except OSError as error:
                self._over(_failed(entry, "crash", f"{self._out}: {error.strerror}"))
            else:
                self._over(attempt.result)

    def _over(self, result: Result) -> None:
        self._record(result)
        self._progress(result)
        self._executor.show_progress(len(self.rows), self._total)
        self._leave(result.key)

    def _record(self, result: Result) -> None:
        """Keep the result, here and in MLflow."""
        entry = self._waiting[result.key]
        result = result.kept_for(entry.job, entry.version)
        self.rows[result.key] = result
        try:
            results.finish(self._out, result)
        except OSError as error:
            self.problems.append(
                f"the result of {result.label} on {result.data} was not kept:"
                f" {error.strerror} ({self._out})"
            )
        else:
            self._recorder.job_is_over(result)

    def _leave(self, key: str) -> None:
        """Let go of what a job was the last to be made from."""
        shared = self._shares.get(key)
        if shared is None:
            return
        self._users[shared] -= 1
        prepared = self._prepared.get(shared)
        if not self._users[shared] and isinstance(prepared, Prepared) and prepared.parts:
            self._executor.release(prepared)
            with suppress(FileNotFoundError):  # code of a user's may have removed them
                shutil.rmtree(prepared.parts)


def _failed(entry: Planned, status: str, reason: str) -> Result:
    return failed(entry.job, status, reason, key=entry.key, digest=entry.digest)


def _recorder(suite: Suite, planned: list[Planned], out: Path, uri: str | None) -> Recorder:
    """What logs to MLflow beside the jobs, those of earlier runs first."""
    earlier = [entry.earlier for entry in planned if entry.earlier is not None]
    if uri is None:
        return Recorder(out, [], None)
    keys = [entry.key for entry in planned]
    rule = suite.tracking.configurations
    return Recorder(out, earlier, lambda: Tracker(uri, suite.name, keys, rule=rule))


class Progress:
    """Told of each job that is over, from any thread.

    - `done`: jobs that were done before.
    - `names`: what tables call a data set, by its reference.
    - `file`: standard error by default, so that standard output holds the board alone.
    """

    def __init__(
        self,
        total: int,
        done: int,
        names: Mapping[str, str] | None = None,
        file: IO[str] | None = None,
    ) -> None:
        self._names = names or {}
        self._file = file or sys.stderr
        self._total = total
        self._done = done
        self._lock = threading.Lock()
        self._bar = _bar(self._file, total, done) if self._file.isatty() and total else None

    def __call__(self, result: Result) -> None:
        """Show that one more job is over."""
        with self._lock:
            self._done += 1
            line = harmless(describe(result, self._names.get(result.data, result.data)))
            width = len(str(self._total))
            counted = f"[{self._done:>{width}}/{self._total}] {line}"
            if self._bar is None:
                say(counted, file=self._file)
            else:
                tell(counted)
                if result.status != "ok":
                    show(cell(line), self._bar.console)
                self._bar.update(self._bar.task_ids[0], advance=1, description=line[:60])

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def describe(result: Result, data: str) -> str:
    """One job's outcome in one line, its data set called `data`."""
    what = f"{result.label} on {data}, seed {result.seed}"
    if result.status != "ok" or result.score is None:
        return f"{what}: {result.status}: {result.reason}"
    warning = f": {SAYS_NOTHING}" if ONE_CLASS in result.metrics else ""
    return f"{what}: {result.metric} {result.score:.6g} ({result.cpu_seconds:.2f} CPU s){warning}"


def _bar(file: IO[str], total: int, done: int) -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(file=file),
    )
    bar.add_task("", total=total, completed=done)
    return bar


SHARED = ".data-"
"""Folders begin so, in a run's, that hold the data which its jobs map into memory."""


def benchmark(
    suite: Suite,
    out: Path,
    executor: Executor,
    *,
    mirrors: tuple[Path, ...] = (),
    tracking_uri: str | None = None,
    boarded: bool = True,
) -> Outcome:
    """Chain the steps; the run folder `out` is locked meanwhile, and holds all that lasts.

    `tracking_uri` is the MLflow store, None if nothing is recorded there. Unless `boarded`, the
    jobs are run and logged, and their suite is stored next to them, and that is all.
    """
    with new_folder(out), results.locked(out), _shared(out) as place:
        data: dict[str, Kept] = {}

        def fetch(reference: str) -> str:
            data[reference] = executor.make("fetch", plain.fetch)(
                reference, place, mirrors=mirrors
            )
            return data[reference].digest

        planned = look(suite, out, fetch)
        if boarded and suite.metric is not None:
            known = {reference: kept.task for reference, kept in data.items()}
            require_ranking(suite.metric, suite.jobs(), known)
        outcome = run_jobs(suite, planned, data, executor, out=out, tracking_uri=tracking_uri)
        if boarded:
            store = None if outcome.problems else tracking_uri
            problem = show_board(executor, outcome.results, suite, suite.name, out, store)
            outcome.problems.extend(filter(None, [problem]))
        else:
            content = suite.model_dump_json(indent=1).encode()
            results.write_atomically(out / results.SUITE_FILE, content)
    for problem in outcome.problems:
        say(f"leaseboard: {problem}", err=True)
    return outcome


@contextmanager
def _shared(out: Path) -> Iterator[Path]:
    """A folder for what all jobs map; a killed run's is removed first."""
    for left in out.glob(f"{SHARED}*"):
        shutil.rmtree(left)
    place = Path(tempfile.mkdtemp(prefix=SHARED, dir=out))
    try:
        yield place
    finally:
        with suppress(FileNotFoundError):  # code of a user's may have removed it
            shutil.rmtree(place)


def show_board(
    executor: Executor,
    results: Sequence[Result],
    suite: Suite | None,
    name: str,
    out: Path,
    uri: str | None,
    found: Compared | None = None,
) -> str:
    """Score, print the board, build the page, and put both into the MLflow store.

    - `results`: as the table in `out` has them; they have been logged.
    - `uri`: the store; None if there is none, or it is in trouble.
    - `found`: the comparison of the results, where it has been made already.

    Returns why the board is not in the store, empty if it is.
    """
    from leaseboard.tasks.score import board

    found = found or executor.make("score", plain.score, after=results)(results, suite)
    board.show(found)
    tell(board.plain(found))
    page = executor.make("report", plain.report, after=[found])(out, found, suite)
    say(f"results: {out / TABLE}\nreport:  {page}")
    if uri is None:
        return ""
    given = {"uri": uri, "out": out, "suite": suite, "report": page, "logged": True}
    try:
        record = executor.make("record", plain.record, after=[found, page])
        place = record(results, name, found, **given)
    except TrackingError as error:
        return f"the board is not in MLflow: {error}"
    say(f"mlflow:  {_address(uri)}/{place}")
    return ""


def _address(uri: str) -> str:
    """Where the UI of a store is; a database needs `leaseboard ui` to have one."""
    if uri.startswith("http"):
        return redacted(uri).rstrip("/")
    return "leaseboard ui, http://127.0.0.1:5000"

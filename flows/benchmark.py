"""The benchmark: fetch, prepare, run, score, report and record.

Every step is a function of `leaseboard.tasks.steps.plain`, which an executor carries out. Jobs
that are done are skipped, the rest run and are recorded, so the next run makes good a kill at any
moment. Meanwhile a terminal shows a progress bar, and other outputs plain lines.
"""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from leaseboard.algorithms.environments.holdout import ONE_CLASS, SAYS_NOTHING
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.console import output_folder, say, say_damage, say_progress
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import DIAGNOSTICS, PAGE, TABLE
from leaseboard.tasks.jobs.checks import lines_of
from leaseboard.tasks.jobs.job import Job, Result, replayed_cpu_seconds
from leaseboard.tasks.jobs.prepared import Prepared, group, prepare
from leaseboard.tasks.jobs.run import failed, verdict
from leaseboard.tasks.jobs.suites.plan import Planned, plan
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.addresses import mlflow_ui
from leaseboard.tasks.machine.disk import FULL, reach
from leaseboard.tasks.machine.terminal import Activity
from leaseboard.tasks.machine.versions import ROOT, hash_of
from leaseboard.tasks.pool.workers import Attempt
from leaseboard.tasks.score.summary import Compared
from leaseboard.tasks.score.summary import plain as as_text
from leaseboard.tasks.steps import plain
from leaseboard.tasks.track.records import suite_key
from leaseboard.tasks.track.store import TrackingError, has_runs
from leaseboard.tasks.track.tracker import Recorder, Tracker


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of a run."""

    results: list[Result]
    """One for each planned job, in the plan's order, those of earlier runs included."""
    problems: list[str] = field(default_factory=list)
    """What went wrong apart from the jobs, such as a tracking store that is gone: one line each.
    No result is lost by it, and the next run makes it good."""
    about: dict[str, Any] = field(default_factory=dict)
    """What an event says of it: the answer of the leaderboard, and links."""

    @property
    def failed(self) -> int:
        """Number of jobs that have failed."""
        return sum(result.failed for result in self.results)

    @property
    def skipped(self) -> int:
        """Number of jobs that could not be run here."""
        return sum(result.status == "skipped" for result in self.results)


def plan_jobs(suite: Suite, out: Path, digest: Callable[[str], str]) -> list[Planned]:
    """Return every job of the suite with its key and state; report damaged files in `out`.

    - `digest`: returns the digest of a reference's data, which it may load.
    """
    found = list[str]()

    def earlier(key: str) -> Result | None:
        seen = results.look(results.job_folder(out, key), key)
        if isinstance(seen, str):
            found.append(seen)
            return None
        return seen if seen is not None and seen.status == "ok" else None

    planned = plan(suite.jobs(), earlier, digest)
    say_damage(found)
    return planned


Value = TypeVar("Value")


class JobWaitsError(LeaseboardError):
    """Job that is not done: its data or its code differ from those of the last run."""


def refuse(job: Job, _key: str, _prepared: Prepared | None) -> Attempt:
    """Raise JobWaitsError: all jobs of the run should be done."""
    raise JobWaitsError(f"{job.name} on {job.data} waits")


class Executor:
    """Executor of the steps of a run in this thread, and of its jobs from `size` threads.

    - `runs`: runs a job; by default there is none to run.
    - `stop`: makes every running job return.
    - `runner`: starts jobs; by default the threads.
    """

    shares = True
    """Whether jobs map inputs that are prepared here."""

    def __init__(
        self,
        runs: Any = refuse,
        size: int = 1,
        stop: Callable[[], None] = lambda: None,
        runner: Any = None,
    ) -> None:
        self.ahead = 2 * size
        self.runs = runs
        self.stop = stop
        self.runner: Any = runner or ThreadPoolExecutor(max_workers=size)

    def perform(self, body: Callable[[Any], Value]) -> Value:
        """Return the value of `body`, which chains the steps."""
        with self.runner:
            try:
                return body(self)
            except BaseException:
                if isinstance(self.runner, ThreadPoolExecutor):
                    self.runner.shutdown(wait=False, cancel_futures=True)
                self.stop()
                raise

    def call(self, step: Callable[..., Value], *given: Any, **named: Any) -> Value:
        """Carry out a step, a function of `leaseboard.tasks.steps.plain`, at once."""
        with Activity(step.__name__):
            return step(*given, **named)

    def submit(self, job: Job, key: str, data: Prepared | None) -> Future[Attempt]:
        """Start a job next to others."""
        future: Future[Attempt] = self.runner.submit(self.runs, job, key, data)
        return future


class Run:
    """Jobs of a run that are not done: started with what they share, recorded and shown.

    - `data`: cached datasets by reference; a job on other data loads them itself.
    - `out`: an existing folder that this process has locked.
    - `tracking_uri`: the MLflow store; None records nothing there.
    """

    def __init__(
        self,
        suite: Suite,
        planned: list[Planned],
        data: dict[str, Prepared],
        executor: Executor,
        out: Path,
        tracking_uri: str | None,
    ) -> None:
        self._suite, self._planned, self._out = suite, planned, out
        self._data, self._executor, self._uri = data, executor, tracking_uri
        self._problems: list[str] = []
        self._waiting = [entry for entry in planned if not entry.done]
        # Whole repetitions first: a run that is stopped has complete ones to compare.
        self._waiting.sort(key=lambda each: each.job.repetition)
        self._made: dict[tuple[str, str], Prepared | Exception] = {}
        # What each job shares with others, and with how many that are still to come.
        self._shares = {
            entry.key: (entry.job.data, group(entry.job))
            for entry in self._waiting
            if executor.shares and entry.waits and entry.job.data in data
        }
        self._users = Counter(self._shares.values())

    def run(self) -> Outcome:
        """Run the jobs, and record all under `out` and in MLflow."""
        results.discard_unfinished(self._out)
        earlier = [entry.earlier for entry in self._planned if entry.earlier is not None]
        recorder = Recorder(self._out, earlier, self._tracker)
        rows = {result.key: result for result in earlier}
        total = len(self._planned)
        try:
            recording = recorder if self._uri else nullcontext()
            with recording, Activity("run", total, "jobs", len(earlier)) as work:
                ended = plain.run_all(self._waiting, self._submit, ahead=self._executor.ahead)
                for done, (entry, attempt) in enumerate(ended, len(earlier) + 1):
                    result = self._result(entry, attempt)
                    rows[result.key] = result
                    reach("run.before-result")
                    try:
                        results.finish(self._out, result)
                        reach("run.after-result")
                        recorder.job_is_over(result)
                    except OSError as error:  # the run goes on
                        job = f"{entry.job.name} on {entry.job.data}"
                        said = f"the result of {job} was not kept: {error.strerror} ({self._out})"
                        self._problems.append(said)
                    work.done = done
                    self._show(result, f"[{done:>{len(str(total))}}/{total}]")
                    self._release(entry)
        finally:
            results.discard_unfinished(self._out)
        ordered = [rows[entry.key] for entry in self._planned]
        results.assemble(self._out, ordered)
        return Outcome(ordered, self._problems + recorder.problems)

    def _tracker(self) -> Tracker:
        """Return what logs jobs to MLflow, and note where, for the links of the page."""
        assert self._uri is not None
        keys, rule = [entry.key for entry in self._planned], self._suite.tracking.configurations
        tracker = Tracker(self._uri, self._suite.name, keys, rule=rule)
        with suppress(OSError):  # a full disk costs the links alone
            results.write_atomically(self._out / results.MLFLOW_FILE, json.dumps(tracker.place))
        return tracker

    def _submit(self, entry: Planned) -> Future[Attempt]:
        """Start a job; one that cannot run has ended already."""
        status, reason = entry.status, entry.reason
        if not status:
            try:
                return self._executor.submit(entry.job, entry.key, self._inputs(entry))
            except Exception as error:  # noqa: BLE001  (as in a job: it costs those that need it)
                status, reason = verdict(error)
        none = Future[Attempt]()
        result = failed(entry.job, status, reason, key=entry.key, digest=entry.digest)
        none.set_result(Attempt(result))
        return none

    def _inputs(self, entry: Planned) -> Prepared | None:
        """Return the inputs of a job, made for the first that needs them.

        None if it loads its data itself.
        """
        shared = self._shares.get(entry.key)
        if shared is None:
            return None
        if shared not in self._made:
            try:
                found = self._executor.call(prepare, self._data[shared[0]], entry.job)
                self._made[shared] = found
            except Exception as error:  # noqa: BLE001  (raised for each job that needs them)
                self._made[shared] = error
        made = self._made[shared]
        if isinstance(made, Exception):
            raise made
        return made

    def _release(self, entry: Planned) -> None:
        """Remove the inputs of a job that has ended, if no other needs them."""
        shared = self._shares.get(entry.key)
        if shared is None:
            return
        self._users[shared] -= 1
        made = self._made.get(shared)
        if not self._users[shared] and isinstance(made, Prepared) and made.parts:
            with suppress(FileNotFoundError):  # a user's code may have removed them
                shutil.rmtree(made.parts)

    def _result(self, entry: Planned, attempt: Attempt) -> Result:
        """Return the result of an attempt, and write what a job on another machine has sent."""
        result = attempt.result
        try:
            if attempt.files is not None:
                folder = results.begin(self._out, entry.key)
                for name, content in attempt.files.items():
                    (folder / name).write_bytes(content)
        except OSError as error:
            result = failed(entry.job, *verdict(error), key=entry.key, digest=entry.digest)
        if result.reason.startswith(FULL) and result.reason not in self._problems:
            self._problems.append(result.reason)
        return result.kept_for(entry.job, entry.version)

    def _show(self, result: Result, number: str) -> None:
        """Print a result in one line."""
        line = f"{number} {describe(result, self._suite.data_names.get(result.data, result.data))}"
        if result.status == "ok":
            say_progress(line)
        else:
            say(line, err=True)


def describe(result: Result, data: str) -> str:
    """Return one job's outcome in one line, its dataset called `data`."""
    what = f"{result.name} on {data}, seed {result.seed}"
    if result.status != "ok" or result.score is None:
        return f"{what}: {result.status}: {result.reason}"
    warning = f": {SAYS_NOTHING}" if ONE_CLASS in result.metrics else ""
    cost = f"{result.cpu_seconds:.2f} CPU s{replay(result)}"
    return f"{what}: {result.metric} {result.score:.6g} ({cost}){warning}"


def replay(result: Result) -> str:
    """Return how much of the CPU time of a result was not spent now, to follow it."""
    replayed = replayed_cpu_seconds(result)
    return f", {replayed:.2f} of them replayed from recorded trials" if replayed else ""


SHARED = ".data-"
"""Prefix of the folders in a run's that hold the data which its jobs map into memory."""


def benchmark(
    suite: Suite,
    out: Path,
    executor: Executor,
    *,
    tracking_uri: str | None = None,
    boarded: bool = True,
) -> Outcome:
    """Chain the steps; the run folder `out` is locked meanwhile, and holds all that lasts.

    - `tracking_uri`: the MLflow store; None records nothing there.
    - `boarded`: False only runs and logs the jobs, and stores their suite next to them.
    """
    output_folder(out)
    with results.locked(out), _shared(out) as shared:
        data: dict[str, Prepared] = {}

        def fetch(reference: str) -> str:
            data[reference] = executor.call(plain.fetch, reference, shared)
            return data[reference].digest

        planned = plan_jobs(suite, out, fetch)
        links: dict[str, str] = {}
        if boarded and tracking_uri is not None:
            links = _recorded(out, suite, planned, tracking_uri)
        uri = None if links else tracking_uri
        outcome = Run(suite, planned, data, executor, out, uri).run()
        if boarded:
            store = None if outcome.problems else tracking_uri
            problem, about = show_board(
                executor, outcome.results, suite, suite.name, out, store, links=links
            )
            outcome.about.update(about)
            outcome.problems.extend(filter(None, [problem]))
            if uri is not None and not outcome.problems:
                with suppress(OSError):  # a full disk: the next run records again
                    known = results.place_in_mlflow(out)
                    state = _state(suite, outcome.results, uri)
                    known |= {"state": state, "links": outcome.about["links"]}
                    results.write_atomically(out / results.MLFLOW_FILE, json.dumps(known))
        else:
            results.write_atomically(out / results.SUITE_FILE, suite.model_dump_json(indent=1))
    for problem in outcome.problems:
        say(f"leaseboard: {problem}", err=True)
    return outcome


_PARTS = "*.py", "*.html", "*.css", "*.js"
"""Of the code of boards and pages; tools and editors leave other files next to it."""


def _state(suite: Suite, found: Sequence[Result], uri: str) -> str:
    """Return a digest of all that the record of a run depends on."""
    jobs = sorted([result.key, result.started] for result in found)
    code = hash_of(file for kind in _PARTS for file in (ROOT / "tasks").rglob(kind))
    about = {"suite": suite.model_dump_json(), "uri": uri, "ui": mlflow_ui(uri), "jobs": jobs}
    return results.digest_of(about | {"code": code})


def _recorded(out: Path, suite: Suite, planned: list[Planned], uri: str) -> dict[str, str]:
    """Return the links into MLflow of a run whose record is whole; empty for any other.

    A further record would change nothing, and MLflow takes seconds to import. What opens the store
    writes the file without its state, so a record that was cut off is made at the next call.
    """
    known = results.place_in_mlflow(out)
    done = [entry.earlier for entry in planned if entry.earlier is not None]
    if len(done) < len(planned) or "state" not in known:
        return {}
    keys = [result.key for result in done]
    whole = known["state"] == _state(suite, done, uri)
    links: dict[str, str] = known.get("links", {})
    return links if whole and has_runs(uri, [suite_key(suite.name, keys), *keys]) else {}


@contextmanager
def _shared(out: Path) -> Iterator[Path]:
    """Yield a folder for what all jobs map, after removing the one of a killed run."""
    for left in out.glob(f"{SHARED}*"):
        shutil.rmtree(left)
    # A user's code may have removed it.
    with tempfile.TemporaryDirectory("", SHARED, out, ignore_cleanup_errors=True) as place:
        yield Path(place)


def show_board(
    executor: Executor,
    results: Sequence[Result],
    suite: Suite | None,
    name: str,
    out: Path,
    uri: str | None,
    found: Compared | None = None,
    links: Mapping[str, str] | None = None,
    *,
    logged: bool = True,
) -> tuple[str, dict[str, Any]]:
    """Score, print the leaderboard, build the page, and put both into the MLflow store.

    - `results`: those of the table in `out`.
    - `uri`: the store; None leaves it out.
    - `found`: the comparison of the results, if it has been made already.
    - `links`: into the store, if all is there already.
    - `logged`: the jobs have been logged.

    Returns why the leaderboard is not in the store, empty if it is, and its answer with links.
    """
    from leaseboard.tasks.report.build import read_diagnostics

    found = found or executor.call(plain.score, results, suite)
    say(as_text(found))
    page = out / PAGE
    if not links or not page.exists() or not (out / DIAGNOSTICS).exists():
        executor.call(plain.report, out, found, suite)
    for line in lines_of(read_diagnostics(out)):
        say(line)
    say(f"results: {out / TABLE}\nreport:  {page}")
    about: dict[str, Any] = {"answer": found.answer["best"], "page": str(page)}
    if uri is None:
        return "", about
    given = {"uri": uri, "out": out, "report": page, "logged": logged}
    given["configurations"] = suite.tracking.configurations if suite else "all"
    if not links:
        try:
            place = executor.call(plain.record, results, name, found, **given)
        except TrackingError as error:
            return f"the leaderboard is not in MLflow: {error}", about
        ui = mlflow_ui(uri)
        links = {"mlflow": f"{ui}/{place.jobs}", "report": f"{ui}/{place.report}"}
    about["links"] = links
    say(f"mlflow:  {about['links']['mlflow']} (`leaseboard ui` serves a store without a server)")
    return "", about

"""The gate: suites are run, their scores compared with the accepted ones, or accepted."""

import os
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.console import resumable, say, say_progress
from leaseboard.flows.dispatch import RunOptions, execute, open_suites
from leaseboard.flows.server import REGRESSION, SUITE, current_run, emit
from leaseboard.tasks.folder.results import EVENTS, job_folder, keep_rows, read_partial_log
from leaseboard.tasks.jobs.suites.suite import Suite, check_apart
from leaseboard.tasks.machine.environment import conf_files, own_conf, versions
from leaseboard.tasks.score import baseline as core
from leaseboard.tasks.score.frame import as_frame, finished
from leaseboard.tasks.score.selections import selects, with_selections
from leaseboard.tasks.score.summary import several
from leaseboard.tasks.score.verdict import DECIDING, Verdict, headline, worse
from leaseboard.tasks.score.verdict import gate as judge


class Gate:
    """Suites whose accepted scores are in one file, and what has run of them.

    - `name`: of a suite, a group, or a YAML file.
    """

    def __init__(self, name: str, run_dir: Path | None, options: RunOptions) -> None:
        self.name = Path(name).stem
        self.problems: list[str] = []
        """What went wrong apart from the jobs; it has been reported."""
        self._given = name
        self._opened = open_suites(name, run_dir)
        check_apart([suite for suite, _ in self._opened])
        self._options = options
        self._frame = pd.DataFrame()
        self._quantities: list[core.Quantity] = []
        self._path = _own_baseline(name)

    def compare(self) -> Verdict:
        """Run the suites, and judge them; repeat what is in doubt until it is decided."""
        baseline = core.read_baseline(self._accepted())
        if baseline is None:
            fix = f"run leaseboard gate {self._given} --update-baseline first"
            problem = f"no accepted scores at {self._path}: {fix}"
            if not any(suite.requirements for suite, _ in self._opened):
                return Verdict(problems=(problem,))
            say(problem, err=True)
        self._run()
        names = {key: name for suite, _ in self._opened for key, name in suite.data_names.items()}
        while True:
            verdict = judge(
                self._frame, baseline, self._quantities, names=names, problems=tuple(self.problems)
            )
            doubtful = {(one.name, one.data): one.wanted for one in verdict.checks if one.wanted}
            if not doubtful:
                break
            scenarios, most = several(len(doubtful), "scenario"), max(doubtful.values())
            say_progress(f"{scenarios} in doubt: running up to {most} repetitions each")
            known = len(self._frame)
            self._repeat(doubtful)
            if len(self._frame) == known:
                accept = f"run leaseboard gate {self._given} --update-baseline"
                raise UsageError(f"the seeds are not those that were accepted: {accept}")
        if verdict.exit_code == 1:
            about = {"what": headline(verdict), "worse": worse(verdict)}
            emit(REGRESSION, SUITE, self.name, about)
        return verdict

    def accept(self, repetitions: int) -> tuple[core.Baseline, Path]:
        """Run the suites, and write their scores and requirements as accepted ones."""
        before = core.read_baseline(self._accepted())
        self._run()
        for pairs in dict.fromkeys((min(DECIDING, repetitions), repetitions)):
            wanted = {
                place: pairs
                for place, rows in self._frame.groupby(["name", "data"])
                if len(rows) < pairs
                and finished(rows).all()
                and (len(rows) < DECIDING or rows["score"].nunique() > 1)
            }
            if wanted:
                scenarios = several(len(wanted), "scenario")
                say_progress(f"running {pairs} repetitions of {scenarios} to accept them")
                self._repeat(wanted)
        baseline = core.accept(
            self._frame,
            self.name,
            date=datetime.now(UTC).date().isoformat(),
            versions=versions(),
            before=before,
            quantities=self._quantities,
        )
        core.write_baseline(self._path, baseline)
        return baseline, self._path

    def _accepted(self) -> Path:
        """Return the file of accepted scores; a suite named as a file has no shipped ones."""
        shipped = conf_files("baselines", suffix=".json").get(self._given, self._path)
        return self._path if self._path.is_file() else shipped

    def _run(self) -> None:
        for suite, home in self._opened:
            frame = self._execute(suite, home)
            self._frame = pd.concat([self._frame, frame], ignore_index=True)
            self._quantities += [core.measure(each, frame) for each in suite.all_requirements()]

    def _repeat(self, wanted: Mapping[tuple[str, str], int]) -> None:
        """Run so many repetitions of some scenarios; the table of each run stays its suite's."""
        for suite, home in self._opened:
            own = set(zip(self._frame["name"], self._frame["data"], strict=True))
            places = {(job.name, job.data) for job in suite.jobs()} & own & wanted.keys()
            if not places:
                continue
            more = suite.extended({place: wanted[place] for place in places})
            frame = self._execute(more, home)
            asked = {(job.name, job.data, job.repetition) for job in suite.jobs()}
            named = frame.set_index(["name", "data", "repetition"])["key"]
            keep_rows(home, set(named[named.index.isin(asked)]))
            fresh = frame[~frame["key"].isin(self._frame["key"])]
            self._frame = pd.concat([self._frame, fresh], ignore_index=True)

    def _execute(self, suite: Suite, home: Path) -> pd.DataFrame:
        """Return the results of a run, with what is known of selections as metrics."""
        # Prefect handles the signals of a flow run.
        with nullcontext() if current_run() else resumable(home):
            outcome = execute(suite, home, self._options)
        self.problems += [each for each in outcome.problems if each not in self.problems]
        frame = as_frame(outcome.results)
        logs = [(row, read_partial_log(job_folder(home, row.key) / EVENTS))
                for row in frame.itertuples() if selects(row)]  # fmt: skip
        return with_selections(frame, logs)


def _own_baseline(named: str) -> Path:
    """Return the file of baseline scores: in the user's configuration, or next to a YAML suite.

    Without a configuration folder it is below ``./conf``, never in the installation.
    """
    if os.environ.get("LEASEBOARD_CONF") or Path(named).suffix not in (".yaml", ".yml"):
        folder = own_conf() or Path("conf").resolve()
    else:
        folder = Path(named).resolve().parent
        if folder.name == "suites":
            folder = folder.parent
    return folder / "baselines" / f"{Path(named).stem}.json"

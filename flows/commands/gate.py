"""``leaseboard gate``: fail when an algorithm got worse than the accepted scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.options import (
    AsJson,
    Conf,
    FailOn,
    Local,
    Mirrors,
    RunDir,
    SuiteName,
    TrackingUri,
    Workers,
    failing_codes,
)
from leaseboard.flows.console import check_file, resumable, say, say_progress
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.machine.paths import conf_files, own_conf

if TYPE_CHECKING:
    import pandas as pd

    from leaseboard.flows.dispatch import RunOptions
    from leaseboard.tasks.jobs.diagnostic_codes import Diagnostic
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.score.gate.requirements import Quantity
    from leaseboard.tasks.score.gate.verdict import Verdict


def gate(
    suite: SuiteName,
    update_baseline: bool = False,
    repetitions: Annotated[int | None, typer.Option(min=1)] = None,
    tolerance: Annotated[float | None, typer.Option(min=0, max=1)] = None,
    markdown: Path | None = None,
    junit: Path | None = None,
    as_json: AsJson = False,
    run_dir: RunDir = None,
    workers: Workers = None,
    local: Local = False,
    mirror: Mirrors = None,
    conf: Conf = None,
    tracking_uri: TrackingUri = None,
    fail_on: FailOn = None,
) -> int:
    """Run a suite and compare it with its baseline scores and requirements, for CI.

    Exits with 0 if all pass, with 1 for a regression, with 2 if a job failed, and with 3 if
    nothing could be compared.

    - `update_baseline`: Write the scores of this run as baseline scores, and compare nothing. The
      file is conf/baselines/NAME.json, or baselines/NAME.json next to a suite that is a YAML file.
    - `repetitions`: Number of seeds to record with --update-baseline (default: 24 of a score that
      depends on the seed, 12 of another one).
    - `tolerance`: A score that does not depend on the seed must be equal.
    - `markdown`: Also write the verdict to this file, as Markdown.
    - `junit`: Also write the verdict to this file, as JUnit's XML.

    Example: leaseboard gate ci --markdown comment.md
    """
    from leaseboard.flows.dispatch import RunOptions
    from leaseboard.tasks.score.gate.baseline import read_baseline
    from leaseboard.tasks.score.gate.verdict import TOLERANCE, Verdict
    from leaseboard.tasks.score.gate.verdict import gate as judge
    from leaseboard.tasks.score.summary import several

    options = RunOptions(workers, local, None, tuple(mirror or ()), tracking_uri, boarded=False)
    failing = failing_codes(fail_on)
    if update_baseline:
        given = {"tolerance": tolerance, "markdown": markdown, "junit": junit,
                 "json": as_json or None, "fail-on": fail_on}  # fmt: skip
        if wrong := [name for name, value in given.items() if value is not None]:
            raise UsageError(f"--{wrong[0]} compares, and --update-baseline does not: omit one")
        return _accept(suite, run_dir, conf, repetitions or 24, options)
    if repetitions is not None:
        raise UsageError("--repetitions needs --update-baseline: the gate repeats where in doubt")
    for path in filter(None, (markdown, junit)):
        check_file(path)
    opened = _opened(suite, run_dir, conf)
    jobs = [job for loaded, _ in opened for job in loaded.jobs()]
    path = _own_baseline(suite, conf)
    if not path.is_file():  # a suite that is named as a file has no shipped scores
        path = conf_files("baselines", conf, ".json").get(suite, path)
    baseline = read_baseline(path)
    missing = baseline.not_accepted(jobs) if baseline else [f"no accepted scores at {path}"]
    if missing:
        problem = f"{missing[0]}: run leaseboard gate {suite} --update-baseline first"
        if baseline is not None or not any(loaded.requirements for loaded, _ in opened):
            nothing = Verdict(Path(suite).stem, problems=(problem,))
            return _written(suite, nothing, markdown, junit, as_json)
        say(problem, err=True)
    ran = _run(opened, options)
    names = {key: name for loaded, _ in opened for key, name in loaded.data_names.items()}
    limit = TOLERANCE if tolerance is None else tolerance

    def judged() -> Verdict:
        return judge(
            ran.frame, baseline, limit, ran.quantities, names=names, problems=tuple(ran.problems)
        )

    verdict = judged()
    while doubtful := {(one.name, one.data): one.wanted for one in verdict.checks if one.wanted}:
        most = max(doubtful.values())
        doubt = several(len(doubtful), "scenario")
        say_progress(f"{doubt} in doubt: running up to {most} repetitions each")
        ran = _repeat(opened, doubtful, ran, options)
        verdict = judged()
    verdict = replace(verdict, diagnostics=_failing(opened, failing))
    return _written(suite, verdict, markdown, junit, as_json)


def _written(
    suite: str,
    verdict: Verdict,
    markdown: Path | None,
    junit: Path | None,
    as_json: bool,
) -> int:
    """Write the verdict in every requested form, and report a regression; return its exit code."""
    from leaseboard.flows import prefect_events as events
    from leaseboard.tasks.score.gate import formats

    page = formats.markdown(verdict)
    for path, content in ((markdown, page), (junit, formats.junit(verdict))):
        if path is not None:
            path.write_text(content, encoding="utf-8")
    say(formats.as_json(verdict).rstrip() if as_json else page)
    if verdict.exit_code == 1:
        about = {"what": formats.headline(verdict), "worse": formats.worse(verdict)}
        events.emit(events.REGRESSION, events.SUITE, Path(suite).stem, about)
    return verdict.exit_code


def _failing(opened: list[tuple[Suite, Path]], codes: frozenset[str]) -> tuple[Diagnostic, ...]:
    """Return the findings of some codes in the runs of all suites."""
    from leaseboard.tasks.report.build import diagnose

    found = [each for suite, home in opened if codes for each in diagnose(home, suite)]
    return tuple(each for each in found if each.code in codes)


def _opened(name: str, run_dir: Path | None, conf: Path | None) -> list[tuple[Suite, Path]]:
    """Return the suites, whose accepted scores are in one file."""
    from leaseboard.flows.dispatch import open_suites
    from leaseboard.tasks.jobs.suites.suite import check_apart

    opened = open_suites(name, run_dir, conf)
    check_apart([suite for suite, _ in opened])
    return opened


def _accept(
    suite: str, run_dir: Path | None, conf: Path | None, repetitions: int, options: RunOptions
) -> int:
    """Run a suite and accept its scores and requirements."""
    from datetime import UTC, datetime

    from leaseboard.tasks.score.frame import finished
    from leaseboard.tasks.score.gate import baseline as core
    from leaseboard.tasks.score.gate.verdict import DECIDING, PASSED, RUN_FAILED
    from leaseboard.tasks.score.summary import listed, several

    opened = _opened(suite, run_dir, conf)
    path = _own_baseline(suite, conf)
    shipped = conf_files("baselines", conf, ".json").get(suite, path)
    before = core.read_baseline(path if path.is_file() else shipped)
    ran = _run(opened, options)
    for pairs in dict.fromkeys((min(DECIDING, repetitions), repetitions)):
        wanted = {
            place: pairs
            for place, rows in ran.frame.groupby(["name", "data"])
            if len(rows) < pairs
            and finished(rows).all()
            and (len(rows) < DECIDING or rows["score"].nunique() > 1)
        }
        if wanted:
            scenarios = several(len(wanted), "scenario")
            say_progress(f"running {pairs} repetitions of {scenarios} to accept them")
            ran = _repeat(opened, wanted, ran, options)
    baseline = core.accept(
        ran.frame,
        Path(suite).stem,
        date=datetime.now(UTC).date().isoformat(),
        versions=versions(),
        before=before,
        quantities=ran.quantities,
    )
    core.write_baseline(path, baseline)
    accepted = [several(len(baseline.scenarios), "scenario")]
    if baseline.requirements:
        accepted.append(several(len(baseline.requirements), "requirement"))
    say(f"accepted {listed(accepted)} in {path}")
    return RUN_FAILED if ran.problems else PASSED


def _own_baseline(named: str, conf: Path | None) -> Path:
    """Return the file of baseline scores: in the user's configuration, or next to a YAML suite.

    Without a configuration folder it is below ``./conf``, never in the installation.
    """
    if conf is not None or Path(named).suffix not in (".yaml", ".yml"):
        folder = own_conf(conf) or Path("conf").resolve()
    else:
        folder = Path(named).resolve().parent
        if folder.name == "suites":
            folder = folder.parent
    return folder / "baselines" / f"{Path(named).stem}.json"


@dataclass(frozen=True)
class _Ran:
    """Results of all suites, quantities of their requirements, and other problems."""

    frame: pd.DataFrame
    quantities: list[Quantity]
    problems: list[str]


def _run(opened: list[tuple[Suite, Path]], options: RunOptions) -> _Ran:
    """Run the suites and measure their requirements; problems have been reported."""
    import pandas as pd

    from leaseboard.flows.dispatch import execute
    from leaseboard.tasks.folder.event_logs import read_partial_log
    from leaseboard.tasks.folder.results import EVENTS, job_folder
    from leaseboard.tasks.score.frame import as_frame
    from leaseboard.tasks.score.gate.requirements import Evidence, measure

    frames, quantities, problems = [], [], []
    for suite, home in opened:
        with resumable(home):
            outcome = execute(suite, home, options)
        run = Evidence(
            as_frame(outcome.results),
            lambda key, home=home: read_partial_log(job_folder(home, key) / EVENTS),  # type: ignore[misc]
        )
        frames.append(run.frame)
        quantities += [measure(requirement, run) for requirement in suite.all_requirements()]
        problems += outcome.problems
    return _Ran(pd.concat(frames, ignore_index=True), quantities, problems)


def _repeat(
    opened: list[tuple[Suite, Path]],
    wanted: dict[tuple[str, str], int],
    ran: _Ran,
    options: RunOptions,
) -> _Ran:
    """Run more repetitions of some scenarios; the table of each run stays that of its suite."""
    import pandas as pd

    from leaseboard.tasks.folder.results import keep_rows

    frame, problems = ran.frame, list(ran.problems)
    for suite, home in opened:
        own = set(zip(frame["name"], frame["data"], strict=True))
        places = {(job.name, job.data) for job in suite.jobs()} & own & wanted.keys()
        if not places:
            continue
        more = [(suite.extended({place: wanted[place] for place in places}), home)]
        again = _run(more, options)
        asked = {(job.name, job.data, job.repetition) for job in suite.jobs()}
        named = again.frame.set_index(["name", "data", "repetition"])["key"]
        keep_rows(home, set(named[named.index.isin(asked)]))
        fresh = again.frame[~again.frame["key"].isin(frame["key"])]
        frame = pd.concat([frame, fresh], ignore_index=True)
        problems += [problem for problem in again.problems if problem not in problems]
    return _Ran(frame, ran.quantities, problems)

"""``leaseboard gate`` and ``accept``: fail when an algorithm got worse than what was accepted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.flows.commands.options import (
    Conf,
    Local,
    Mirrors,
    Out,
    SuiteName,
    TrackingUri,
    Workers,
)
from leaseboard.flows.console import check_file, resumable, say, terminable
from leaseboard.tasks.folder.results import EVENTS, job_folder, keep_rows
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.machine.paths import conf_files, own_conf

if TYPE_CHECKING:
    import pandas as pd

    from leaseboard.flows.dispatch import How
    from leaseboard.tasks.jobs.job import Job
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.score.gate.promises import Quantity
    from leaseboard.tasks.score.gate.verdict import Verdict

Written = Annotated[Path | None, typer.Option(help="Also write it there.")]


def gate(
    suite: SuiteName,
    tolerance: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Relative drop of a scenario's mean that passes (default: 0.002). A scenario"
            " whose score does not depend on the seed is exact and ignores it.",
        ),
    ] = None,
    markdown: Written = None,
    junit: Written = None,
    json: Written = None,
    speed_against: Annotated[
        str | None,
        typer.Option(
            help="Also compare CPU times with this commit's of your repository, run just now."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A scenario that became slower fails the gate.")
    ] = False,
    out: Out = None,
    workers: Workers = None,
    local: Local = False,
    mirror: Mirrors = None,
    conf: Conf = None,
    tracking_uri: TrackingUri = None,
) -> int:
    """Run a suite and compare it with its accepted scores and promises; 1 is a regression.

    Example: leaseboard gate ci --markdown comment.md
    """
    from leaseboard.flows.dispatch import How, open_suites
    from leaseboard.tasks.score.gate import formats
    from leaseboard.tasks.score.gate.baseline import read_baseline
    from leaseboard.tasks.score.gate.verdict import TOLERANCE, Verdict
    from leaseboard.tasks.score.gate.verdict import gate as judge

    for path in filter(None, (markdown, junit, json)):
        check_file(path)
    opened = open_suites(suite, out, conf)
    jobs = [job for loaded, _ in opened for job in loaded.jobs()]
    if speed_against is not None:
        from leaseboard.tasks.score.gate.speed import repository, resolved

        resolved(speed_against, repository(jobs))
    path = _accepted(suite, conf)
    baseline = read_baseline(path)
    missing = [f"no accepted scores at {path}"] if baseline is None else baseline.lacking(jobs)
    if missing:
        problem = f"{missing[0]}: run leaseboard accept {suite} first"
        if baseline is not None or not any(loaded.promises for loaded, _ in opened):
            nothing = Verdict(Path(suite).stem, "", {}, (), problems=(problem,))
            return _written(nothing, formats.markdown(nothing), markdown, junit, json)
        say(problem, err=True)
    how = How(workers, local, None, tuple(mirror or ()), tracking_uri, boarded=False)
    ran = _run(opened, how)
    names = {key: name for loaded, _ in opened for key, name in loaded.data_names.items()}
    limit = TOLERANCE if tolerance is None else tolerance

    def judged(slower: tuple[str, ...] = ()) -> Verdict:
        return judge(
            ran.frame, baseline, limit, ran.quantities,
            names=names, problems=tuple(ran.problems), slower=slower,
        )  # fmt: skip

    verdict = judged()
    while doubtful := {(one.label, one.data): one.wanted for one in verdict.checks if one.wanted}:
        most = max(doubtful.values())
        say(f"{len(doubtful)} scenarios are in doubt: running up to {most} repetitions of them")
        ran = _repeat(opened, doubtful, ran, how)
        verdict = judged()
    text = ""
    if speed_against is not None:
        text, slower = _speed(jobs, ran.frame, speed_against, how, names)
        verdict = judged(slower if strict else ())
    page = formats.markdown(verdict) + (f"\n{text}" if text else "")
    return _written(verdict, page, markdown, junit, json)


def _written(
    verdict: Verdict, page: str, markdown: Path | None, junit: Path | None, json: Path | None
) -> int:
    """Write the verdict in every form that was asked for; returns its exit code."""
    from leaseboard.tasks.score.gate import formats

    for path, content in (
        (markdown, page),
        (junit, formats.junit(verdict)),
        (json, formats.as_json(verdict)),
    ):
        if path is not None:
            path.write_text(content, encoding="utf-8")
    say(page)
    return verdict.exit_code


def accept(
    suite: SuiteName,
    repetitions: Annotated[
        int,
        typer.Option(
            min=1,
            help="Seeds to record of scenarios whose score depends on the seed, 12 of the others;"
            " the gate runs those beyond the suite's own only where it is in doubt.",
        ),
    ] = 24,
    out: Out = None,
    workers: Workers = None,
    local: Local = False,
    mirror: Mirrors = None,
    conf: Conf = None,
    tracking_uri: TrackingUri = None,
) -> int:
    """Run a suite and accept its scores and promises as what `gate` compares with.

    Example: leaseboard accept ci
    """
    from datetime import UTC, datetime

    from leaseboard.flows.dispatch import How, open_suites
    from leaseboard.tasks.score.frame import finished
    from leaseboard.tasks.score.gate import baseline as core
    from leaseboard.tasks.score.gate.verdict import DECIDING, PASSED, RUN_FAILED

    opened = open_suites(suite, out, conf)
    before = core.read_baseline(_accepted(suite, conf))
    how = How(workers, local, None, tuple(mirror or ()), tracking_uri, boarded=False)
    ran = _run(opened, how)
    for pairs in (min(DECIDING, repetitions), repetitions):
        wanted = {
            (label, data): pairs
            for (label, data), rows in ran.frame.groupby(["label", "data"])
            if len(rows) < pairs
            and finished(rows).all()
            and (len(rows) < DECIDING or rows["score"].nunique() > 1)
        }
        if wanted:
            ran = _repeat(opened, wanted, ran, how)
    baseline = core.accept(
        ran.frame,
        Path(suite).stem,
        date=datetime.now(UTC).date().isoformat(),
        versions=versions(),
        before=before,
        quantities=ran.quantities,
    )
    path = _own_baseline(suite, conf)
    core.write_baseline(path, baseline)
    n_scenarios, n_promises = len(baseline.scenarios), len(baseline.promises)
    say(f"accepted {n_scenarios} scenarios and {n_promises} promises in {path}")
    for gone in core.dropped(before, baseline):
        say(f"not accepted any more: {gone}, which is not measured now", err=True)
    return RUN_FAILED if ran.problems else PASSED


def _speed(
    jobs: list[Job], frame: pd.DataFrame, commit: str, how: How, names: dict[str, str]
) -> tuple[str, tuple[str, ...]]:
    """Return the comparison of CPU times as markdown, and the scenarios that became slower."""
    from leaseboard.tasks.score.gate.speed import compare, markdown, repository, timed

    done = frame[frame["status"] == "ok"]
    ran = set(zip(done["label"], done["data"], strict=True))
    chosen = timed([job for job in jobs if (job.label, job.data) in ran])
    with terminable():
        folders = paths.mirrors(how.mirrors)
        found, incomparable = compare(chosen, commit, root=repository(jobs), mirrors=folders)
    found = [replace(speed, data=names.get(speed.data, speed.data)) for speed in found]
    page = markdown(found, incomparable, commit)
    return page, tuple(f"{speed.label} on {speed.data}" for speed in found if speed.slower)


def _accepted(named: str, conf: Path | None) -> Path:
    """Where the accepted scores are: where `accept` writes them, or those that are shipped."""
    mine = _own_baseline(named, conf)
    if mine.is_file() or _is_file(named):
        return mine
    return conf_files("baselines", conf, ".json").get(Path(named).stem, mine)


def _own_baseline(named: str, conf: Path | None) -> Path:
    """In the user's configuration folder, or beside a suite that was named as a file.

    It is ``./conf`` where there is none yet, so nobody's scores end up in the installation.
    """
    if conf is not None or not _is_file(named):
        folder = own_conf(conf) or Path("conf").resolve()
    else:
        folder = Path(named).resolve().parent
        if folder.name == "suites":
            folder = folder.parent
    return folder / "baselines" / f"{Path(named).stem}.json"


def _is_file(named: str) -> bool:
    return Path(named).suffix in (".yaml", ".yml")


@dataclass(frozen=True)
class _Ran:
    """The results of all suites, their promises measured, and what else went wrong."""

    frame: pd.DataFrame
    quantities: list[Quantity]
    problems: list[str]


def _run(opened: list[tuple[Suite, Path]], how: How) -> _Ran:
    """Run the suites and measure their promises; problems have been reported."""
    import pandas as pd

    from leaseboard.flows.dispatch import execute
    from leaseboard.tasks.folder.event_logs import read_partial_log
    from leaseboard.tasks.score.frame import as_frame
    from leaseboard.tasks.score.gate.promises import Evidence, measure
    from leaseboard.tasks.track.publish import Logged

    frames, quantities, problems = [], [], []
    for suite, home in opened:
        with resumable(home):
            outcome = execute(suite, home, how)
        run = Evidence(
            as_frame(outcome.results),
            lambda key, home=home: read_partial_log(job_folder(home, key) / EVENTS),  # type: ignore[misc]
            Logged(paths.tracking_uri(how.tracking_uri), suite.name),
        )
        frames.append(run.frame)
        quantities += [measure(promise, run) for promise in suite.promised()]
        problems += outcome.problems
    return _Ran(pd.concat(frames, ignore_index=True), quantities, problems)


def _repeat(
    opened: list[tuple[Suite, Path]],
    wanted: dict[tuple[str, str], int],
    ran: _Ran,
    how: How,
) -> _Ran:
    """Run more repetitions of some scenarios; the table of each run stays that of its suite."""
    import pandas as pd

    frame, problems = ran.frame, list(ran.problems)
    for suite, home in opened:
        own = set(zip(*(frame[name] for name in ("label", "data")), strict=True))
        places = {(job.label, job.data) for job in suite.jobs()} & own & wanted.keys()
        if not places:
            continue
        more = [(suite.extended({place: wanted[place] for place in places}), home)]
        again = _run(more, how)
        asked = {(job.label, job.data, job.repetition) for job in suite.jobs()}
        named = again.frame[["label", "data", "repetition"]].itertuples(index=False, name=None)
        keep_rows(home, set(again.frame["key"][[each in asked for each in named]]))
        fresh = again.frame[~again.frame["key"].isin(frame["key"])]
        frame = pd.concat([frame, fresh], ignore_index=True)
        problems += [problem for problem in again.problems if problem not in problems]
    return _Ran(frame, ran.quantities, problems)

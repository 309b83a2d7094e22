"""A static site of leaderboards: a page for each, and an index that is searched where it is read.

::

    <out>/index.html            every leaderboard, newest first
    <out>/boards/<id>.html      the report of a run
    <out>/boards/<id>.json      what the index says of it

The id is a digest of the results and their suite, so the same leaderboard has the same address
on each machine, on each day and in each order of publishing; a leaderboard that is there stays. No
file holds a time of publishing: equal leaderboards make equal bytes.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.results import RESULT, job_folder, write_atomically
from leaseboard.tasks.jobs.job import first_fault
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.report.build import material, render, suite_of
from leaseboard.tasks.report.material import Material
from leaseboard.tasks.report.page import index_of, packages
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.numbers import padded, short
from leaseboard.tasks.score.table import nanmean, relative_losses

SIGNED = "signed.json"
"""In a run folder: by key, who signed a job's result, and its digest then."""
_DAY = r"\A(\d{4}-\d\d-\d\d)?\z"
INDEX = "index.html"
BOARDS = "boards"
_ID_SIGNS = 16
_SHADES = 5


class MatrixCell(BaseModel):
    """Result of an algorithm on a dataset; a job that did not finish has no rank."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    hint: str = ""
    shade: Annotated[int, Field(ge=0, le=_SHADES)] = 0
    """Its rank in the column, from 1, the best, to `_SHADES`; 0 without a rank."""
    job: str = ""


class BoardRecord(BaseModel):
    """Entry of the index for a leaderboard."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=rf"\A[0-9a-f]{{{_ID_SIGNS}}}\z")]
    title: str
    description: str
    data: list[str]
    references: list[str]
    """References of the data; `data` has their names in the suite."""
    algorithms: list[str]
    first: str
    """Answer to the question which algorithm is best."""
    jobs: Annotated[int, Field(ge=0)]
    unfinished: Annotated[int, Field(ge=0)]
    since: Annotated[str, Field(pattern=_DAY)]
    date: Annotated[str, Field(pattern=_DAY)]
    """The days on which its first and its last job were started; empty if no job says."""
    measure: str
    """What the cells of `matrix` are."""
    columns: list[str]
    """The datasets of `matrix`."""
    matrix: list[tuple[str, list[MatrixCell]]]
    """A row an algorithm, as on the leaderboard."""
    about: list[tuple[str, str]]
    """What was run, where, with which versions and which command."""


class Site(NamedTuple):
    """Published leaderboards, and all that the index lists."""

    page: Path
    new: list[BoardRecord]
    listed: list[BoardRecord]


def publish(runs: Iterable[Path], out: Path) -> Site:
    """Add the leaderboards of run folders to the site in the folder `out`; write its index again.

    Raises UsageError, before anything is written, if a run has no leaderboard, or a record that is
    already there is not one of ours.
    """
    there = {path.stem: _record(path) for path in (out / BOARDS).glob("*.json")}
    made = [_board(run) for run in counted(runs, "building pages", "runs")]
    new = [board for board, _ in made]
    (out / BOARDS).mkdir(parents=True, exist_ok=True)
    for board, page in made:
        write_atomically(out / BOARDS / f"{board.id}.html", page)
        text = json.dumps(board.model_dump(), indent=1, sort_keys=True)
        write_atomically(out / BOARDS / f"{board.id}.json", text.encode())
    listed = list((there | {board.id: board for board in new}).values())
    listed.sort(key=lambda board: (board.title, board.id))
    listed.sort(key=lambda board: board.date, reverse=True)
    names = {of: sorted({name for board in listed for name in getattr(board, of)})
             for of in ("data", "algorithms")}  # fmt: skip
    write_atomically(out / INDEX, index_of(boards=listed, folder=BOARDS, **names).encode())
    return Site(out / INDEX, new, listed)


def board_id(rows: Iterable[Mapping[str, Any]], suite: Suite | None) -> str:
    """Return the permanent id of a leaderboard, for every order of its results.

    Examples
    --------
    >>> board_id([{"score": 0.5}, {"score": 0.25}], None)
    'ad55ee1656a4e591'
    >>> board_id([{"score": 0.25}, {"score": 0.5}], None)
    'ad55ee1656a4e591'
    """
    texts = sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)
    content = json.dumps([texts, None if suite is None else suite.model_dump(mode="json")])
    return hashlib.sha256(content.encode()).hexdigest()[:_ID_SIGNS]


def signed(run: Path) -> dict[str, tuple[str, str]]:
    """Return who signed the results of a run folder, and their digests, by key."""
    place = run / SIGNED
    return json.loads(place.read_bytes()) if place.is_file() else {}


def _signers(run: Path, keys: Iterable[str]) -> str:
    """Return the signers of results that are unchanged since, with the number of jobs."""
    known, found = signed(run), Counter[str]()
    for key in (each for each in keys if each in known):
        content = (job_folder(run, key) / RESULT).read_bytes()
        if hashlib.sha256(content).hexdigest() == known[key][1]:
            found[known[key][0]] += 1
    return ", ".join(f"{name} (jobs: {count})" for name, count in sorted(found.items()))


def _board(run: Path) -> tuple[BoardRecord, bytes]:
    """Return the record and the page of a run's leaderboard."""
    suite = suite_of(run)
    try:
        made = replace(material(run, suite), mlflow={})  # whose address is for its users alone
    except UsageError as error:
        raise UsageError(f"{run}: {error}") from error
    frame, answer = made.frame, made.found.answer
    days = sorted(text[:10] for text in frame["started"] if text) or [""]
    measure, matrix = _matrix(made)
    suite_name = (suite.name if suite else "") or run.name
    about = {
        "Command": f"leaseboard run {suite_name}",
        "Measured": answer.metric,
        "Result": f"{answer.best} {answer.missing}",
        "Versions": ", ".join(map(" ".join, packages().items())),
        "Machine": ", ".join(sorted({*frame["host"]} - {""})),
        "Signed by": _signers(run, frame["key"]),
        "Id": board_id(frame.to_dict("records"), suite),
    }
    record = BoardRecord(
        id=about["Id"],
        title=made.found.title if suite else run.name,
        description=suite.description if suite else "",
        data=sorted({made.name(data) for data in frame["data"]}),
        references=sorted(set(frame["data"])),
        algorithms=sorted(set(frame["name"])),
        first=answer.relative or answer.best,
        jobs=len(frame),
        unfinished=int((frame["status"] != "ok").sum()),
        since=days[0],
        date=days[-1],
        measure=measure,
        columns=[made.name(data) for data in made.found.board.table.problems],
        matrix=matrix,
        about=[(name, text) for name, text in about.items() if text],
    )
    return record, render(made, made_from=record.id, home=f"../{INDEX}").encode()


def _matrix(made: Material) -> tuple[str, list[tuple[str, list[MatrixCell]]]]:
    """Return every algorithm on every dataset by relative loss, if any has one, else by score."""
    board = made.found.board
    table, ranks = board.table, board.table.ranks()
    values = nanmean(relative_losses(table, board.baselines), axis=2)
    measure = f"Relative loss: {board.loss} over that of the best naive baseline, less is better"
    if not np.isfinite(values).any():
        values, measure = table.means, f"Mean {metric_title(board.metric)}"
    jobs = made.frame.groupby(["name", "data"])["key"].first().to_dict()

    def cell(i: int, p: int) -> MatrixCell:
        job = jobs.get((table.labels[i], table.problems[p]), "")
        if not math.isfinite(table.means[i, p]):
            return MatrixCell(text="–", hint="no result", job=job)
        competing = int(np.isfinite(table.means[:, p]).sum())
        share = (ranks[i, p] - np.nanmin(ranks[:, p])) / max(competing - 1, 1)
        shade = 1 + math.ceil(min(share, 1.0) * (_SHADES - 1))
        hint = f"rank {ranks[i, p]:g} of {competing}, {metric_title(board.metric)}"
        hint += f" {short(table.means[i, p])}"
        shown = values[i, p] if math.isfinite(values[i, p]) else table.means[i, p]
        return MatrixCell(text=padded(shown), hint=hint, shade=shade, job=job)

    order = [table.labels.index(name) for name in made.labels]
    rows = [(table.labels[i], [cell(i, p) for p in range(len(table.problems))]) for i in order]
    return measure, rows


def _record(path: Path) -> BoardRecord:
    try:
        found = BoardRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise UsageError(
            f"{path}: {first_fault(error)}: remove it, or publish into another folder"
        ) from error
    if found.id != path.stem:
        raise UsageError(f"{path} is the record of {found.id}: give it that name, or remove it")
    return found

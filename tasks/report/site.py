"""A static site of boards: a page for each, and an index that is searched where it is read.

::

    <out>/index.html            every board, newest first
    <out>/boards/<id>.html      the report of a run
    <out>/boards/<id>.json      what the index says of it

The id is a digest of the results and their suite, so the same board has the same address wherever,
whenever and in whatever order it is published; a board that is there stays. No file holds a time
of publishing: equal boards make equal bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder.results import shown_at, write_atomically
from leaseboard.tasks.jobs.job import first_fault
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.report.build import render, suite_of
from leaseboard.tasks.report.material import Material, read_logs
from leaseboard.tasks.report.page import index_of
from leaseboard.tasks.report.sections import READERS
from leaseboard.tasks.score.compared import compared
from leaseboard.tasks.score.frame import as_frame

INDEX = "index.html"
BOARDS = "boards"
_ID_SIGNS = 16


class BoardRecord(BaseModel):
    """What the index says of a board."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=rf"\A[0-9a-f]{{{_ID_SIGNS}}}\z")]
    title: str
    description: str
    data: list[str]
    references: list[str]
    """The data as they are asked for; `data` is what their suite calls them."""
    algorithms: list[str]
    first: str
    """Who leads it."""
    jobs: Annotated[int, Field(ge=0)]
    unfinished: Annotated[int, Field(ge=0)]
    date: Annotated[str, Field(pattern=r"\A(\d{4}-\d\d-\d\d)?\z")]
    """The day on which its last job was started; empty if no job says."""


class Site(NamedTuple):
    """What was published, and all that the index lists."""

    page: Path
    new: list[BoardRecord]
    listed: list[BoardRecord]


def publish(runs: Iterable[Path], out: Path) -> Site:
    """Add the boards of run folders to the site in the folder `out`, and write its index anew.

    Raises UsageError, before anything is written, if a run has no board, or a record that is there
    already is not one of ours.
    """
    there = {path.stem: _record(path) for path in (out / BOARDS).glob("*.json")}
    made = [_board(run) for run in runs]
    new = [board for board, _ in made]
    (out / BOARDS).mkdir(parents=True, exist_ok=True)
    for board, page in made:
        write_atomically(out / BOARDS / f"{board.id}.html", page)
        text = json.dumps(board.model_dump(), indent=1, sort_keys=True)
        write_atomically(out / BOARDS / f"{board.id}.json", text.encode())
    listed = list((there | {board.id: board for board in new}).values())
    listed.sort(key=lambda board: (board.title, board.id))
    listed.sort(key=lambda board: board.date, reverse=True)
    write_atomically(out / INDEX, _index(listed).encode())
    return Site(out / INDEX, new, listed)


def board_id(rows: Iterable[Mapping[str, Any]], suite: Suite | None) -> str:
    """Return the permanent id of a board, whatever the order of its results.

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


def _board(run: Path) -> tuple[BoardRecord, bytes]:
    """Return the record and the page of a run's board."""
    frame, suite = as_frame(shown_at(run)), suite_of(run)
    id_ = board_id(frame.to_dict("records"), suite)
    try:
        found = compared(frame, suite)
    except UsageError as error:
        raise UsageError(f"{run}: {error}") from error
    made = Material(run.name, frame, suite, found, *read_logs(run, frame, READERS))
    started = [text[:10] for text in frame["started"] if text]
    listed = BoardRecord(
        id=id_,
        title=found.title if suite else run.name,
        description=suite.description if suite else "",
        data=sorted({made.name(data) for data in frame["data"]}),
        references=sorted(set(frame["data"])),
        algorithms=sorted(set(frame["label"])),
        first=found.answer.best,
        jobs=len(frame),
        unfinished=int((frame["status"] != "ok").sum()),
        date=max(started, default=""),
    )
    return listed, render(made, made_from=id_, home=f"../{INDEX}").encode()


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


def _index(boards: list[BoardRecord]) -> str:
    return index_of(
        boards=boards,
        data=sorted({name for board in boards for name in board.data}),
        algorithms=sorted({name for board in boards for name in board.algorithms}),
        folder=BOARDS,
    )

"""``race``: a few algorithms on a file or a data set, from a notebook, in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.inputs import unique_names
from leaseboard.tasks.fetch.columns import refuse_few_words, tidy_frame
from leaseboard.tasks.fetch.references import with_options
from leaseboard.tasks.jobs.job import Result, first_fault
from leaseboard.tasks.jobs.suites.plan import (
    check_suite,
    require_ranking,
    tasks_of,
    with_baselines,
)
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine import paths
from leaseboard.tasks.models.automl.watch import without_autologging
from leaseboard.tasks.pool.attempts import run_one
from leaseboard.tasks.score.board import plain
from leaseboard.tasks.score.compared import Compared, compared
from leaseboard.tasks.score.frame import to_frame

TITLE = "Race"


@dataclass(frozen=True, eq=False)
class Raced:
    """How a race ended; a notebook shows its board, and ``print`` too."""

    results: tuple[Result, ...]
    """One a job, in the order in which they ran: data, repetition, algorithm."""
    comparison: Compared
    """The leaderboard with its intervals, tests and words."""

    @property
    def frame(self) -> pd.DataFrame:
        """Every field of every result, one row a job."""
        return to_frame(self.results)

    @property
    def board(self) -> pd.DataFrame:
        """One row an algorithm, the best first.

        ``score`` is the mean score on one data set; on several it is the mean of the board's
        common scale, more is better, and ``place`` and ``rank`` are there. ``relative_loss`` is
        the loss over the best baseline's, where one ran. Of policies
        ``test_score`` is the same of the test score.
        """
        found, tested = self.comparison.board, self.comparison.tested
        one_set = found.one_set
        rows = [
            {
                "algorithm": row.label,
                **({} if one_set else {"place": row.place, "rank": row.rank.value}),
                **({"relative_loss": row.relative.value} if found.baselines else {}),
                **({"test_score": tested.scores.get(row.label)} if tested else {}),
                "score": (row.raw if one_set else row.score).value,
                "cpu_seconds": row.cpu_seconds,
                "ok": row.n_ok,
                "jobs": row.n_jobs,
            }
            for row in found.rows
        ]
        return pd.DataFrame(rows).set_index("algorithm")

    @property
    def best(self) -> tuple[str, ...]:
        """Who came first, on one data set who has the best mean score.

        Several if they are equal, nobody if no job has a score.
        """
        rows = self.comparison.board.rows
        return tuple(row.label for row in rows if row.place == 1 and row.n_ok)

    @property
    def failures(self) -> tuple[str, ...]:
        """A line for each job without a score: what became of it, and why."""
        return tuple(
            f"{result.label} on {result.data}: {result.status}: {result.reason}"
            for result in self.results
            if result.status != "ok"
        )

    def __str__(self) -> str:
        return "\n".join([plain(self.comparison), *self.failures]).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        said = [*self.comparison.answer.lines(), *self.failures]
        return str(self.board.to_html()) + "".join(f"<p>{escape(line)}</p>" for line in said)


@without_autologging()
def race(
    algorithms: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
    data: str | Path | pd.DataFrame | Sequence[str | Path],
    *,
    target: str | None = None,
    task: str | None = None,
    seed: int = 0,
    repetitions: int = 1,
    budget: float | None = None,
    metric: str | None = None,
    baselines: bool = True,
    mirrors: Sequence[Path] = (),
    tracking_uri: str | None = None,
) -> Raced:
    """Run algorithms on the same data, one after another, and compare them.

    Everything happens in this process, without limits of time and memory, and nothing is kept;
    for those, and to resume, write a suite.

    Parameters
    ----------
    algorithms : str, mapping, or sequence of them
        Names of ``leaseboard list``, or ``mine.py:Mine``. As in a suite, a mapping has `name`,
        and may have `label`, `settings` and `bench`.
    data : str or Path, or sequence of them, or DataFrame
        References such as ``openml:215`` and ``synthetic:fried?rows=5000``, or files.
    target : str, optional
        The target column; the last one if not given.
    task : {"regression", "classification"}, optional
    seed : int
        Of everything random, as that of ``leaseboard race``; repetition `r` has ``seed + r``.
    repetitions : int
    budget : float, optional
        Units of the bench, such as trials.
    metric : str, optional
        What ranks in the place of the score, such as ``"mae"`` or ``"skill"``.
    baselines : bool
        Whether the naive baselines (`running-mean`, `last-label`, `seasonal-last`, `online-ridge`)
        run, too, if an algorithm works on a stream.
    mirrors : sequence of Path
        Data mirrors; by default those of ``LEASEBOARD_MIRROR``.
    tracking_uri : str, optional
        An MLflow store; each job becomes a run there. By default MLflow is left alone.

    Returns
    -------
    Raced
        With `board`, `best`, `frame`, `results` and `failures`.

    Raises
    ------
    UsageError
        For what does not exist or cannot be compared, before anything is run, and for data that
        cannot be used. A job that fails is a result without a score; the others go on.

    Examples
    --------
    >>> found = race(["chacha", "vanilla"], "synthetic:fried?rows=2000&seed=0")
    >>> found.best
    ('chacha',)
    >>> list(found.board.index)[:2]
    ['chacha', 'online-ridge']
    """
    if repetitions < 1:
        raise UsageError(f"repetitions={repetitions}: give at least 1")
    if isinstance(data, pd.DataFrame):
        with tempfile.TemporaryDirectory(prefix="race-") as place:
            return race(
                algorithms, _written(data, Path(place)), target=target, task=task, seed=seed,
                repetitions=repetitions, budget=budget, metric=metric, baselines=baselines,
                mirrors=mirrors, tracking_uri=tracking_uri,
            )  # fmt: skip
    one = isinstance(algorithms, (str, Mapping))
    places = _places(data)
    content = {
        "title": TITLE,
        "algorithms": [algorithms] if one else list(algorithms),
        "data": [with_options(str(place), target=target, task=task) for place in places],
        "seeds": list(range(seed, seed + repetitions)),
        "budget": budget,
        "metric": metric,
        "baselines": baselines,
    }
    try:
        suite = with_baselines(Suite.model_validate(content))
    except ValidationError as error:
        raise UsageError(first_fault(error)) from error
    check_suite(suite)
    found = paths.mirrors(tuple(mirrors))
    if suite.metric is not None:
        jobs = suite.jobs()
        require_ranking(suite.metric, jobs, tasks_of((job.data for job in jobs), found))
    results = []
    for job in suite.jobs():
        with tempfile.TemporaryDirectory(prefix="race-") as folder:
            result = run_one(job, Path(folder), mirrors=found, here=True).result
            if tracking_uri is not None:
                from leaseboard.tasks.track import log_race

                log_race(result, Path(folder) / "events.jsonl.gz", tracking_uri)
        results.append(result)
    return Raced(tuple(results), compared(results, suite))


def _written(frame: pd.DataFrame, folder: Path) -> Path:
    """Write a table with its named indexes as columns into a file."""
    names = [name for name in frame.index.names if name is not None]
    frame = frame.reset_index(level=names) if names else frame
    frame = frame.set_axis(unique_names(frame.columns), axis=1)
    for name in frame:  # which a file of types would not be asked
        refuse_few_words(frame[name])
    path = folder / "table.parquet"
    tidy_frame(frame).to_parquet(path)
    return path


def _places(data: object) -> list[str | Path]:
    """The references in what was given as data; UsageError for others."""
    if isinstance(data, (str, Path)):
        return [data]
    if isinstance(data, Sequence) and all(isinstance(each, (str, Path)) for each in data):
        return list(data)
    kind = type(data)
    if isinstance(data, Sequence):
        kind = next(type(each) for each in data if not isinstance(each, (str, Path)))
    raise UsageError(
        f"data holds a {kind.__name__}: name data, as race reads them itself, by a reference or a"
        ' file: table.to_parquet("table.parquet") of a DataFrame, then data="table.parquet"'
    )

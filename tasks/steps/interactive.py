"""``race``: a few algorithms on a file or a dataset, from a notebook, in this process."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.values import unique_names
from leaseboard.tasks.fetch.columns import refuse_unclear, tidy_frame
from leaseboard.tasks.fetch.loading import with_options
from leaseboard.tasks.jobs.environments.stream import arrival_of_file
from leaseboard.tasks.jobs.job import Result, first_fault
from leaseboard.tasks.jobs.suites.plan import check_suite, with_baselines
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.environment import without_autologging
from leaseboard.tasks.pool.workers import run_one
from leaseboard.tasks.score.frame import to_frame
from leaseboard.tasks.score.summary import Compared, compared, plain

TITLE = "Race"


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Results of a race, compared; a notebook and ``print`` show them as a ranking table.

    `race` returns it.

    Parameters
    ----------
    results : tuple of Result
        One a job, in the order in which they ran: data, repetition, algorithm.
    comparison : Compared
        The ranking with its intervals, tests and words.

    Attributes
    ----------
    table : DataFrame
        One row an algorithm, the best first.
    best : tuple of str
        Algorithms in first place.
    frame : DataFrame
        Every field of every result, one row a job.
    failures : tuple of str
        Status and reason of each job without a score.

    Examples
    --------
    >>> leaderboard = race("running-mean", "synthetic:fried?rows=500", baselines=False)
    >>> leaderboard.best, leaderboard.failures
    (('running-mean',), ())
    >>> leaderboard.table["jobs"].tolist()
    [1]
    """

    results: tuple[Result, ...]
    comparison: Compared

    @property
    def frame(self) -> pd.DataFrame:
        """Every field of every result, one row a job."""
        return to_frame(self.results)

    @property
    def table(self) -> pd.DataFrame:
        """One row an algorithm, the best first.

        ``score`` is the mean score on one dataset; on several it is the mean on the
        leaderboard's common scale, more is better, and ``place`` and ``rank`` are there.
        ``relative_loss`` is the loss over the best baseline's, where one ran. Of policies
        ``test_score`` is the same of the test score.
        """
        board = self.comparison.board
        shown = {
            "place": not board.one_set,
            "rank": not board.one_set,
            "relative_loss": board.has_baselines,
            "test": board.has_tests,
            **dict.fromkeys(("score", "cpu_seconds", "ok", "jobs"), True),
        }
        found = board.frame[[name for name, is_shown in shown.items() if is_shown]]
        return found.rename(columns={"test": "test_score"})

    @property
    def best(self) -> tuple[str, ...]:
        """Algorithms in first place, on one dataset those of the best mean score.

        Several if they are equal, empty if no job has a score.
        """
        found = self.comparison.board.frame
        return tuple(found.index[(found["place"] == 1) & (found["ok"] > 0)])

    @property
    def failures(self) -> tuple[str, ...]:
        """Status and reason of each job without a score, one line each."""
        return tuple(
            f"{result.name} on {result.data}: {result.status}: {result.reason}"
            for result in self.results
            if result.status != "ok"
        )

    def __str__(self) -> str:
        return "\n".join([plain(self.comparison), *self.failures])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        said = [*self.comparison.answer.values(), *self.failures]
        return str(self.table.to_html()) + "".join(f"<p>{escape(line)}</p>" for line in said)


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
) -> Leaderboard:
    """Run algorithms on the same data, one after another, and compare them.

    Everything happens in this process, without limits of time and memory. Only
    recorded trials are written, into the cache: the same trial is not run again, and costs what it
    cost when it was. For limits, and to resume, write a suite.

    Parameters
    ----------
    algorithms : str, mapping, or sequence of them
        Names of ``leaseboard list``, or ``mine.py:Mine``. As in a suite, a mapping has
        `algorithm`, and may have `name`, `settings` and `environment`.
    data : str or Path, or sequence of them, or DataFrame
        References such as ``openml:215`` and ``synthetic:fried?rows=5000``, or files; or a
        DataFrame with the target among its columns.
    target : str, optional
        The target column; the last one if not given.
    task : {"regression", "classification"}, optional
    seed : int
        Of everything random, as that of ``leaseboard race``; repetition `r` has ``seed + r``.
    repetitions : int
    budget : float, optional
        Units of the environment, such as trials.
    metric : str, optional
        What ranks in the place of the score, such as ``"mae"``.
    baselines : bool
        Whether the naive baselines (`running-mean`, `last-label`, `seasonal-last`, `online-ridge`)
        run, too, if an algorithm works on a stream.

    Returns
    -------
    Leaderboard
        With `table`, `best`, `frame`, `results` and `failures`.

    Raises
    ------
    UsageError
        For names that do not exist or algorithms that cannot be compared, before anything runs,
        and for data that cannot be used. A failed job is a result without a score.

    Examples
    --------
    >>> leaderboard = race(["online-automl", "vanilla"], "synthetic:fried?rows=2000&seed=0")
    >>> leaderboard.best
    ('online-automl',)
    >>> list(leaderboard.table.index)[:2]
    ['online-automl', 'online-ridge']
    """
    if repetitions < 1:
        raise UsageError(f"repetitions={repetitions}: give at least 1")
    asked = [algorithms] if isinstance(algorithms, (str, Mapping)) else list(algorithms)
    with tempfile.TemporaryDirectory(prefix="race-") as folder:
        home, results = Path(folder), []
        suite = race_suite(
            algorithms=asked,
            data=[_entry(with_options(str(place), target=target, task=task), asked)
                  for place in _places(data, home)],
            seeds=list(range(seed, seed + repetitions)), budget=budget, metric=metric,
            baselines=baselines,
        )  # fmt: skip
        for number, job in enumerate(suite.jobs()):
            place = home / f"{number}"
            place.mkdir()
            results.append(run_one(job, place, here=True))
            shutil.rmtree(place)
    return Leaderboard(tuple(results), compared(results, suite))


def race_suite(**content: Any) -> Suite:
    """Return the suite of a race with its naive baselines; UsageError if it cannot be one."""
    try:
        suite = with_baselines(Suite.model_validate({"title": TITLE, **content}))
    except ValidationError as error:
        raise UsageError(first_fault(error)) from error
    check_suite(suite)
    return suite


def _written(frame: pd.DataFrame, folder: Path) -> Path:
    """Write a table with its named indexes as columns into a file."""
    names = [name for name in frame.index.names if name is not None]
    frame = frame.reset_index(level=names) if names else frame
    frame = frame.set_axis(unique_names(frame.columns), axis=1)
    for name in frame:  # a parquet file is not checked for this
        refuse_unclear(frame[name])
    path = folder / "table.parquet"
    tidy_frame(frame).to_parquet(path)
    return path


def _entry(data: str, algorithms: Sequence[str | Mapping[str, Any]]) -> dict[str, Any]:
    """Return a dataset of a suite, whose labels arrive as `leaseboard race` has it by default."""
    first = algorithms[0] if algorithms else ""
    name, given = (
        (first, {})
        if isinstance(first, str)
        else (first.get("algorithm", ""), first.get("environment", {}))
    )
    arrival = arrival_of_file(name, data, given)
    return {"data": data, "environment": {} if arrival.is_immediate else {"labels": str(arrival)}}


def _places(data: object, folder: Path) -> list[str | Path]:
    """Return the references that were given as data; UsageError for other values.

    A table is written into `folder`.
    """
    data = _written(data, folder) if isinstance(data, pd.DataFrame) else data
    given = [data] if isinstance(data, (str, Path)) else data
    if isinstance(given, Sequence) and all(isinstance(each, (str, Path)) for each in given):
        return list(given)
    kind = type(data).__name__
    raise UsageError(f"data is a {kind}: give a DataFrame, or references and files")

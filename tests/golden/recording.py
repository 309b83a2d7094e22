"""What the golden record holds of a run, where it is, and the first difference from it.

A file for each algorithm, named after it, holds runs, and a run three arrays: the text of its
decisions, without numbers that are measured or computed; those numbers; and the predictions. No
algorithm, class or reason is named in them.
"""

import dataclasses
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leaseboard.algorithms import checks, registry
from leaseboard.algorithms.base import Environment, play
from leaseboard.algorithms.checks import WITH_CLASSES, Tiny, tiny_environment
from leaseboard.algorithms.errors import SkipError, UsageError
from leaseboard.algorithms.events import Event
from leaseboard.tasks.fetch.loading import load
from leaseboard.tasks.jobs.job import Job
from tests.environments import environment_of

FOLDER = Path(__file__).parent


class Data(NamedTuple):
    """Data of an environment, what they are if not examples, and its budget."""

    reference: str
    protocol: str = ""
    budget: float | None = None


LEARNED = {
    "regression": Data("synthetic:fried-drift?rows=10000&period=2500"),
    "two classes": Data("synthetic:separated?rows=10000&features=8"),
    "seven classes": Data("synthetic:separated?rows=10000&features=8&classes=7"),
}
GAUSSIANS = "synthetic:seven-gaussians?rows=1000&decimals=6"
DATA = {
    "stream": LEARNED,
    "holdout": LEARNED,
    "pulls": {
        "seven Gaussians": Data(GAUSSIANS, "table", 300),
        "rising arms": Data("synthetic:rising-arms?rows=100", "curves", 100),
    },
    "samples": {"near ties": Data("synthetic:near-ties", "verdicts")},
}
"""What the algorithms act on in addition to the tiny environments, by the kind of environment."""

OTHERS = ("reference.frameworks:", "reference.libraries:Refitted")
"""Where models of other libraries are in the registry: no decision of theirs is ours."""

MOST = 1000
"""Numbers that a run keeps, evenly spread, and rows of predictions."""
TOLERANCE = {"rtol": 1e-6, "atol": 1e-9}

NUMBER = "~"
"""In place of a computed number."""
COUNTS = {"at", "amount", "units", "budget"}
"""Numbers of events that are counts, in most environments."""
LEFT_OUT = {"algorithm", "settings", "loss", "reason", "metric", "direction", "metrics",
            "cpu_seconds", "wall_seconds"}  # fmt: skip
"""Of events: names and words, which may change, and costs, which differ from run to run."""


class Run(NamedTuple):
    """Recorded part of a run."""

    decisions: list[str]
    numbers: np.ndarray
    predictions: np.ndarray


def names() -> list[str]:
    """Return the names of all registered algorithms of our own."""
    targets = {each.name: each.target.partition("algorithms.")[2] for each in registry.ENTRIES}
    return [name for name, target in targets.items() if not target.startswith(OTHERS)]


def runs_of(name: str) -> dict[str, Run]:
    """Return the runs of an algorithm on all environments of the record that it can act on."""
    algorithm = registry.build(name)
    kind = algorithm.environment
    envs = {"tiny": tiny_environment(kind)}
    if kind in WITH_CLASSES:
        envs["tiny classes"] = tiny_environment(kind, Tiny(classes=3))
    found = {}
    with suppress(SkipError, UsageError):  # what needs a column of text, or arms to tune
        for which, data in DATA.get(kind, {}).items():
            envs[which] = _on(data, name)
        for which, env in envs.items():
            if not env.bars(algorithm):
                given = checks.recorded(env, "record", "submit")
                found[which] = recorded(list(play(name, algorithm, env, 1)), given)
    assert "tiny" in found, f"{name} did not run"
    return found


def _on(data: Data, name: str) -> Environment:
    kind = registry.algorithm_class(name).environment
    options = {"protocol": data.protocol} if data.protocol else {}
    job = Job(name, data.reference, 1, 0, environment=options, budget=data.budget)
    table = _table(data.reference)
    return environment_of(kind, table, job)


_table = cache(load)


def recorded(events: Iterable[Event], predictions: Iterable[Any]) -> Run:
    """Return what is recorded of events, and of predictions in blocks of rows."""
    decisions, numbers = [], []
    for event in events:
        of_event: list[float] = []
        fields = {
            field.name: _without_numbers(getattr(event, field.name), field.name, of_event)
            for field in dataclasses.fields(event)
            if field.name not in LEFT_OUT
        }
        decisions.append(json.dumps([type(event).__name__, fields]))
        numbers += of_event
    blocks = [np.asarray(block, dtype=np.float64) for block in predictions]
    blocks = [block.reshape(len(block), -1) for block in blocks]
    width = max((block.shape[1] for block in blocks), default=1)  # classes come one by one
    rows = [np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in blocks]
    return Run(
        decisions, _thinned(numbers), _thinned(np.concatenate([np.empty((0, width)), *rows]))
    )


def _thinned(values: Any) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    return values[:: _stride(len(values))].astype(np.float32)


def _stride(count: int) -> int:
    """Return which share of so many rows is kept: one in how many."""
    return max(1, -(-count // MOST))


def _without_numbers(value: Any, name: str, numbers: list[float]) -> Any:
    """Return a field's value with each computed number as ``~``, which is added to `numbers`."""
    if isinstance(value, Mapping):
        return {str(key): _without_numbers(each, "", numbers) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_without_numbers(each, "", numbers) for each in value]
    if isinstance(value, (float, np.floating)):
        if name in COUNTS and float(value).is_integer():
            return int(value)
        numbers.append(float(value))
        return NUMBER
    return value.item() if isinstance(value, np.generic) else value


def write(path: Path, runs: Mapping[str, Run]) -> None:
    """Write runs to a file; equal runs give equal bytes."""
    arrays = {}
    for which, run in runs.items():
        text = np.frombuffer("\n".join(run.decisions).encode(), dtype=np.uint8)
        for kind, values in zip(Run._fields, (text, *run[1:]), strict=True):
            arrays[f"{which}.{kind}"] = values
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.getvalue())


def read(path: Path) -> dict[str, Run]:
    """Return the runs of a file."""
    with np.load(path) as arrays:
        found = dict(arrays)
    return {
        which: Run(
            found[f"{which}.decisions"].tobytes().decode().split("\n"),
            *(found[f"{which}.{kind}"] for kind in Run._fields[1:]),
        )
        for which in dict.fromkeys(key.rpartition(".")[0] for key in found)
    }


def require_same(name: str, path: Path, now: Mapping[str, Run]) -> None:
    """Fail with the first difference of each run of `name` from those of the file."""
    found = [f"{name}, {each}" for each in _differences(read(path), now)]
    assert not found, "\n".join(found)


def _differences(record: Mapping[str, Run], now: Mapping[str, Run]) -> Iterator[str]:
    """Yield the first difference of each run, of its decisions before those of its numbers."""
    if list(record) != list(now):
        yield f"the runs {list(record)} are recorded, and now there are {list(now)}"
    for which in (each for each in record if each in now):
        one, other = record[which], now[which]
        pairs = zip([*one.decisions, "the end"], [*other.decisions, "the end"], strict=False)
        parted = next((i for i, (was, found) in enumerate(pairs) if was != found), None)
        if parted is not None:
            was, found = ([*run.decisions, "the end"][parted] for run in (one, other))
            yield f"{which}: event {parted} was {was} and is {found}"
            continue
        for kind in Run._fields[1:]:
            try:
                np.testing.assert_allclose(getattr(other, kind), getattr(one, kind), **TOLERANCE)
            except AssertionError as error:
                yield f"{which}: {kind}: {error}"

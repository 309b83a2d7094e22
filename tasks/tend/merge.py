"""Merge bundles of several machines into one run folder, in any order, as often as one likes.

Equal work has an equal key, so of two results with the same key one is kept: one that is ok before
one that is not, then the earliest. Results of other code, other data or other seeds have other
keys; all are kept, and the table names them apart.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine import disk
from leaseboard.tasks.score.compared import Compared, compared
from leaseboard.tasks.tend.bundle import Bundle

Entry = TypeVar("Entry")

SAME_SCORE = 1e-9
"""Relative difference up to which two machines' scores of one job agree: libraries may round."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge came to."""

    results: list[Result]
    """All that the folder holds now, as their jobs left them."""
    rows: list[Result]
    """The same as the board shows them: named apart where code, data or seeds differ."""
    suite: Suite | None
    found: Compared
    """What a board says of the rows."""
    added: int
    """Jobs whose result came from a bundle and was not in the folder."""
    conflicts: list[str]
    """One line for each job of which two machines have different scores."""


def merge(bundles: list[Bundle], out: Path) -> Merged:
    """Merge `bundles` and what `out` holds already into `out`, which this process has locked.

    Raises UsageError if they are of different suites, or two results cannot be told apart. Nothing
    is written.
    """
    results.put_back(out)
    here = {result.key: result for result in results.current(out)}
    suite = _one_suite(bundles, out)
    every: dict[str, list[tuple[Result, Bundle | None]]] = {}
    for key, result in here.items():
        every.setdefault(key, []).append((result, None))
    for bundle in bundles:
        for key, result in bundle.results.items():
            every.setdefault(key, []).append((result, bundle))
    chosen = {key: min(twins, key=lambda twin: _order(twin[0])) for key, twins in every.items()}
    kept = _without_superseded([result for result, _ in chosen.values()])
    rows = _told_apart(kept)
    suite = _fitting(suite, {row.label for row in rows})
    found = compared(rows, suite)  # what no board can show does not get onto one
    new = [
        (bundle, result.key)
        for result in kept
        if (bundle := chosen[result.key][1]) is not None and not _same(result, here)
    ]
    _take(new, out)
    results.discard_unfinished(out)
    for key in here.keys() - {result.key for result in kept}:
        shutil.rmtree(results.job_folder(out, key))
    results.assemble(out, rows)
    if suite is not None:
        results.write_atomically(
            out / results.SUITE_FILE, suite.model_dump_json(indent=1).encode()
        )
    clashes = (_conflict([twin for twin, _ in every[result.key]]) for result in kept)
    return Merged(kept, rows, suite, found, len(new), [line for line in clashes if line])


def _order(result: Result) -> tuple[object, ...]:
    """Smaller is better; the text decides last, so that no order of the bundles matters."""
    rank = {"ok": 0, "skipped": 2}.get(result.status, 1)
    text = json.dumps(results.plain(result), sort_keys=True)
    return rank, result.started, result.host, text


def _conflict(twins: list[Result]) -> str:
    """One line about ok results of one job whose scores differ; empty if they agree."""
    done = sorted((r for r in twins if r.score is not None), key=_order)
    for other in done[1:]:
        first = done[0]
        if not math.isclose(first.score or 0.0, other.score or 0.0, rel_tol=SAME_SCORE):
            return (
                f"{first.label} on {first.data}, repetition {first.repetition}: {first.metric}"
                f" {first.score!r} on {first.host or 'one machine'}, {other.score!r} on"
                f" {other.host or 'another'}; the first, which is older, is kept"
            )
    return ""


def _without_superseded(found: list[Result]) -> list[Result]:
    """Leave out jobs that had no data on one machine and a result on another."""
    had_data = {_place(result) for result in found if result.digest}
    kept = [r for r in found if not (r.status == "skipped" and not r.digest and
                                     _place(r) in had_data)]  # fmt: skip
    return sorted(kept, key=lambda r: (r.data, r.label, r.repetition, r.key))


def _place(result: Result) -> tuple[str, str, int]:
    """Where a result stands on a board."""
    return result.label, result.data, result.repetition


def _told_apart(found: list[Result]) -> list[Result]:
    """The results with labels, data and repetitions under which no two are the same.

    Other code is another label, other data of one name another data set, and other seeds are
    further repetitions.
    """
    rows = found
    for name_apart in (_by_data, _by_code, _by_seed):
        places = [_place(result) for result in rows]
        if len(set(places)) < len(places):
            rows = name_apart(rows)
    seen: dict[tuple[str, str, int], Result] = {}
    for row in rows:
        twin = seen.setdefault(_place(row), row)
        if twin is not row:
            raise UsageError(
                f"{row.label} on {row.data}, repetition {row.repetition}, has two results with"
                f" different settings (jobs {twin.key} and {row.key}): give each its own label"
            )
    return rows


def _by_data(rows: list[Result]) -> list[Result]:
    digests = _values(rows, lambda r: r.data, lambda r: r.digest)
    return [
        replace(row, data=f"{row.data} @{row.digest[:8]}") if len(digests[row.data]) > 1 else row
        for row in rows
    ]


def _by_code(rows: list[Result]) -> list[Result]:
    codes = _values(rows, lambda r: r.label, lambda r: r.version)
    return [
        replace(row, label=f"{row.label} @{row.version[:8] or 'unknown'}")
        if len(codes[row.label]) > 1
        else row
        for row in rows
    ]


def _by_seed(rows: list[Result]) -> list[Result]:
    """Number the repetitions of a data set anew, by the seed that its algorithms share."""
    seeds = _values(rows, lambda r: r.data, lambda r: (r.repetition, r.environment_seed))
    number = {
        (data, seed): i for data, found in seeds.items() for i, seed in enumerate(sorted(found))
    }
    return [
        replace(row, repetition=number[row.data, (row.repetition, row.environment_seed)])
        for row in rows
    ]


def _values(
    rows: list[Result], name: Callable[[Result], str], value: Callable[[Result], Any]
) -> dict[str, set[Any]]:
    """The values that the results of each name have."""
    found: dict[str, set[Any]] = {}
    for row in rows:
        found.setdefault(name(row), set()).add(value(row))
    return found


def _same(result: Result, here: dict[str, Result]) -> bool:
    """Whether the folder has this very result; by its text, because a NaN equals nothing."""
    there = here.get(result.key)
    return there is not None and _order(there) == _order(result)


def _take(jobs: list[tuple[Bundle, str]], out: Path) -> None:
    """Put jobs of bundles into the folder: all of them beside it first, then each at a stroke."""
    size = sum(bundle.size(key) for bundle, key in jobs)
    free = shutil.disk_usage(out).free
    if size > free:
        raise LeaseboardError(
            f"{str(out)!r} has {disk.shown(free)} free and the bundles hold {disk.shown(size)}:"
            " make room, or name another folder with --out"
        )
    scratch = Path(tempfile.mkdtemp(prefix=results.SCRATCH, dir=out))
    try:
        for bundle, chosen in itertools.groupby(jobs, key=operator.itemgetter(0)):
            bundle.extract((key for _, key in chosen), scratch)
        for _, key in jobs:
            results.put(out, scratch / key)
    finally:
        results.put_back(out)


def _one_suite(bundles: list[Bundle], out: Path) -> Suite | None:
    """The suite that all are of: each one's data and algorithms, in the order of their titles.

    Machines that share a suite's work may each have a part of it in their file.
    """
    found = [bundle.suite for bundle in bundles if bundle.suite is not None]
    if (out / results.SUITE_FILE).is_file():
        found.append(Suite.model_validate_json((out / results.SUITE_FILE).read_bytes()))
    names = sorted({bundle.manifest.suite for bundle in bundles} | {s.name for s in found})
    if len(names) > 1:
        raise UsageError(f"results of different suites ({', '.join(names)}): merge each by itself")
    found.sort(key=lambda suite: (-len(suite.data) - len(suite.algorithms), str(suite)))
    if not found:
        return None
    return found[0].model_copy(
        update={
            "data": _united((suite.data for suite in found), lambda entry: entry.data),
            "algorithms": _united((suite.algorithms for suite in found), lambda one: one.title),
        }
    )


def _fitting(suite: Suite | None, labels: set[str]) -> Suite | None:
    """The suite without a scale by algorithms that are told apart and so have other names now."""
    if suite is None:
        return None
    scale = suite.normalise
    return suite.model_copy(
        update={
            "normalise": scale if scale and {scale.zero, scale.one} <= labels else None,
            "relative_to": [title for title in suite.relative_to if title in labels],
        }
    )


def _united(lists: Iterable[list[Entry]], name: Callable[[Entry], str]) -> list[Entry]:
    """Every entry of the lists, of two with the same name the first."""
    found: dict[str, Entry] = {}
    for entry in itertools.chain.from_iterable(lists):
        found.setdefault(name(entry), entry)
    return list(found.values())

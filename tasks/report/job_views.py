"""Every job's row and facts, and the data sets with where they come from."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tasks.report.cells import Cell, Names, data_cell, named, number
from tasks.score.summary import short

_BETTER = {"min": "less", "max": "more"}


def jobs(
    frame: pd.DataFrame,
    commands: Mapping[tuple[str, str, int], str],
    damaged: Mapping[str, str],
    names: Names,
) -> list[dict[str, Any]]:
    """Every job: its row, and the facts of its own page."""
    return [_job(row, commands, damaged, names) for row in frame.itertuples()]


def data_sets(frame: pd.DataFrame, names: Names) -> list[dict[str, str]]:
    """Every data set with its digest, source and licence as the results record them."""
    found = []
    for data, rows in frame.groupby("data", sort=False):
        digests = sorted(set(rows["digest"]) - {""})
        found.append(
            {
                "name": named(str(data), names),
                "reference": str(data),
                "digest": ", ".join(digests) or "not read",
                "source": _first(rows, "source"),
                "licence": _first(rows, "licence"),
            }
        )
    return found


def _job(
    row: Any,
    commands: Mapping[tuple[str, str, int], str],
    damaged: Mapping[str, str],
    names: Names,
) -> dict[str, Any]:
    command = commands.get((row.label, row.data, row.repetition)) or shlex.join(
        ["leaseboard", "race", row.algorithm, row.data, "--seed", str(row.seed)]
    )
    ok = row.status == "ok"
    facts = [
        ("Data", row.data),
        ("Status", f"{row.status}: {row.reason}" if row.reason else row.status),
        (
            "Score",
            f"{short(row.score, 6)} {row.metric} ({_BETTER[row.direction]} is better)"
            if ok
            else "–",
        ),
        *((name, short(float(value), 6)) for name, value in row.metrics.items() if _real(value)),
        ("Champion", _mapping(row.champion)),
        ("Budget consumed", consumed(row) if row.unit else "–"),
        ("CPU seconds", short(row.cpu_seconds, 4)),
        ("Wall seconds", short(row.wall_seconds, 4)),
        ("Set-up seconds", short(row.setup_seconds, 4)),
        ("Seed", f"{row.seed} (environment {row.environment_seed})"),
        ("Settings", _mapping({k: v for k, v in row.settings.items() if v not in (None, "")})),
        ("Code version", row.version),
        ("Data digest", row.digest),
        ("Started", f"{row.started} on {row.host}" if row.started else ""),
        ("Key", row.key),
        ("Event log", f"jobs/{row.key}/events.jsonl.gz"),
        ("Trouble", damaged.get(row.key, "")),
    ]
    return {
        "key": row.key,
        "label": row.label,
        "data": data_cell(row.data, names),
        "repetition": row.repetition,
        "seed": row.seed,
        "status": row.status,
        "reason": row.reason,
        "score": number(row.score, 6),
        "cpu": number(row.cpu_seconds if ok else math.nan, 3),
        "units": number(row.units, 6)
        if ok and row.complete
        else Cell(consumed(row), row.units, "bad")
        if ok
        else number(math.nan, 6),
        "command": command,
        "page": {
            "title": f"{row.label} on {named(row.data, names)}, repetition {row.repetition}",
            "facts": [(name, text) for name, text in facts if text],
            "command": command,
        },
    }


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _mapping(value: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={item}" for key, item in value.items())[:600]


def _first(rows: pd.DataFrame, column: str) -> str:
    if column not in rows.columns:
        return ""
    return next((str(value) for value in rows[column] if value), "")


def consumed(row: Any) -> str:
    """The units that a job consumed, and of how many if it should have consumed all."""
    if row.complete or not math.isfinite(row.budget):
        return f"{short(row.units, 7)} {row.unit}"
    return f"{short(row.units, 7)} of {short(row.budget, 7)} {row.unit}: ended early"

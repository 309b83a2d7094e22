"""The first files of a live model, from its first data: FILE.yaml and the contract.

The contract has room for new rows of the same kind. Both files are yours from then on.
"""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml
from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError, invalid
from leaseboard.algorithms.tables.column_types import refuse_unsure
from leaseboard.algorithms.tables.values import LARGEST, ValueKind, text_of
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.folder.results import write_atomically
from leaseboard.tasks.live.contract_check import faults_of, median_size, standard_columns
from leaseboard.tasks.live.model import recipe_of
from leaseboard.tasks.live.rows import pending
from leaseboard.tasks.live.settings import (
    NUMBERS,
    UNDECIDED,
    BatchRules,
    ColumnRule,
    Contract,
    DataSettings,
    LiveSettings,
    check_uses,
)
from leaseboard.tasks.models.columns import kind_of

_TEMPLATE = """\
# A live model: `leaseboard live update {file}` updates it once. Yours: edit it.
name: {name}
data:
{data}model: {{algorithm: online-automl}}  # learns row by row; rising-bandits-cost searches again
retrain: {{every: 7d, when: drift}}  # when a challenger is made, whichever comes first
contract: {name}.contract.yaml
compare: {{alpha: 0.05}}
# alerts: ["http://127.0.0.1:9000/"]  # or "mailto://me:$PASSWORD@example.org"
"""
FIRST = 100_000
"""A contract is inferred from so many rows, in whole batches."""
MARGIN, GROWTH = 10, 300
"""Spreads by which a number may leave the range of the first rows, and by which one may whose size
never fell in them: a unit that is changed by 1,000 goes far beyond."""
SIZES = 30
"""Factor by which a batch's median size may differ: below the root of 1,000, so that a changed
unit is outside, whichever way."""
MISSING = 0.05
"""Share that may be missing where none was, in addition to twice that of the first rows."""
WHOLE = 3000
"""Rows of whole numbers that make a column integers: fractions are rarer than 1 in 1,000."""
WORDS = 30
"""Up to so many different words are categories; more are text."""


def write_settings(
    file: Path, source: str, target: str, time: str | None, identity: str | None
) -> None:
    """Write FILE.yaml for a folder's files; the live model is called like the file.

    Raises UsageError if a file exists already, or cannot be called so.
    """
    name = re.sub(r"[^a-z0-9_-]+", "-", file.stem.lower()).strip("-")
    if not re.match("[a-z]", name):
        raise UsageError(
            f"{str(file)!r}: a live model is called like its file: begin with a letter"
        )
    data = {"source": f"folder:{source}", "time": time, "id": identity, "target": target}
    text = yaml.safe_dump(
        {key: value for key, value in data.items() if value is not None},
        sort_keys=False, allow_unicode=True,
    )  # fmt: skip
    lines = "".join(f"  {line}\n" for line in text.splitlines())
    _write_new(file, _TEMPLATE.format(file=file.name, name=name, data=lines))


def write_contract(settings: LiveSettings, now: datetime) -> Contract:
    """Write the contract from the first batches of its source.

    Raises UsageError if no batch is there, one is broken, a column of FILE.yaml is missing,
    the contract exists already, or the algorithm cannot predict such a target.
    """
    frames = _first(settings.data)
    frame = pd.concat(frames, ignore_index=True)
    data = settings.data
    sizes = [len(each) for each in frames]
    contract = infer(frame, data, sizes if len(sizes) > 1 else (), now)
    check_uses(contract, data)
    _write_new(settings.contract, contract.to_yaml())
    recipe_of(settings, contract)  # after it: to make the target a category may be the fix
    return contract


def first_frame(source: str) -> pd.DataFrame:
    """Return the first file of a folder."""
    try:
        data = DataSettings(source=f"folder:{source}", target="*")
    except ValidationError as error:
        raise invalid("files", error.errors()) from error
    return _first(data, rows=1)[0]


def _first(data: DataSettings, rows: int = FIRST) -> list[pd.DataFrame]:
    """Return the first batches, until they have so many rows."""
    frames: list[pd.DataFrame] = []
    for batch in pending(data, lambda _: False):
        if batch.frame is None:
            raise UsageError(batch.fault)
        frames.append(batch.frame)
        if sum(map(len, frames)) >= rows:
            break
    if not sum(map(len, frames)):
        raise UsageError(
            f"{data.source}: no rows, and a contract is inferred from the first ones: name files"
            " that have some"
        )
    return frames


def guess_columns(frame: pd.DataFrame, target: str) -> tuple[str | None, str | None]:
    """Return the columns of time and identity, where just one can be.

    Examples
    --------
    >>> frame = pd.DataFrame({"day": ["2026-01-01", "2026-01-02"], "id": [7, 8], "y": [0.5, 1.0]})
    >>> guess_columns(frame, "y")
    ('day', 'id')
    """
    others = [str(name) for name in frame if name != target]
    dates = [name for name in others if kind_of(frame[name]) == "date"]
    named = [name for name in others if re.fullmatch(r"(?i)(.*_)?(id|key|uuid|number)", name)]
    ids = [name for name in named if frame[name].is_unique and frame[name].notna().all()]
    return (dates[0] if len(dates) == 1 else None, ids[0] if len(ids) == 1 else None)


def _write_new(path: Path, text: str) -> None:
    if path.exists():
        raise UsageError(f"{str(path)!r} exists, and is yours: remove it to have it written again")
    try:
        write_atomically(path, text)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}") from error


def infer(
    frame: pd.DataFrame, data: DataSettings, sizes: Sequence[int] = (), now: datetime | None = None
) -> Contract:
    """Infer the contract of rows that are like those of `frame`.

    - `data`: names the columns. Times and ids are never missing and grow without end; a target may
      be missing, and a batch may come without.
    - `sizes`: the numbers of rows of the first batches, if these are several.
    - `now`: the times are to be as fresh as twice what they are at this moment, or as twice the
      largest gap between them.
    """
    rules, frame = {}, standard_columns(frame)
    for name in map(str, frame):
        if name != data.id:
            columns.refuse_unclear(frame[name])
        rule = _rule(frame[name], grows=name in (data.time, data.id))
        if rule.kind == "date" and faults_of(frame[name].dropna(), rule):
            refuse_unsure(name, frame[name].dropna().unique())  # rows come one by one
        if name == data.id and rule.kind in (*NUMBERS, UNDECIDED):
            rule = ColumnRule(kind="text")
        if name == data.target:
            rule = rule.model_copy(update={"missing": 1.0, "required": False})
        rules[name] = rule
    least, most = (min(sizes) // 3, 3 * max(sizes)) if sizes else (0, None)
    fresh = None
    if data.time in rules and now is not None and rules[data.time].kind == "date":
        fresh = _fresh(columns.as_dates(frame[data.time].dropna()), now)
    rows = BatchRules(fresh=fresh, least=least, most=most)
    return Contract(columns=rules, rows=rows)


def _rule(column: pd.Series, *, grows: bool) -> ColumnRule:
    kind = _kind(column)
    if grows:
        return ColumnRule(kind=kind)
    missing = min(1.0, _up(2 * float(column.isna().mean()) + MISSING))
    if kind in NUMBERS:
        return ColumnRule(kind=kind, missing=missing, **_scale(column))
    words = sorted(set(map(text_of, column.dropna()))) if kind == "category" else []
    return ColumnRule(kind=kind, categories=words, missing=missing)


def _fresh(times: pd.Series, now: datetime) -> timedelta:
    """Return whole days; one at least, as the delay of a file after its rows is not known yet."""
    known = times.sort_values()
    gap = known.diff().max() if len(known) > 1 else timedelta()
    age = 2 * max(now.astimezone(UTC).replace(tzinfo=None) - known.iloc[-1], gap)
    return max(1, math.ceil(age / timedelta(days=1))) * timedelta(days=1)


def _kind(column: pd.Series) -> ValueKind | Literal["undecided"]:
    kind = kind_of(column)
    if not kind:
        return UNDECIDED
    if kind == "date":
        return "date"
    if kind == "number":
        if pd.api.types.infer_dtype(column, skipna=True) == "boolean":
            return "flag"
        whole = pd.api.types.is_integer_dtype(column.dtype) and len(column) >= WHOLE
        return "integer" if whole else "number"
    few = column.nunique() <= WORDS and not columns.is_text(columns.tidy(column))
    return "category" if few else "text"


def _scale(column: pd.Series) -> dict[str, Any]:
    """Return the range of a number and of its median size; nothing if only one value was seen."""
    numbers = column.to_numpy(np.float64, na_value=np.nan)
    numbers = numbers[np.abs(numbers) <= LARGEST]
    if len(np.unique(numbers)) < 2:
        return {}
    low, high = float(numbers.min()), float(numbers.max())
    sizes = np.abs(numbers)
    grows = bool((np.diff(sizes) >= 0).all())
    margin = GROWTH * (high - low) if grows else max(MARGIN * (high - low), sizes.max())
    found: dict[str, Any] = {"low": _down(low - margin), "high": _up(high + margin)}
    middle = median_size(numbers.tolist())
    if middle is not None:
        most = GROWTH * sizes.max() if grows else SIZES * middle
        found["size"] = [_down(middle / SIZES), _up(most)]
    return found


def _down(number: float) -> float:
    return -_up(-number)


def _up(number: float) -> float:
    """Return a number rounded up to two significant digits."""
    if number == 0:
        return 0.0
    places = 1 - math.floor(math.log10(abs(number)))
    return round(math.ceil(round(number * 10.0**places, 6)) / 10.0**places, max(places, 0))

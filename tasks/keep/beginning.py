"""The first files of a keep, from its first data: FILE.yaml and the contract, then people's."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import yaml

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.keep.contract import Contract, check_uses
from leaseboard.tasks.keep.infer import infer
from leaseboard.tasks.keep.opening import recipe_of
from leaseboard.tasks.keep.settings import DataSettings, Keep
from leaseboard.tasks.keep.sources import pending
from leaseboard.tasks.models.columns import kind_of
from leaseboard.tasks.store.live_model import State

_TEMPLATE = """\
# A model that lives: `leaseboard keep {file}` takes one turn. Yours: edit it.
name: {name}
data:
{data}model: {{algorithm: chacha}}  # learns on, row by row; rising-bandits-cost searches anew
retrain: {{every: 7d, when: drift}}  # when a challenger is made, whichever comes first
contract: {name}.contract.yaml
compare: {{shadow: true, alpha: 0.05}}
# alerts: {{webhook: "http://127.0.0.1:9000/"}}  # or {{to: ["mailto://me:$PASSWORD@example.org"]}}
"""
FIRST = 100_000
"""A contract is made of the first rows, as many as whole batches have that reach so far."""


def write_keep(
    file: Path, source: str, target: str, time: str | None, identity: str | None
) -> None:
    """Write FILE.yaml for a folder's files; it is called like the file.

    Raises UsageError if a file is there already, or cannot be called so.
    """
    name = re.sub(r"[^a-z0-9_-]+", "-", file.stem.lower()).strip("-")
    if not re.match("[a-z]", name):
        raise UsageError(f"{str(file)!r}: a keep is called like its file: begin with a letter")
    data = {"source": f"folder:{source}", "time": time, "id": identity, "target": target}
    text = yaml.safe_dump(
        {key: value for key, value in data.items() if value is not None},
        sort_keys=False, allow_unicode=True,
    )  # fmt: skip
    lines = "".join(f"  {line}\n" for line in text.splitlines())
    _write_new(file, _TEMPLATE.format(file=file.name, name=name, data=lines))


def write_contract(keep: Keep, now: datetime) -> Contract:
    """Write the contract from the first batches of its source.

    Raises UsageError if there are none, one is broken, a column that FILE.yaml names is not there,
    the contract is there already, or the model cannot forecast such a target.
    """
    frames = _first(keep.data)
    frame = pd.concat(frames, ignore_index=True)
    for use in ("time", "id", "target"):
        column = getattr(keep.data, use)
        if column is not None and column not in frame:
            raise UsageError(f"{use}: {unknown('column', column, list(frame))}")
    data = keep.data
    sizes = [len(each) for each in frames]
    contract = infer(
        frame, time=data.time, id=data.id, target=data.target, now=now,
        batches=sizes if len(sizes) > 1 else (),
    )  # fmt: skip
    check_uses(contract, data)
    _write_new(keep.contract, contract.to_yaml(frame))
    recipe_of(keep, contract)  # after it: to make the target a category may be what mends it
    return contract


def first_frame(source: str) -> pd.DataFrame:
    """The first file of a folder's."""
    return _first(DataSettings(source=f"folder:{source}", target="*"), rows=1)[0]


def _first(data: DataSettings, rows: int = FIRST) -> list[pd.DataFrame]:
    """The first batches, until they have so many rows."""
    frames: list[pd.DataFrame] = []
    with TemporaryDirectory() as folder:  # a state that has taken in nothing
        for batch in pending(data, State(Path(folder) / "state.sqlite", "init")):
            if batch.frame is None:
                raise UsageError(batch.fault)
            frames.append(batch.frame)
            if sum(map(len, frames)) >= rows:
                break
    if not sum(map(len, frames)):
        raise UsageError(f"{data.source}: no rows: a contract is made of the first of them")
    return frames


def guessed(frame: pd.DataFrame, target: str) -> tuple[str | None, str | None]:
    """The columns that tell when a row happened and which it is, where just one can be.

    Examples
    --------
    >>> frame = pd.DataFrame({"day": ["2026-01-01", "2026-01-02"], "id": [7, 8], "y": [0.5, 1.0]})
    >>> guessed(frame, "y")
    ('day', 'id')
    """
    others = [str(name) for name in frame if name != target]
    dates = [name for name in others if kind_of(frame[name]) == "date"]
    named = [name for name in others if re.fullmatch(r"(?i)(.*_)?(id|key|uuid|number)", name)]
    ids = [name for name in named if frame[name].is_unique and frame[name].notna().all()]
    return (
        dates[0] if len(dates) == 1 else None,
        ids[0] if len(ids) == 1 else None,
    )


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            f"{str(path)!r} is there, and yours: remove it to have it written anew"
        ) from None
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}") from error

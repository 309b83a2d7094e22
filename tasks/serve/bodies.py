"""Rows of a request, and what is sent back for each."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from leaseboard.algorithms.errors import rule, short
from leaseboard.tasks.models.model import Prediction
from leaseboard.tasks.serve.admission import RefusedError

MOST_ROWS = 1000
"""Of a request."""

Row = Mapping[str, Any]


class Body(BaseModel):
    """Body of a request, or a part of it, with no other keys."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


def parsed(shape: TypeAdapter[Any], body: bytes, example: str) -> Any:
    """Return a body as `shape` reads it; raise RefusedError, in one line, if it cannot be."""
    try:
        return shape.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = short(".".join(map(str, first["loc"])), 100)
        said = f"{where}{rule(first)}" if where else rule(first).removeprefix(": ").strip()
        raise unfit(f"{short(said)}: send {example}") from None


def unfit(said: str) -> RefusedError:
    """Return the refusal of a body that has not the form of its protocol."""
    return RefusedError(400, "shape", said)


def rows_in_order(rows: Sequence[Any], names: Sequence[str]) -> list[Row]:
    """Return rows of which each has the values of the columns `names`, in their order."""
    if len(set(names)) < len(names):
        ((twice, _),) = Counter(names).most_common(1)
        raise unfit(f"column {short(repr(twice), 60)} is there twice: send it once")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list) or len(row) != len(names):
            has = f"{len(row)} values" if isinstance(row, list) else "no list of values"
            shown = short(", ".join(names))
            raise unfit(f"row {number} has {has}: send {len(names)} in each row, of {shown}")
    return [dict(zip(names, row, strict=True)) for row in rows]


def rows_of_columns(columns: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Return the rows of columns, which must have as many values each."""
    sizes = {name: len(values) for name, values in columns.items()}
    (first, size), *others = sizes.items()
    for name, count in others:
        if count != size:
            said = f"column {short(repr(name), 60)} has {count} values, and {first!r} {size}"
            raise unfit(f"{short(said)}: send one for each row")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def plain(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as JSON has it; an end that is not known yet is null."""
    if isinstance(prediction, Mapping):
        likeliest = max(prediction, key=prediction.__getitem__)
        return {"prediction": likeliest, "probabilities": prediction}
    ends = prediction if isinstance(prediction, list) else [prediction]
    finite = (each if math.isfinite(each) else None for each in ends)
    return dict(zip(("prediction", "low", "high"), finite, strict=False))

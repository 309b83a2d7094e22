"""MLflow's scoring protocol: the bodies of ``/invocations``, and the answers."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import HTTPException
from pydantic import BaseModel, ConfigDict, ValidationError

from leaseboard.algorithms.errors import rule, short
from leaseboard.tasks.fetch.files import GAPS, NUMBERS_GAPS
from leaseboard.tasks.live.contract import NUMBERS, ColumnRule
from leaseboard.tasks.models.model import Prediction

JSON, CSV = "application/json", "text/csv"
MOST_ROWS = 1000
"""Of a request."""
EXAMPLE = '{"dataframe_records": [{...}]}'
_WRITTEN = (*NUMBERS, "flag", "date")
"""Kinds of columns in which a csv has more signs of a gap."""

Row = Mapping[str, Any]


def refusal(status: int, message: str, **more: object) -> HTTPException:
    """Return the refusal of a request, in one line: what, the rule, how to fix it."""
    return HTTPException(status, {"error": " ".join(message.split()), **more})


class Body(BaseModel):
    """Body of a request, or a part of it, with no other keys."""

    model_config = ConfigDict(extra="forbid")


class SplitTable(Body):
    """Table as ``pandas.DataFrame.to_dict(orient="split")`` returns it."""

    columns: list[str] | None = None
    index: Any = None
    data: list[list[Any]]


class Params(BaseModel):
    """Parameters of a request: what is sent back in addition to predictions.

    - `level`: that of the intervals.
    - `probabilities`: those of the classes.

    Others are ignored, as MLflow does with those that a model's signature does not have.
    """

    level: float | None = None
    probabilities: bool = False


class Invocation(Body):
    """Body of ``/invocations``: one of four forms of rows.

    - `inputs`: rows, columns by name, or one row.
    """

    dataframe_split: SplitTable | None = None
    dataframe_records: list[dict[str, Any]] | None = None
    instances: list[Any] | None = None
    inputs: dict[str, Any] | list[Any] | None = None
    params: Params = Params()

    def rows(self, names: Sequence[str]) -> Sequence[Row]:
        """Return the rows; those of unnamed values have the columns `names`, in their order."""
        values: Any = self.dataframe_records or self.instances or self.inputs
        if len(self.model_fields_set - {"params"}) != 1:
            raise refusal(400, f"send one form of rows, such as {EXAMPLE}")
        if self.dataframe_split is not None:
            names = self.dataframe_split.columns or names
            values = self.dataframe_split.data
        if isinstance(values, dict):
            if not any(isinstance(each, list) for each in values.values()):
                return [values]
            names, values = list(values), _transposed(values)
        if len(names) == 1 and not any(isinstance(each, list | dict) for each in values or ()):
            values = [[each] for each in values or ()]  # a column
        return [each if isinstance(each, dict) else _named(names, each) for each in values or ()]


DOCUMENTED = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": Invocation.model_json_schema()},
            CSV: {"schema": {"type": "string"}},
        },
    }
}
"""What OpenAPI says of a body."""


def read(
    kind: str, body: bytes, columns: Mapping[str, ColumnRule]
) -> tuple[Sequence[Row], Params]:
    """Return the rows of a body of content type `kind`, and its parameters.

    - `columns`: those of the contract without the target; their order is that of unnamed values.
    """
    if kind == CSV:
        return _csv_rows(body, columns), Params()
    try:
        sent = Invocation.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = short(".".join(map(str, first["loc"])), 100)
        said = short(f"{where}{rule(first)}".removeprefix(": "))
        raise refusal(400, f"{said}: send {EXAMPLE}") from None
    return sent.rows(list(columns)), sent.params


def answer(
    params: Params, predictions: Sequence[Prediction], ids: Sequence[str], level: float | None
) -> dict[str, Any]:
    """Return predictions as MLflow does, with their ids.

    With `params` each is a mapping with the ends of its interval, or the probabilities.
    """
    wanted = ["prediction", *["low", "high"] * (params.level is not None)]
    wanted += ["probabilities"] * params.probabilities
    shown = [_plain(each) for each in predictions]
    if len(wanted) == 1:
        found: list[Any] = [each["prediction"] for each in shown]
    else:
        found = [{name: each[name] for name in wanted if name in each} for each in shown]
    return {"predictions": found, "ids": ids, "level": level}


def _plain(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as JSON has it; an end that is not known yet is null."""
    if isinstance(prediction, Mapping):
        likeliest = max(prediction, key=prediction.__getitem__)
        return {"prediction": likeliest, "probabilities": prediction}
    ends = prediction if isinstance(prediction, list) else [prediction]
    finite = (each if math.isfinite(each) else None for each in ends)
    return dict(zip(("prediction", "low", "high"), finite, strict=False))


def _transposed(columns: Mapping[str, Any]) -> list[list[Any]]:
    try:
        return [list(row) for row in zip(*columns.values(), strict=True)]
    except (TypeError, ValueError):
        said = "columns are lists of as many values each: send one for each row"
        raise refusal(400, said) from None


def _named(names: Sequence[str], values: Any) -> Row:
    row = dict(zip(names, values, strict=False)) if isinstance(values, list) else {}
    if not len(row) == len(names) == len(values if row else ()):
        said = f"a row has not one value for each of {short(', '.join(names))}: send them all once"
        raise refusal(400, said)
    return row


def _csv_rows(body: bytes, columns: Mapping[str, ColumnRule]) -> list[Row]:
    """Return the rows of a csv with a header line; its gaps are those of a file."""
    try:
        text = io.StringIO(body.decode("utf-8-sig"), newline="")
        names, *lines = [line for line in csv.reader(text, strict=True) if line]
    except (ValueError, csv.Error) as error:
        said = "the body is not a csv in UTF-8 with a header line"
        raise refusal(400, f"{said} ({short(str(error))}): fix it") from error
    more = [name for name in names if name in columns and columns[name].kind in _WRITTEN]
    gaps = {name: NUMBERS_GAPS if name in more else GAPS for name in names}
    rows = [_named(names, line) for line in lines]
    return [{n: None if v in gaps[n] else v for n, v in row.items()} for row in rows]

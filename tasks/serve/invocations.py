"""MLflow's scoring protocol: the bodies of ``/invocations``, and the answers."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter

from leaseboard.algorithms.errors import short
from leaseboard.tasks.fetch.files import GAPS, NUMBERS_GAPS
from leaseboard.tasks.live.contract import NUMBERS, ColumnRule
from leaseboard.tasks.serve.bodies import (
    Body,
    Row,
    parsed,
    plain,
    rows_in_order,
    rows_of_columns,
    unfit,
)
from leaseboard.tasks.serve.service import Predicted

JSON, CSV = "application/json", "text/csv"
EXAMPLE = '{"dataframe_records": [{...}]}'
_WRITTEN = (*NUMBERS, "flag", "date")
"""Kinds of columns in which a csv has more signs of a gap."""


class SplitTable(Body):
    """Table as ``pandas.DataFrame.to_dict(orient="split")`` returns it."""

    columns: list[str] | None = None
    index: Any = None
    data: list[Any]


class Params(BaseModel):
    """Parameters of a request: what is sent back in addition to predictions.

    - `level`: that of the intervals.
    - `probabilities`: those of the classes.

    Others are ignored, as MLflow does with those that a model's signature does not have.
    """

    level: float | None = None
    probabilities: bool = False


class Invocation(Body):
    """Body of ``/invocations``: one of four forms."""

    dataframe_split: SplitTable | None = None
    dataframe_records: list[dict[str, Any]] | None = None
    instances: list[Any] | None = None
    inputs: Any = None
    params: Params = Params()


_BODY: TypeAdapter[Invocation] = TypeAdapter(Invocation)


def read(
    body: bytes, kind: str, columns: Mapping[str, ColumnRule]
) -> tuple[Sequence[Row], Params]:
    """Return the rows of a body of content type `kind`, and its parameters.

    - `columns`: those of the contract without the target; their order is that of unnamed values.
    """
    if kind == CSV:
        return _csv_rows(body, columns), Params()
    sent, names = parsed(_BODY, body, EXAMPLE), list(columns)
    forms = sent.model_fields_set - {"params"}
    if len(forms) != 1:
        known = "dataframe_split, dataframe_records, instances and inputs"
        raise unfit(f"{len(forms)} forms of rows: send one of {known}, such as {EXAMPLE}")
    if (split := sent.dataframe_split) is not None:
        given = names if split.columns is None else split.columns
        return rows_in_order(split.data, given), sent.params
    if sent.dataframe_records is not None:
        return sent.dataframe_records, sent.params
    values = sent.inputs if sent.instances is None else sent.instances
    if isinstance(values, dict) and values:
        is_row = not any(isinstance(each, list) for each in values.values())
        return [values] if is_row else rows_of_columns(_lists(values)), sent.params
    if not isinstance(values, list):
        raise unfit(f"{min(forms)} is neither rows nor columns: send {EXAMPLE}")
    if all(isinstance(each, dict) for each in values):
        return values, sent.params
    if len(names) == 1 and not any(isinstance(each, list) for each in values):
        values = [[each] for each in values]  # a column
    return rows_in_order(values, names), sent.params


def answer(params: Params, found: Predicted) -> dict[str, Any]:
    """Return predictions as MLflow does, with their ids, and the snapshot that made them.

    With `params` each is a mapping with the ends of its interval, or the probabilities.
    """
    shown = [plain(each) for each in found.predictions]
    more = {"low", "high"} if params.level is not None else set()
    more |= {"probabilities"} if params.probabilities else set()
    if more:
        predictions = [{k: v for k, v in each.items() if k in {"prediction", *more}}
                       for each in shown]  # fmt: skip
    else:
        predictions = [each["prediction"] for each in shown]
    return {"predictions": predictions, "ids": found.ids, "level": found.level,
            "snapshot": found.champion.describe()}  # fmt: skip


def _lists(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    for name, values in columns.items():
        if not isinstance(values, list):
            raise unfit(f"column {short(repr(name), 60)} is not a list: send one for each column")
    return dict(columns)


def _csv_rows(body: bytes, columns: Mapping[str, ColumnRule]) -> list[Row]:
    """Return the rows of a csv with a header line; the values mean what they do in a file."""
    try:
        text = io.StringIO(body.decode("utf-8-sig"), newline="")
        lines = [line for line in csv.reader(text, strict=True) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise unfit(f"the body is not a csv in UTF-8 ({short(str(error))}): fix it") from error
    if not lines:
        raise unfit("the csv is empty: send a header line and rows")
    kinds = {name: rule.kind for name, rule in columns.items()}
    return [
        {name: _value(value, kinds.get(name, "text")) for name, value in row.items()}
        for row in rows_in_order(lines[1:], lines[0])
    ]


def _value(text: str, kind: str) -> Any:
    if text in (NUMBERS_GAPS if kind in _WRITTEN else GAPS):
        return None
    if kind in (*NUMBERS, "flag"):
        for read_number in (int, float) if text.isascii() and "_" not in text else ():
            try:
                return read_number(text)
            except ValueError:
                pass  # the contract says what is wrong with it
    return text

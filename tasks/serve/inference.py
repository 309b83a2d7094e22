"""The Open Inference Protocol, version 2: tensors of a request, and those of the answer."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, NonNegativeInt, TypeAdapter

from leaseboard.algorithms.errors import short
from leaseboard.tasks.live.contract import UNDECIDED, ColumnRule
from leaseboard.tasks.serve.bodies import (
    MOST_ROWS,
    Body,
    Row,
    parsed,
    plain,
    rows_in_order,
    rows_of_columns,
    unfit,
)
from leaseboard.tasks.serve.champion import Champion
from leaseboard.tasks.serve.service import Predicted

EXAMPLE = '{"inputs": [{"name": ..., "shape": [1], "datatype": "FP64", "data": [1.5]}]}'
DATATYPES = {"number": "FP64", "integer": "INT64", "flag": "BOOL"}
"""Of a tensor, by the kind of its column; of all others ``BYTES``, which are texts."""
_BITS = (8, 16, 32, 64)
_INTEGERS = {f"INT{bits}": range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in _BITS}
_INTEGERS |= {f"UINT{bits}": range(2**bits) for bits in _BITS}
_LARGEST = {f"FP{bits}": float(np.finfo(f"float{bits}").max) for bits in (16, 32, 64)}
Datatype = Literal[
    "BOOL", "BYTES", "FP16", "FP32", "FP64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16",
    "UINT32", "UINT64",
]  # fmt: skip


class Tensor(Body):
    """Column of a request, or all of its columns in the order of the contract."""

    name: str
    shape: Annotated[list[NonNegativeInt], Field(min_length=1, max_length=2)]
    datatype: Datatype
    parameters: dict[str, Any] = Field(default_factory=dict)
    data: list[Any]


class RequestedOutput(Body):
    """Tensor that a caller asks for."""

    name: str
    parameters: dict[str, Any] = Field(default_factory=dict)


class Parameters(BaseModel):
    """Parameters of a request.

    - `level`: of the intervals.
    - `binary_data_output`: asked for by Triton's clients; they read JSON, too.

    Others are for other servers, and ignored as the protocol says.
    """

    level: float | None = None
    binary_data_output: bool = False


class Inference(Body):
    """Body of ``/v2/models/NAME/infer``; KServe's clients name the model here, too."""

    id: str | None = None
    model_name: str | None = None
    parameters: Parameters = Parameters()
    inputs: Annotated[list[Tensor], Field(min_length=1)]
    outputs: list[RequestedOutput] = Field(default_factory=list)


_BODY: TypeAdapter[Inference] = TypeAdapter(Inference)


def metadata(champion: Champion, columns: Mapping[str, ColumnRule]) -> dict[str, Any]:
    """Return the name, the version and the tensors of a model."""
    inputs = [
        {"name": name, "datatype": DATATYPES.get(rule.kind, "BYTES"), "shape": [-1]}
        for name, rule in columns.items()
    ]
    return {
        "name": champion.name, "versions": [champion.version], "platform": "leaseboard",
        "inputs": inputs, "outputs": _outputs(champion, -1),
    }  # fmt: skip


def _outputs(champion: Champion, rows: int) -> list[dict[str, Any]]:
    """Return the tensors of an answer without their data."""
    classes = champion.snapshot.classes
    found = [("prediction", "BYTES" if classes else "FP64", [rows])]
    if classes:
        found += [("probabilities", "FP64", [rows, len(classes)])]
        found += [("classes", "BYTES", [len(classes)])]
    elif champion.snapshot.levels:
        found += [("interval", "FP64", [rows, 2])]
    return [dict(zip(("name", "datatype", "shape"), each, strict=True)) for each in found]


def read(body: bytes, columns: Mapping[str, ColumnRule]) -> tuple[Sequence[Row], Inference]:
    """Return the rows of a body, and what it says otherwise.

    - `columns`: those of the contract without the target.
    """
    sent = parsed(_BODY, body, EXAMPLE)
    first, values = sent.inputs[0], [_values(each) for each in sent.inputs]
    if len(sent.inputs) == 1 and len(first.shape) == 2 and first.name not in columns:
        (_, width), (data,) = first.shape, values
        names = list(columns)
        number = next((n for n in names if DATATYPES.get(columns[n].kind)), None)
        if first.datatype == "BYTES" and number is not None:
            shown = short(repr(first.name), 60)
            raise unfit(f"input {shown} has texts for {number!r}: send an input for each column")
        rows = [data[at : at + width] for at in range(0, len(data), width or 1)]
        return rows_in_order(rows, names), sent
    found: dict[str, list[Any]] = {}
    for each, data in zip(sent.inputs, values, strict=True):
        shown = short(repr(each.name), 60)
        if each.name not in columns:
            raise unfit(f"input {shown} is not a column: send {short(', '.join(columns))}")
        if each.name in found:
            raise unfit(f"input {shown} is there twice: send it once")
        if each.shape[1:] not in ([], [1]):
            raise unfit(
                f"input {shown} has shape {short(str(each.shape), 60)}: send one dimension"
            )
        kind = columns[each.name].kind
        wanted = DATATYPES.get(kind, "BYTES")
        if kind != UNDECIDED and _family(each.datatype) != _family(wanted):
            raise unfit(f"input {shown} has datatype {each.datatype}: send {wanted}")
        found[each.name] = data
    return rows_of_columns(found), sent


def check_outputs(sent: Inference, champion: Champion) -> None:
    """Raise RefusedError for an output that the champion does not have."""
    known = [each["name"] for each in _outputs(champion, -1)]
    for each in sent.outputs:
        if each.name not in known:
            shown = short(repr(each.name), 60)
            raise unfit(f"output {shown} is unknown: ask for {', '.join(known)}")


def answer(sent: Inference, found: Predicted) -> dict[str, Any]:
    """Return the tensors of predictions that a request asks for; all by default."""
    rows, champion = [plain(each) for each in found.predictions], found.champion
    classes = champion.snapshot.classes
    data = {
        "prediction": [each["prediction"] for each in rows],
        "interval": [each.get(end) for each in rows for end in ("low", "high")],
        "probabilities": [each["probabilities"][name] for each in rows for name in classes],
        "classes": list(classes),
    }
    asked = {each.name for each in sent.outputs}
    outputs = [
        {**each, "data": data[each["name"]]}
        for each in _outputs(champion, len(rows))
        if not asked or each["name"] in asked
    ]
    head = {"model_name": champion.name, "model_version": champion.version}
    return head | ({} if sent.id is None else {"id": sent.id}) | {"outputs": outputs}


def _values(tensor: Tensor) -> list[Any]:
    """Return the values of a tensor, one after the other; raise RefusedError if some are odd."""
    shown, data = f"input {short(repr(tensor.name), 60)}", tensor.data
    if tensor.shape[0] > MOST_ROWS:
        raise unfit(f"{shown} has more than {MOST_ROWS:,} rows: send fewer in a request")
    if len(tensor.shape) == 2 and data and isinstance(data[0], list):
        if not all(isinstance(row, list) and len(row) == tensor.shape[1] for row in data):
            raise unfit(f"{shown} has rows of other lengths than its shape: fix them")
        data = [value for row in data for value in row]
    if len(data) != math.prod(tensor.shape):
        said = f"{shown} has shape {short(str(tensor.shape), 60)} and {len(data)} values"
        raise unfit(f"{said}: fix one of them")
    odd = next((each for each in data if not _is_of(tensor.datatype, each)), None)
    if odd is not None:
        raise unfit(f"{shown} has {short(repr(odd), 60)}, which is not {tensor.datatype}: fix it")
    return data


def _is_of(datatype: str, value: Any) -> bool:
    """Return whether a value is of a datatype; a missing one is null in each."""
    if value is None or datatype == "BOOL":
        return value is None or isinstance(value, bool)
    if datatype == "BYTES":
        return isinstance(value, str)
    if datatype in _INTEGERS:
        return type(value) is int and value in _INTEGERS[datatype]
    return type(value) in (int, float) and abs(value) <= _LARGEST[datatype]


def _family(datatype: str) -> str:
    return datatype if datatype in ("BOOL", "BYTES") else "number"

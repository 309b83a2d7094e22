"""``leaseboard learn`` and ``predict``: a stream model in a file goes on from table to table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.options import TrackingUri, parse_settings, show_table
from leaseboard.flows.console import say
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import prepare_environment

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.pyfunc import PyFuncModel

    from leaseboard.tasks.models.continued import Continued, LearnedTable
    from leaseboard.tasks.models.saved import SavedModel

SHOWN = 5
"""So many of the last forecasts are printed."""

NAMED = 10
"""So many columns of a kind are named."""

Table = Annotated[Path, typer.Argument(help="A table: csv, parquet, arff or libsvm.")]
OutTable = Annotated[
    Path | None, typer.Option("--out", help="Where the forecasts go: .csv or .parquet.")
]


def learn(
    model: Annotated[Path, typer.Argument(help="The model's file; a new one is made if absent.")],
    file: Table,
    target: Annotated[
        str | None, typer.Option(help="The column to learn, of a new model (default: last).")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="regression or classification, of a new model.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="The race, of a new model (default: chacha).")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of a new model's algorithm, KEY=VALUE; repeatable."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**31 - 1, help="Of a new model (default: 0).")
    ] = None,
    out: OutTable = None,
    as_json: Annotated[bool, typer.Option("--json", help="End with one JSON object.")] = False,
) -> int:
    """Learn a table row by row, where the model stopped, and say how its forecasts did.

    Each row is forecast before its label is learned. The file of the model is replaced when all
    is learned, so whatever stops this leaves the model as it was.

    Example: leaseboard learn sales.model january.csv --target revenue
    """
    from leaseboard.tasks.models.continued import read_rows

    _check_out(out, file, model)
    if not model.parent.is_dir():
        raise UsageError(f"{str(model)!r}: no folder {str(model.parent)!r}: make it first")
    if model.is_dir():
        raise UsageError(
            f"{str(model)!r} is a folder: name a model's file, which this command makes; what was"
            " registered forecasts, and learns no more"
        )
    given = {"target": target, "task": task, "algorithm": algorithm, "seed": seed,
             "set": settings or None}  # fmt: skip
    before = _stamp(model)
    going_on = _open(model) if before else None
    if going_on is not None:
        changed = [name for name, value in given.items() if value is not None]
        if changed:
            raise UsageError(
                f"--{changed[0]} is of a new model, and {str(model)!r} is there: leave it out, or"
                " name another file"
            )
    frame = read_rows(file, going_on.kinds if going_on else None)
    if not len(frame):
        say(f"{file}: 0 rows: nothing to learn", err=True)
        return 3
    if going_on is None:
        going_on = _new(frame, given)
        say(_introduced(going_on, frame, given["task"]), err=as_json)
    started = process_time()
    learned = going_on.learn(frame)
    seconds = process_time() - started - learned.baselines_cpu_seconds
    if not before:
        say(_taken(going_on), err=as_json)
    if _stamp(model) != before:
        raise UsageError(
            f"{str(model)!r} was changed while {str(file)!r} was learned, by another command"
            " perhaps: nothing of this is kept, learn it again"
        )
    told = [name for name in learned.forecasts if name != going_on.target]
    with nullcontext() if out is None else _writing(learned.forecasts, out, told):
        going_on.model.save(model)
    _tell(going_on, learned, seconds, model, as_json=as_json)
    return 0


def predict(
    model: Annotated[
        str, typer.Argument(help="The model's file, a saved folder, or models:/NAME@ALIAS.")
    ],
    file: Table,
    out: OutTable = None,
    level: Annotated[
        float | None,
        typer.Option(help="Of numbers: the ends of the interval of this probability, too."),
    ] = None,
    tracking_uri: TrackingUri = None,
) -> int:
    """Forecast the rows of a table; nothing is learned.

    Without --out the table with its forecasts is printed as csv.

    Example: leaseboard predict sales.model february.csv --out forecasts.parquet
    """
    import pandas as pd

    from leaseboard.tasks.models.continued import FORECAST, in_own_types, pass_through, read_rows
    from leaseboard.tasks.models.fewest_digits import in_fewest_digits

    _check_out(out, file, Path(model))
    registered = model.startswith("models:/") or Path(model).is_dir()
    going_on = None if registered else _open(Path(model))
    if going_on is None and level is not None:
        raise UsageError("--level needs the file of a model that `leaseboard learn` made")
    kinds, forecast = (going_on.kinds, None) if going_on else _registered(model, tracking_uri)
    frame = read_rows(file, kinds)
    if not len(frame):
        say(f"{file}: 0 rows: nothing to forecast", err=True)
        return 3
    if going_on is not None:
        added = going_on.predict(frame, level)
    else:
        added = pd.DataFrame({FORECAST: forecast(frame)}, frame.index)
    found, told = pass_through(file, frame, added), [*added]
    if out is not None and out.suffix == ".parquet":
        found = in_own_types(found, frame)
    if out is None:
        say(in_fewest_digits(found, told).to_csv(index=False).rstrip("\n"))
    else:
        with _writing(found, out, told):
            pass
        say(f"{len(found)} forecasts: {out}")
    return 0


def _open(path: Path) -> Continued:
    from leaseboard.tasks.models.continued import Continued

    return Continued.load(path)


def _new(frame: pd.DataFrame, given: dict[str, Any]) -> Continued:
    from leaseboard.tasks.fetch.references import TASKS
    from leaseboard.tasks.models.continued import Continued

    task = given["task"]
    if task is not None and task not in TASKS:
        raise UsageError(f"--task {task!r} must be {' or '.join(TASKS)}")
    return Continued.new(
        frame,
        target=given["target"],
        task=task,
        algorithm=given["algorithm"] or "chacha",
        settings=parse_settings(given["set"] or []),
        seed=given["seed"] or 0,
    )


def _introduced(going_on: Continued, frame: pd.DataFrame, task: str | None) -> str:
    """What was made for a file that was not there."""
    made = f"new model: {going_on.model.algorithm}, {going_on.task} of {going_on.target!r}"
    numbers = frame[going_on.target].dtype.kind in "iuf" and not going_on.is_regression
    if task is None and numbers:
        made += ", whose few whole numbers are classes: --task regression takes them as numbers"
    labels = frame[going_on.target]
    if labels.nunique() == 1 and len(labels) > 1:
        made += (
            f"\nall labels of this file are {labels.iloc[0]}: so will all forecasts be, until"
            " others are learned"
        )
    return made


def _taken(going_on: Continued) -> str:
    """What the columns of a new model's first table were taken for."""
    kinds = [(kind, name) for name, kind in going_on.kinds.items() if name != going_on.target]
    told = []
    for kind in ("number", "text", "date"):
        names = [name for one, name in kinds if one == kind]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        told += [f"{kind}s: {', '.join(names[:NAMED])}{more}"] * bool(names)
    return f"columns taken as {'; '.join(told) or 'empty'}"


def _registered(
    model: str, tracking_uri: str | None
) -> tuple[dict[str, str], Callable[[pd.DataFrame], Any]]:
    """Return what the columns of a registered model hold, or of a saved folder, and its forecasts.

    Only texts are named among the columns: a file shows what else a column holds.
    """
    from leaseboard.tasks.models.load import load

    def texts(saved: SavedModel) -> dict[str, str]:
        known = saved.description.columns
        return {each.name: "text" for each in known if each.kind in ("nominal", "text")}

    if not model.startswith("models:/"):
        saved = load(Path(model))
        return texts(saved), saved.predict
    import mlflow

    from leaseboard.tasks.models.logged import default_store, is_ours

    prepare_environment()
    try:
        with default_store(paths.tracking_uri(tracking_uri)):
            loaded = mlflow.pyfunc.load_model(model)
    except (mlflow.MlflowException, ImportError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"{model!r} cannot be loaded: {reason}") from error
    if not is_ours(loaded):
        schema = loaded.metadata.get_input_schema()
        named = schema.inputs if schema is not None and schema.has_input_names() else ()
        strings = {each.name: "text" for each in named if str(each.type) == "string"}
        return strings, lambda frame: _of_others(loaded, frame, model)
    served = loaded.unwrap_python_model()
    # Past the schema: MLflow names no row of what it refuses.
    return texts(served.model), lambda frame: served.predict(None, frame)


def _of_others(loaded: PyFuncModel, frame: pd.DataFrame, model: str) -> Any:
    """What another library's model forecasts; UsageError unless that is one value a row."""
    import numpy as np

    mend = "give it the columns that it was made from, and no others"
    try:
        found = np.asarray(loaded.predict(frame))
    except Exception as error:  # whatever the library says of a table
        reason = " ".join(str(error).split())
        raise UsageError(f"{model!r} cannot forecast the table: {reason}: {mend}") from error
    if found.shape not in ((len(frame),), (len(frame), 1)):
        raise UsageError(
            f"{model!r} gives forecasts of shape {found.shape} for {len(frame)} rows: name a model"
            " that forecasts one value a row"
        )
    return found.ravel()


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes when the file is replaced; empty where there is none."""
    if not path.exists():
        return ()
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _check_out(out: Path | None, *used: Path) -> None:
    """UsageError unless the forecasts can go to `out`, which is none of the files in use."""
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--out {str(out)!r} must end in .csv or .parquet")
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out {str(out)!r}: no folder {str(out.parent)!r}: make it first")
    if out is not None and out.is_dir():
        raise UsageError(f"--out {str(out)!r} is a folder: name a file")
    if out is not None and out.resolve() in [path.expanduser().resolve() for path in used]:
        raise UsageError(f"--out {str(out)!r} would replace a file that is read: name another")


@contextmanager
def _writing(frame: pd.DataFrame, out: Path, told: list[str]) -> Iterator[None]:
    """Write the table, which is at its place when all that is done meanwhile went well.

    - `told`: the columns of forecasts.
    """
    from leaseboard.algorithms.chacha.streaming.files import replacing
    from leaseboard.tasks.models.fewest_digits import in_fewest_digits

    with replacing(out) as partial:
        if out.suffix == ".csv":
            in_fewest_digits(frame, told).to_csv(partial, index=False)
        else:
            frame.to_parquet(partial, index=False)
        yield


def _tell(
    going_on: Continued, learned: LearnedTable, seconds: float, path: Path, *, as_json: bool
) -> None:
    from leaseboard.algorithms.configurations import phrase
    from leaseboard.tasks.score.frame import told

    model, rows = going_on.model, len(learned.forecasts)
    if as_json:
        found = {
            "rows": rows,
            "examples": model.examples,
            "target": going_on.target,
            "task": going_on.task,
            "metrics": learned.measures,
            "baseline": learned.best,
            "champion": model.champion,
            "groups": model.groups,
            "cpu_seconds": seconds,
            "baselines_cpu_seconds": learned.baselines_cpu_seconds,
            "model": str(path),
        }
        say(json.dumps(found, default=str))
        return
    if learned.new:
        named = (f"{name} ({going_on.kinds.get(name, 'empty')})" for name in learned.new)
        say(f"new columns: {', '.join(named)}")
    last = learned.forecasts.tail(SHOWN)
    cells = [
        (str(row + 1), *(f"{x:.6g}" if isinstance(x, float) else str(x) for x in values))
        for row, *values in last.itertuples()
    ]
    show_table("the last forecasts, each before its label was learned:",
               ("row", *last.columns), cells)  # fmt: skip
    say(
        f"learned {rows} rows of {going_on.target} in {seconds:.3f} CPU s; {model.examples} in all"
    )
    if learned.baselines_cpu_seconds:
        say(f"naive baselines: {learned.baselines_cpu_seconds:.3f} CPU s more")
    whole = learned.best and " from row " not in learned.best
    since = ", which has learned the same rows" if whole else ""
    say(f"measured: {told(learned.measures, learned.best)}{since}")
    say(f"champion: {phrase(model.champion or {})}")
    say(f"model: {path}")

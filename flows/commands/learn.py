"""``leaseboard learn``, ``predict``: a model in a file that learns table after table; ``demo``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from leaseboard.algorithms.errors import DataUnavailableError, UsageError
from leaseboard.flows.commands import options
from leaseboard.flows.console import check_file, echo, output_folder, say
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.machine.terminal import Activity

if TYPE_CHECKING:
    import pandas as pd

    from leaseboard.tasks.models.learned_table import LearnedTable
    from leaseboard.tasks.models.model import TableModel
    from leaseboard.tasks.models.stream_model import StreamModel

_LEVEL = "Also give the interval that covers this share of the numbers, such as 0.9."
Table = Annotated[Path, options.arg("Table: csv, parquet, arff or libsvm.")]
Output = Annotated[Path | None, options.opt("Path to write to.", "PATH")]
_TASK = "regression or classification (default: guessed)."
NAMED = 10
"""Number of columns of a kind that are named."""


def learn(
    model: Annotated[Path, options.arg("File of the model; it is created if it does not exist.")],
    file: Table,
    target: options.Target = None,
    task: Annotated[
        Literal["regression", "classification"] | None, options.opt(_TASK, "TASK")
    ] = None,
    algorithm: options.AlgorithmOption = None,
    settings: options.Settings = None,
    seed: options.Seed = None,
    labels: options.Labels = None,
    output: Output = None,
    as_json: options.AsJson = False,
) -> int:
    """Train a model on a stream: predict each row of a table, and learn its label when it arrives.

    The model continues where it stopped. Its file is replaced when all rows are learned, so an
    interruption leaves it unchanged. All options but --output and --json are for a new model,
    whose algorithm is online-automl by default. Its labels arrive by default with the only column
    of dates, if that never decreases. --output is for predictions, .csv or .parquet.

    Example: leaseboard learn sales.model january.csv --target revenue
    """
    from leaseboard.algorithms.plain import replacing
    from leaseboard.tasks.models.model import load_file
    from leaseboard.tasks.models.stream_model import StreamModel

    _check_output(output, file, model)
    check_file(model)
    before = _fingerprint(model)
    known = load_file(model) if before else None
    if known is not None and not isinstance(known, StreamModel):
        raise UsageError(
            f"{str(model)!r} holds a model that learns no more: name the file of a model that"
            " `leaseboard learn` made, or a new file"
        )
    given = {"target": target, "task": task, "algorithm": algorithm, "seed": seed,
             "labels": labels, "set": settings or None}  # fmt: skip
    changed = [name for name, value in given.items() if value is not None]
    if known is not None and changed:
        raise UsageError(
            f"--{changed[0]} is of a new model, and {str(model)!r} is there: leave it out, or"
            " name another file"
        )
    own = options.parse_settings(settings or [])
    frame = _rows(file, known.kinds if known else {str(own.get("entity")): "text"})
    stream = known or StreamModel.for_table(
        frame,
        target,
        task,
        algorithm=algorithm or "online-automl",
        settings=own,
        seed=seed or 0,
        **({} if labels is None else {"labels": labels}),
    )

    def introduce() -> None:
        if known is None:
            say(_introduction(stream, frame, task, labels), err=as_json)

    started = environment.working_seconds()[0]
    known_examples = stream.model.examples
    with Activity("learning", len(frame), "rows", lambda: stream.model.examples - known_examples):
        learned = stream.learn_table(frame, introduce)
    seconds = environment.working_seconds()[0] - started - learned.baselines_cpu_seconds
    if known is None:
        say(_column_kinds(stream), err=as_json)
    if _fingerprint(model) != before:
        raise UsageError(
            f"{str(model)!r} was changed while {str(file)!r} was learned, by another command"
            " perhaps: nothing of this was saved, learn it again"
        )
    added = learned.predictions.drop(columns=stream.target)
    # The model takes its place last: a command that is killed before has learned nothing, and what
    # it wrote is written again.
    with replacing(model) as new:
        with nullcontext() if output is None else _writing(file, frame, added, output):
            new.write_bytes(stream.dump())
        reach("learn.before-save")
    reach("learn.after-save")
    _print(stream, learned, seconds, model, as_json=as_json)
    return 0


def predict(
    model: Annotated[str, options.arg("File or folder of the model, or models:/NAME@ALIAS.")],
    file: Table,
    output: Output = None,
    level: Annotated[float | None, options.opt(_LEVEL, "SHARE")] = None,
) -> int:
    """Predict the rows of a table, and learn nothing.

    The table with its predictions goes to --output, .csv or .parquet, or is printed as csv.

    Example: leaseboard predict sales.model february.csv --output predictions.parquet
    """
    from leaseboard.tasks.models.columns import in_fewest_digits, pass_through

    _check_output(output, file, Path(model))
    if model.startswith("models:/"):
        from leaseboard.tasks.models.registry import load_registered

        loaded = load_registered(model, environment.tracking_uri())
    else:
        from leaseboard.tasks.models.model import load_file

        loaded = load_file(Path(model))
    frame = _rows(file, _kinds(loaded))
    added = _predictions(loaded, frame, level)
    if output is None:
        found = in_fewest_digits(pass_through(file, frame, added), added)
        echo(found.to_csv(index=False).rstrip("\n"))
    else:
        with _writing(file, frame, added, output):
            pass
        say(f"{len(added)} predictions: {output}")
    return 0


def _rows(file: Path, kinds: dict[str, str]) -> pd.DataFrame:
    """Return the rows of a table; DataUnavailableError if it has none."""
    from leaseboard.tasks.models.columns import read_rows

    frame = read_rows(file, kinds)
    if not len(frame):
        raise DataUnavailableError(f"{file}: 0 rows: add rows below the names of the columns")
    return frame


def _introduction(
    stream: StreamModel, frame: pd.DataFrame, task: str | None, labels: str | None
) -> str:
    """Return a description of a new model."""
    from leaseboard.tasks.models.columns import unsorted_day

    made = f"new model: {stream.model.algorithm}, {stream.task} of {stream.target!r}"
    numbers = frame[stream.target].dtype.kind in "iuf" and not stream.is_regression
    if task is None and numbers:
        made += ", whose few whole numbers are classes: --task regression takes them as numbers"
    if stream.labels.column:
        made += f"\n{stream.labels.guessed}; --labels says otherwise"
    elif labels is None and (day := unsorted_day(frame.drop(columns=stream.target))):
        made += (
            f"\nlabels immediate: {day} is not in order, or has gaps, so a row may be predicted by"
            f" later ones: sort the rows by {day}, or say when labels arrive by --labels"
        )
    return made


def _column_kinds(stream: StreamModel) -> str:
    """Return the kinds of the columns of a new model's first table."""
    kinds = [(kind, name) for name, kind in stream.kinds.items() if name != stream.target]
    parts = []
    for kind in ("number", "text", "date"):
        names = [name for one, name in kinds if one == kind]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        parts += [f"{kind}s: {', '.join(names[:NAMED])}{more}"] * bool(names)
    return f"columns taken as {'; '.join(parts) or 'empty'}"


def _kinds(loaded: TableModel) -> dict[str, str]:
    """Return what the columns of a model hold.

    Of others than those of `leaseboard learn` only texts: a file shows what else a column holds.
    """
    from leaseboard.tasks.models.stream_model import StreamModel

    if isinstance(loaded, StreamModel):
        return loaded.kinds
    texts = ("category", "text")
    return {each.name: "text" for each in loaded.columns if each.kind in texts}


def _predictions(loaded: TableModel, frame: pd.DataFrame, level: float | None) -> pd.DataFrame:
    """Return the columns that a model adds to a table."""
    import pandas as pd

    from leaseboard.tasks.models.stream_model import ENDS, PREDICTION, PROBABILITY, StreamModel

    if level is not None and not isinstance(loaded, StreamModel):
        raise UsageError("--level needs the file of a model that `leaseboard learn` made")
    if level is None or not isinstance(loaded, StreamModel):
        found = pd.DataFrame({PREDICTION: loaded.predict(frame)}, frame.index)
    else:
        values = loaded.predict_interval(frame, level)
        found = pd.DataFrame(values, frame.index, [PREDICTION, *ENDS])
    if isinstance(loaded, StreamModel) and loaded.classes:
        names = [f"{PROBABILITY}{name}" for name in loaded.classes]
        found[names] = loaded.predict_proba(frame)
    return found


def _fingerprint(path: Path) -> tuple[int, ...]:
    """Return values that change when the file is replaced; empty if it does not exist."""
    if not path.exists():
        return ()
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _check_output(output: Path | None, *used: Path) -> None:
    """Raise UsageError unless predictions can be written to `output`, which is not in use."""
    if output is None:
        return
    check_file(output)
    if output.suffix not in (".csv", ".parquet"):
        raise UsageError(f"--output {str(output)!r} must end in .csv or .parquet")
    if output.resolve() in [path.expanduser().resolve() for path in used]:
        raise UsageError(
            f"--output {str(output)!r} would replace a file that is read: name another"
        )


@contextmanager
def _writing(file: Path, frame: pd.DataFrame, added: pd.DataFrame, output: Path) -> Iterator[None]:
    """Write a table with its predictions; it becomes `output` if the body succeeds.

    - `frame`: what `read_rows` made of the table in `file`.
    """
    from leaseboard.algorithms.plain import replacing
    from leaseboard.tasks.models.columns import in_fewest_digits, pass_through

    found = pass_through(file, frame, added)
    with replacing(output) as partial:
        if output.suffix == ".csv":
            in_fewest_digits(found, added).to_csv(partial, index=False)
        else:
            import pyarrow as pa

            # What pandas notes of Arrow's categories it cannot read.
            for name, column in found.items():
                if "dictionary" in str(column.dtype):
                    found[name] = pa.array(column).to_pandas().array
            found.to_parquet(partial, index=False)
        yield


def _print(
    stream: StreamModel, learned: LearnedTable, cpu_seconds: float, path: Path, *, as_json: bool
) -> None:
    from leaseboard.algorithms.audit import phrase
    from leaseboard.tasks.score.frame import describe_metrics

    model, rows = stream.model, len(learned.predictions)
    if as_json:
        printed = {
            "rows": rows,
            "examples": model.examples,
            "target": stream.target,
            "task": stream.task,
            "metrics": learned.measures,
            "labels": str(stream.labels),
            "forecast": learned.forecast,
            "baseline": learned.best,
            "champion": model.champion,
            "members": model.members,
            "cpu_seconds": cpu_seconds,
            "baselines_cpu_seconds": learned.baselines_cpu_seconds,
            "model": str(path),
        }
        echo(json.dumps(printed, default=str))
        return
    if learned.new:
        named = (f"{name} ({stream.kinds.get(name, 'empty')})" for name in learned.new)
        say(f"new columns: {', '.join(named)}")
    say(
        f"learned {rows} rows of {stream.target} in {cpu_seconds:.3f} CPU s;"
        f" {model.examples} in all"
    )
    if learned.baselines_cpu_seconds:
        say(f"naive baselines: {learned.baselines_cpu_seconds:.3f} CPU s more")
    whole = learned.best and " from row " not in learned.best
    since = ", which has learned the same rows" if whole else ""
    by = describe_metrics(learned.measures, learned.best)
    say(f"measured, labels {stream.labels}: {by}{since}")
    say(f"champion: {phrase(model.champion or {})}")
    say(f"model: {path}")
    if learned.forecast:
        say(
            f"`predict` of a next file, as measured on the last {learned.forecast_rows} rows"
            f" without their labels: {describe_metrics(learned.forecast)}"
        )


FOLDER = Path("leaseboard-demo")
_NEXT = """
Next, with data of your own:
  leaseboard learn sales.model YOUR.csv --target COLUMN
      a stream: the model learns row by row, and goes on with the next file
  leaseboard race rising-bandits-cost YOUR.csv --target COLUMN --budget 60 --set unit=cpu_seconds
      a table: the best model found in 60 CPU seconds
  leaseboard run {stream}
      a leaderboard: add datasets and algorithms to this file, and run it again"""


def demo(output: Annotated[Path, options.opt("Path to write to.", "PATH")] = FOLDER) -> int:
    """Try it: a stream, a table and two leaderboards, on data that come with it.

    Nothing is downloaded. It takes half a minute. Data, model and pages are in a folder.

    Example: leaseboard demo
    """
    from leaseboard.flows.dispatch import RunOptions, execute, exit_code, open_suites

    folder = output_folder(output)
    if any(folder.iterdir()):
        raise UsageError(f"{str(output)!r} is not empty: name another folder with --output")
    shutil.copytree(environment.shipped_conf() / "demo", folder, dirs_exist_ok=True)
    suite_file = folder / "stream.yaml"
    suite_file.write_text(suite_file.read_text().replace("file:", f"file:{output}/"))

    say("1. A stream: predict each row, then learn its label.\n")
    model = folder / "sales.model"
    learn(model, folder / "sales.csv", target="revenue")
    say("\n2. Predict days whose revenue is not known yet.\n")
    predictions = folder / "predictions.csv"
    predict(str(model), folder / "next_days.csv", output=predictions)
    say("".join(predictions.read_text().splitlines(keepends=True)[:4]))

    codes = []
    for number, name, what in ((3, "stream", "the stream"), (4, "table", "a table")):
        say(f"{number}. A leaderboard of {what}: algorithms and naive baselines.\n")
        ((suite, home),) = open_suites(str(folder / f"{name}.yaml"), folder / name)
        with environment.variable_set("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}"):
            codes.append(exit_code(execute(suite, home, RunOptions(local=True))))
        say()
    say(_NEXT.format(stream=output / "stream.yaml"))
    return max(codes)

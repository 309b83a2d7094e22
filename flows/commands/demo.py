"""``leaseboard demo``: a stream, a table and their leaderboards, without a file or a network."""

import shutil
from pathlib import Path
from typing import Annotated

from leaseboard.flows.commands import learn
from leaseboard.flows.commands.options import opt
from leaseboard.flows.console import output_folder, say
from leaseboard.tasks.machine import environment

FOLDER = Path("leaseboard-demo")
_NEXT = """
Next, with data of your own:
  leaseboard learn sales.model YOUR.csv --target COLUMN
      a stream: the model learns row by row, and goes on with the next file
  leaseboard race rising-bandits-cost YOUR.csv --target COLUMN --budget 60 --set unit=cpu_seconds
      a table: the best model found in 60 CPU seconds
  leaseboard run {stream}
      a leaderboard: add datasets and algorithms to this file, and run it again"""


def demo(output: Annotated[Path, opt("Path to write to.", "PATH")] = FOLDER) -> int:
    """Try it: a stream, a table and two leaderboards, on data that come with it.

    Nothing is downloaded. It takes half a minute. Data, model and pages are in a folder.

    Example: leaseboard demo
    """
    from leaseboard.flows.dispatch import RunOptions, execute, exit_code, open_suites

    folder = output_folder(output)
    shutil.copytree(environment.shipped_conf() / "demo", folder, dirs_exist_ok=True)
    suite_file = folder / "stream.yaml"
    suite_file.write_text(suite_file.read_text().replace("file:", f"file:{output}/"))
    model = folder / "sales.model"
    model.unlink(missing_ok=True)

    say("1. A stream: predict each row, then learn its label.\n")
    learn.learn(model, folder / "sales.csv", target="revenue")
    say("\n2. Predict days whose revenue is not known yet.\n")
    predictions = folder / "predictions.csv"
    learn.predict(str(model), folder / "next_days.csv", output=predictions)
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

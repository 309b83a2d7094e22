"""Commands on run folders and model files end at each failpoint, and are run again."""

import dataclasses
import shutil

import numpy as np
import pandas as pd
import pytest

from leaseboard.tasks.folder import results
from tests.sweep import POINTS, Sweep, in_fork, in_zygote, tracked

SUITE = """\
title: A stream
data: ["synthetic:fried?rows=200&seed=0"]
baselines: false
algorithms: [vanilla, running-mean]
"""
RUN = ["run", "suite.yaml", "--local", "--workers", "1", "--run-dir", "out"]
SALES = 60


def started(home, store, _=None):
    """Put a suite and an empty MLflow store into a folder."""
    (home / "suite.yaml").write_text(SUITE)
    (home / "mlruns").mkdir()
    shutil.copy(store, home / "mlruns" / "mlflow.db")


def copied(home, store, call):
    """Put a run there, and a run folder in which one of its two jobs has crashed."""
    started(home, store)
    assert call(RUN, home, "") == 0
    found, both = results.read_results(home / "out"), home / "both"
    both.mkdir()
    crashed = [
        dataclasses.replace(each, status="crash", reason="x", score=None) for each in found[:1]
    ]
    for each in crashed:
        folder = results.begin(both, each.key)
        shutil.copy(results.job_folder(home / "out", each.key) / results.EVENTS, folder)
        results.finish(both, each)
    results.assemble(both, crashed)
    (home / "mlruns" / "mlflow.db").unlink()
    shutil.copy(store, home / "mlruns" / "mlflow.db")


def folder_of(name):
    def outcome(home):
        out = home / name
        table = results.read_table(out / results.TABLE)
        return {
            "table": sorted(map(list, table[["key", "name", "status", "score"]].to_numpy()),
                            key=str),
            "results": [(each.key, each.status, each.score) for each in results.read_results(out)],
            "files": sorted(
                path.relative_to(out).as_posix() for path in out.rglob("*")
                if path.name != "log.txt"
            ),
            "damaged": [*map(str, results.damaged(out))],
            **tracked(home / "mlruns" / "mlflow.db"),
        }  # fmt: skip

    return outcome


def learned(home, _, call):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=SALES).round(3)})
    frame["revenue"] = (3 * frame["a"] + rng.normal(size=SALES)).round(3)
    for name in ("first", "second"):
        frame.to_csv(home / f"{name}.csv", index=False)
    assert call(["learn", "m.model", "first.csv", "--target", "revenue"], home, "") == 0


def examples(home):
    from leaseboard.tasks.models.model import load_file

    return load_file(home / "m.model").model.examples


def model_of(home):
    out = home / "out.csv"
    return {
        "examples": examples(home),
        "predictions": out.read_text() if out.exists() else "missing",
        "files": sorted(path.name for path in home.iterdir()),
    }


LEARN = ["learn", "m.model", "second.csv", "--output", "out.csv"]
COMMANDS = {
    "run": (RUN, started, folder_of("out")),
    "merge": (["results", "merge", "out", "--run-dir", "both"], copied, folder_of("both")),
    "learn": (LEARN, learned, model_of),
}

PASSED = {"run": ("run.", "track.", "file."), "merge": ("merge.",), "learn": ("learn.",)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_ends_anywhere_is_made_good_by_the_next(
    name, tmp_path, empty_store, zygote, capsys
):
    words, prepare, outcome = COMMANDS[name]
    call = in_fork if name == "learn" else in_zygote(zygote)
    sweep = Sweep(
        words, tmp_path, lambda home: prepare(home, empty_store, call), outcome, call=call
    )
    if name == "learn":  # a model that was saved has learned
        sweep.full = ("",)
        sweep.is_done = lambda home: examples(home) == 2 * SALES
    if name in ("run", "merge"):  # several processes, and MLflow
        sweep.passages = 1
    sweep.passes = [each for each in POINTS if each.startswith(PASSED[name])]
    sweep.run()
    with capsys.disabled():
        print(f"\n{name}: {sweep.cases} cases, {len(sweep.faults)} faults")
    assert not sweep.faults, "\n".join(sweep.faults)


def test_each_point_has_a_sweep():
    others = ("live.", "store.", "serve.", "prune.")  # of sweeps of their own
    assert all(each.startswith((*sum(PASSED.values(), ()), *others)) for each in POINTS)

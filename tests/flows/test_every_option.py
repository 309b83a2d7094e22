"""Every option of every command is called, and every value that a docstring lists is taken."""

import inspect
import re
import shlex
import socket
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.linear_model import LogisticRegression
from typer.core import TyperGroup

import leaseboard as public
from leaseboard.flows.cli import app
from leaseboard.flows.commands.options import OF_ALL

STEPS = """
0 list data --mirror mirror --conf c
0 list algorithms -q
0 learn m.model d.csv --target y --task regression --algorithm chacha --set b=3 --seed 2 --output o.csv --json
0 predict m.model d.csv --output p.csv
0 learn i.model d.csv --target y --set b=2 --labels after=2 -q
0 predict i.model d.csv --level 0.9 --debug
0 race vanilla running-mean d.csv --target y --labels after=2 --seed 1 --metric mae --json
0 race linear d.csv --split random
0 race chacha d.csv --target y --set b=2 --budget 50 --register raced --tracking-uri STORE
0 run tiny --dry-run
0 run tiny --run-dir run --workers 1 --local --register ran
0 report run
0 gate tiny --update-baseline --repetitions 1 --run-dir gated --local
0 gate tiny --run-dir gated --local
0 live init l.yaml --files in/*.csv --target y --time day --id-column id
0 live update l.yaml --run-dir live --at 2024-03-01 --local
0 live status l.yaml --run-dir live
0 live forget l.yaml --reason asked --id 3 --run-dir live
64 live promote l --force --run-dir live
64 live rollback l --run-dir live
0 results merge run gated --run-dir merged
0 results prune run --keep 0 --yes
0 data list
0 data fetch file:d.csv?target=y
3 data mirror made tiny
64 ui --port PORT
64 schedule --port PORT
"""  # noqa: E501
"""The exit code and the words of each call, in this order, in one folder."""

ELSEWHERE = {
    "test_demo.py": ["demo --output"],
    "test_prefect.py": ["run --cluster"],
    "test_serve.py": [f"live serve --{name}" for name in ("host", "port", "run-dir")],
}
"""Options that need a cluster, a server or minutes, by the file of tests that calls them."""


def leaves(command, *words):
    """Yield every command without commands of its own, with its words."""
    if not isinstance(command, TyperGroup):
        yield " ".join(words), command
        return
    for name, child in command.commands.items():
        yield from leaves(child, *words, name)


COMMANDS = dict(leaves(typer.main.get_command(app)))


def called():
    """Return ``COMMAND --option`` of every option that a step gives."""
    found = set()
    for step in STEPS.strip().splitlines():
        words = step.split()[1:]
        depth = next(n for n in (1, 2, 3) if " ".join(words[:n]) in COMMANDS)
        found |= {" ".join([*words[:depth], each]) for each in words if each[:1] == "-"}
    return found


def test_every_option_is_called_by_a_test():
    known = {f"{words} {max(param.opts, key=len)}" for words, command in COMMANDS.items()
             for param in command.params if param.param_type_name == "option"}  # fmt: skip
    given = called()
    assert {each.split()[-1] for each in given} >= {
        "--conf", "--mirror", "--tracking-uri", "-q", "--debug",
    }, OF_ALL  # fmt: skip
    for name, options in ELSEWHERE.items():
        text = (Path(__file__).parent / name).read_text()
        given |= {each for each in options if each.split()[-1] in text}
    assert not known - given, sorted(known - given)


def test_every_option_can_be_given(call, store, tmp_path):
    make_inputs(tmp_path)
    wrong = {}
    for line in STEPS.strip().splitlines():
        with socket.create_server(("127.0.0.1", 0)) as taken:
            step = line.replace("STORE", store).replace("PORT", str(taken.getsockname()[1]))
            code, *words = shlex.split(step)
            ended = call(*words)
        if ended.code != int(code) or "internal error" in ended.err:
            wrong[step] = f"{ended.code} {ended.err[-300:]}"
    assert not wrong, "\n".join(f"{step}: {ended}" for step, ended in wrong.items())


def make_inputs(folder):
    for name in ("mirror", "c/suites", "in"):
        (folder / name).mkdir(parents=True)
    header = "id,name,task,rows,features,target,sha256,licence\n"
    (folder / "mirror/catalogue.csv").write_text(header)
    rows = np.arange(84)
    days = [f"2024-02-{row // 4 + 1:02d}" for row in rows]
    table = pd.DataFrame({"day": days, "id": rows, "a": rows % 7.0})
    for name in ("d.csv", "in/d.csv"):
        table.assign(y=2 * table["a"] + rows / 84).to_csv(folder / name, index=False)
    suite = "title: t\ndata: ['file:d.csv?target=y']\nbaselines: false\n"
    suite += "algorithms: [vanilla, running-mean]\n"
    (folder / "c/suites/tiny.yaml").write_text(suite)
    entry = '{name: tiny, cron: "0 0 1 1 *", suite: tiny}'
    (folder / "c/schedule.yaml").write_text(f"timezone: UTC\nschedules: [{entry}]\n")


def listed():
    """Yield every value that the docstring of a public name lists, and what takes it."""
    for name in public.__all__:
        text = inspect.getdoc(getattr(public, name)) or ""
        for parameter, values in re.findall(r"^ *(\w+) : [^\n]*?\{([^}]*)\}", text, re.MULTILINE):
            yield from ((name, parameter, value) for value in re.findall(r'"([^"]+)"', values))


X = pd.DataFrame({"a": np.arange(60) % 7.0, "b": np.arange(60) % 5.0})
Y, CLASSES = 2 * X["a"] + X["b"], np.where(X["a"] > 3, "yes", "no")


TRIALS = {"max_trials": 2, "random_state": 0, "arms": ["extra_trees", "lightgbm"]}
GRID = {"estimator": LogisticRegression(), "param_grid": {"C": [0.1, 1.0]}}
FIXED = {"AutoMLClassifier": TRIALS, "AutoMLRegressor": TRIALS, "SelectionSearch": GRID}
"""What tiny inputs of a class need."""
CALLS = {
    "Problem": lambda unit: public.Problem(3, 10.0, unit),
    "race": lambda task: public.race(
        "vanilla", X.assign(y=CLASSES if task[0] == "c" else Y), task=task
    ),
}


@pytest.mark.parametrize(("name", "parameter", "value"), sorted(set(listed())))
def test_every_value_that_a_docstring_lists_is_taken(name, parameter, value):
    if value == "smac":
        pytest.importorskip("smac")
    kind, y = getattr(public, name), Y if "Regressor" in name else CLASSES
    given = {**FIXED.get(name, {}), parameter: value}
    if hasattr(kind, "learn_one"):
        kind(**given).learn_one({"a": 1.0, "b": 2.0}, y[0])
    elif hasattr(kind, "fit"):
        kind(**given).fit(X, y)
    else:
        CALLS[name](**given)

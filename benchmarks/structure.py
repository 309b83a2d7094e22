"""Structure of a checkout, in figures: ``python -m benchmarks.structure [CHECKOUT ...]``.

Two kinds of figures, for each checkout (this one by default), whose own ``.venv`` runs it:

- static: modules, and the median length of a function's body;
- walks: how many of the product's functions, and files of them, a reader crosses who follows one
  call. A function counts if it is entered, the import of its file apart. ``learn_one`` is one
  example learned by `OnlineAutoMLRegressor` once it runs steadily. ``run`` is a suite of one job,
  in all its processes, and ``gate`` its comparison with baseline scores. ``cycle`` is the second
  cycle of a live model, from its csv file to its page.

The product is what a checkout has in ``algorithms``, ``tasks``, ``flows`` and ``leaseboard``.
"""

from __future__ import annotations

import argparse
import ast
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOMS = ("algorithms", "tasks", "flows", "leaseboard")

TRACER = f'''
import inspect, os, sys, threading

ROOMS = {ROOMS!r}
OUT, KIND = os.environ["STRUCTURE_OUT"], os.environ["STRUCTURE_KIND"]
seen, known = set(), set()


def place(code):
    """Return file and name of a function of the product; None for others and bodies of classes."""
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return None
    path = os.path.realpath(code.co_filename)
    inside = path[len(ROOT) + 1 :] if path.startswith(ROOT + os.sep) else ""
    return inside + ":" + code.co_qualname if inside.partition(os.sep)[0] in ROOMS else None


def write(kind, found):
    found = {{(kind, each) for each in found}} - seen
    with open(os.path.join(OUT, kind), "a") as file:
        file.write("".join(each + chr(10) for _, each in found))
    seen.update(found)


def is_importing(frame):
    """Return whether a module is being imported: its own functions may be called then."""
    while frame is not None:
        is_module = frame.f_code.co_name == "<module>"
        if is_module and frame.f_globals.get("__name__") != "__main__":
            return True
        frame = frame.f_back
    return False


def entered(frame, event, argument):
    if event == "call" and frame.f_code not in known:
        found = place(frame.f_code)
        if found and is_importing(frame):
            return
        known.add(frame.f_code)
        if found:
            write(KIND, {{found}})


ROOT = os.environ["STRUCTURE_ROOT"]
if KIND != "learn_one":
    sys.setprofile(entered)
    threading.setprofile(entered)
'''

LEARN_ONE = """
import os, sys
sys.path.insert(0, os.environ["STRUCTURE_SITE"])
import numpy
from leaseboard import OnlineAutoMLRegressor
import sitecustomize as tracer
model = OnlineAutoMLRegressor()
rows = numpy.random.default_rng(0).normal(size=(400, 3))
for number, (a, b, c) in enumerate(rows):
    if number == 390:
        sys.setprofile(tracer.entered)
    model.learn_one({"a": a, "b": b, "c": c}, a + b * c)
"""

SUITE = """\
title: Structure
description: One job.
seed: 0
repetitions: 1
limits: {wall_seconds: 120, memory_mb: 4000}
data: ["synthetic:fried?rows=500&seed=0"]
algorithms: [online-automl]
"""


def modules(root: Path) -> list[ast.Module]:
    """Return the parsed modules of the product at `root`; symbolic links are not followed."""
    found = []
    for room in ROOMS:
        for folder, _, names in os.walk(root / room):
            paths = [Path(folder, name) for name in names if name.endswith(".py")]
            found += [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    return found


def static(root: Path) -> dict[str, float]:
    """Return the static figures of the checkout at `root`."""
    parsed = modules(root)
    lengths = []
    for tree in parsed:
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                last = body[-1].end_lineno if body else None
                lengths.append(last - body[0].lineno + 1 if last else 0)
    return {"modules": len(parsed), "median function body": statistics.median(lengths)}


def walks(root: Path) -> dict[str, list[str]]:
    """Return the functions that each walk enters in the checkout at `root`, sorted."""
    program = root / ".venv" / "bin"
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = folder / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(TRACER, encoding="utf-8")
        write_inputs(folder)
        command = [str(program / "leaseboard")]
        store = ["--local", "--tracking-uri", f"sqlite:///{folder}/mlflow.db"]
        gate = [*command, "gate", "suite.yaml", *store]
        init = [*command, "live", "init", "shop.yaml", "--files", "inbox/*.csv", "--target", "y"]
        cycle = [*command, "live", "update", "shop.yaml", "--local"]
        plan: dict[str, list[list[str]]] = {
            "learn_one": [[str(program / "python"), "-c", LEARN_ONE]],
            "run": [[*command, "run", "suite.yaml", "--run-dir", "out", *store]],
            "gate": [[*gate, "--update-baseline"], [*gate, "--run-dir", "new"]],
            "cycle": [init, cycle, cycle],
        }
        for kind, commands in plan.items():
            for number, each in enumerate(commands):
                last = number == len(commands) - 1
                if kind == "cycle" and last:
                    (folder / "next.csv").rename(folder / "inbox" / "next.csv")
                traced = {
                    "STRUCTURE_OUT": name,
                    "STRUCTURE_KIND": kind,
                    "STRUCTURE_ROOT": str(root),
                    "STRUCTURE_SITE": str(site),
                    "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
                }
                path = {"PYTHONPATH": str(site)} if last and kind != "learn_one" else {}
                done = subprocess.run(
                    each,
                    cwd=folder,
                    env=os.environ | traced | path,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode:
                    raise SystemExit(f"{' '.join(each)}: {done.stderr}")
            for trace in sorted(folder.glob(f"{kind}*")):
                if trace.is_file() and not trace.suffix:
                    found[trace.name] = sorted(set(trace.read_text(encoding="utf-8").splitlines()))
    return found


def write_inputs(folder: Path) -> None:
    """Write a suite, two files of rows, and nothing else, into `folder`."""
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "inbox").mkdir()
    for name, days in (("inbox/first.csv", range(1, 25)), ("next.csv", range(25, 26))):
        rows = [
            f"{day}-{number},2026-01-{day:02},{number},{number * day % 7},{2 * number + day % 3}\n"
            for day in days
            for number in range(20)
        ]
        (folder / name).write_text("order,day,a,b,y\n" + "".join(rows), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each figure of each checkout."""
    parser = argparse.ArgumentParser(description="figures of a checkout's structure")
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    parser.add_argument("--files", action="store_true", help="name the files that a walk crosses")
    chosen = parser.parse_args(arguments)
    for each in chosen.checkouts:
        root = each.resolve()
        print(root.name)
        for name, figure in static(root).items():
            print(f"  {figure:7.0f}  {name}")
        for name, functions in walks(root).items():
            files = sorted({each.partition(":")[0] for each in functions})
            print(f"  {len(functions):7}  functions on the walk {name}, of {len(files)} files")
            if chosen.files:
                print("".join(f"             {file}\n" for file in files), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

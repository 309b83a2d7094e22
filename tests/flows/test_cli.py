"""The command line as people use it: whole processes, exit codes, one line for every error."""

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from rich.console import Console
from typer.core import TyperGroup

from leaseboard.flows.cli import app, main

ROOT = Path(__file__).resolve().parents[2]
HELP = """
import sys
from leaseboard.flows.cli import main
try:
    main(["--help"])
finally:
    print(*sys.modules)
"""
HEAVY = {"mlflow", "prefect", "dask", "numba", "pandas", "pyarrow", "scipy", "sklearn", "openml"}


@pytest.fixture
def program(tmp_path):
    """Runs the command line as people do, in a process of its own."""
    environment = {**os.environ, "LEASEBOARD_CACHE": str(tmp_path / "cache"),
                   "PYTHONPATH": str(ROOT), "COLUMNS": "200"}  # fmt: skip
    environment.pop("LEASEBOARD_MIRROR", None)

    def call(*words, code=0):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr + done.stdout
        return done

    return call


@pytest.fixture
def leaseboard(tmp_path, monkeypatch, capfd):
    """Runs the command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words, code=0):
        with pytest.raises(SystemExit) as stopped:
            main([*words])
        said = capfd.readouterr()
        assert stopped.value.code == code, said
        return SimpleNamespace(stdout=said.out, stderr=said.err)

    return call


def test_help_is_quick_because_heavy_imports_are_lazy(program):
    *text, loaded = program("-c", HELP).stdout.strip().splitlines()

    assert "race" in "\n".join(text)
    assert not HEAVY & set(loaded.split())


def test_every_command_has_help_with_an_example(leaseboard):
    without = [
        words
        for words in commands(typer.main.get_command(app))
        if "Example: leaseboard " not in leaseboard(*words, "--help").stdout
    ]

    assert without == []


def commands(command, *words):
    """The words of every command below `command`."""
    if not isinstance(command, TyperGroup):
        return [words]
    found = command.commands.items()
    return [line for name, child in found for line in commands(child, *words, name)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("rac", "Did you mean 'race'"),
        ("race vanilla", "Missing argument 'data'"),
        ("race vanila sklearn:diabetes", "did you mean 'vanilla'"),
        ("race vanilla sklearn:diabets", "did you mean 'diabetes'"),
        ("race vanilla opnml:3", "did you mean 'openml'"),
        ("race vanilla nowhere.csv", "nowhere.csv"),
        ("race vanilla sklearn:diabetes --seed x", "--seed"),
        ("race vanilla sklearn:diabetes --budget 0", "--budget 0 must be a number above 0"),
        ("race vanilla sklearn:diabetes --budget inf", "--budget inf must be a number above 0"),
        ("race vanilla sklearn:diabetes --budget nan", "--budget nan must be a number above 0"),
        ("race vanilla sklearn:diabetes --target agee", "did you mean 'age'"),
        ("race vanilla sklearn:diabetes --set max_row=3", "did you mean 'max_rows'"),
        ("race vanilla sklearn:diabetes --set max_rows", "is not KEY=VALUE"),
        ("race vanilla sklearn:diabetes --set max_rows=soon", "max_rows='soon'"),
        ("run quik", "did you mean 'quick'"),
        ("run nowhere.yaml", "cannot read nowhere.yaml"),
        ("plan quick --mirror nowhere", "has no catalogue.csv"),
        ("list algorithm", "did you mean 'algorithms'"),
        ("race chacha sklearn:diabetes --set preset=flaml", "take the algorithm 'chacha-flaml'"),
        ("report nowhere", "has no results.parquet"),
        ("prune --older-than 1000000", "'--older-than'"),
        ("model register nowhere", "is not the folder of a suite's finished run"),
    ],
)
def test_wrong_usage_is_one_line_and_exits_with_64(leaseboard, arguments, words):
    done = leaseboard(*arguments.split(), code=64)

    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_data_that_cannot_be_had_exit_with_3(leaseboard):
    done = leaseboard("race", "vanilla", "openml:999999999", "--json", code=3)

    assert "not available" in done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["status"], result["score"]) == ("skipped", None)
    assert "not available" in result["reason"]


def test_ctrl_c_is_one_line_and_exits_with_130(monkeypatch, capsys):
    from leaseboard.flows import cli

    def interrupted():
        raise KeyboardInterrupt

    app = typer.Typer()
    app.command()(interrupted)
    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as stopped:
        cli.main([])

    assert stopped.value.code == 130
    assert capsys.readouterr().err.strip().startswith("leaseboard: stopped by the user")


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_an_unforeseen_error_is_one_line_and_no_regression(monkeypatch, capsys, debug):
    from leaseboard.flows import cli

    def broken():
        raise OverflowError("date value out of range\nand more")

    app = typer.Typer()
    app.command()(broken)
    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as stopped:
        cli.main(debug)
    said = capsys.readouterr().err

    assert stopped.value.code == 2
    assert said.splitlines()[-1] == (
        "leaseboard: internal error: OverflowError: date value out of range;"
        " repeat with --debug for where"
    )
    assert ("Traceback" in said) == bool(debug)


@pytest.mark.parametrize("command", ["compare run run", "report run"])
def test_a_damaged_table_is_named_with_its_mend(leaseboard, tmp_path, command):
    (tmp_path / "run" / "jobs").mkdir(parents=True)
    (tmp_path / "run" / "results.parquet").write_bytes(b"PAR1 and no more")
    (line,) = leaseboard(*command.split(), code=2).stderr.strip().splitlines()

    assert line.startswith("leaseboard: run/results.parquet cannot be read (")
    assert line.endswith("run its suite again, which writes it anew and repeats no finished job")


def test_an_output_folder_that_cannot_be_written_is_named(leaseboard, tmp_path):
    (tmp_path / "file").write_text("")

    assert "'file/out'" in leaseboard(
        "race", "vanilla", "sklearn:diabetes", "--out", "file/out", code=64
    ).stderr  # fmt: skip


def test_race_ends_with_one_json_object_and_repeats_exactly(zygote, tmp_path):
    arguments = ("-m", "leaseboard", "race", "vanilla", "sklearn:diabetes", "--seed", "3",
                 "--json", "--set", "log_target=false")  # fmt: skip
    said = [zygote.run(arguments, cwd=tmp_path).stdout for _ in range(2)]
    one, two = (json.loads(text.splitlines()[-1]) for text in said)
    timings = {"cpu_seconds", "wall_seconds", "setup_seconds", "baselines_cpu_seconds"}

    assert one["status"] == "ok"
    assert one["direction"] == "min"
    assert one["metric"] == "progressive_mse"
    assert one["units"] == 442
    assert one["bench_options"] == {"log_target": False}
    assert Path(one["events"]).is_file()
    assert {k: v for k, v in one.items() if k not in timings} == {
        k: v for k, v in two.items() if k not in timings
    }


def test_race_reports_a_crash_of_an_algorithm_as_status_and_code_2(leaseboard, tmp_path):
    (tmp_path / "broken.py").write_text(
        "from pydantic.dataclasses import dataclass\n"
        "from leaseboard.algorithms.base import Algorithm\n\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Broken(Algorithm):\n"
        "    bench = 'stream'\n\n"
        "    def run(self, bench, seed):\n"
        "        raise RuntimeError('no luck')\n"
        "        yield\n"
    )
    done = leaseboard("race", "broken.py:Broken", "sklearn:diabetes", "--json", code=2)
    record = json.loads(done.stdout.splitlines()[-1])

    assert record["status"] == "crash"
    assert record["score"] is None
    assert "no luck" in record["reason"]


def test_check_names_the_promises_that_an_algorithm_breaks(leaseboard, tmp_path):
    (tmp_path / "unseeded.py").write_text(
        "import numpy as np\n"
        "from pydantic.dataclasses import dataclass\n"
        "from leaseboard.algorithms.base import Algorithm\n\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Unseeded(Algorithm):\n"
        "    bench = 'stream'\n\n"
        "    def run(self, bench, seed):\n"
        "        yield from bench.record(np.random.rand(bench.budget).astype(np.float32))\n"
    )
    text = leaseboard("check", "unseeded.py:Unseeded", code=1).stdout

    assert "FAILED  seeded" in text
    assert "FAILED  global_randomness" in text
    assert "ok      settings" in text


def test_a_missing_file_leaves_no_folder_behind(leaseboard, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['file:no.csv']\nbaselines: false\nalgorithms: [vanilla]\n"
    )

    assert "no such file" in leaseboard("run", "s.yaml", "--local", code=64).stderr
    assert "no such file" in leaseboard("race", "vanilla", "file:no.csv", code=64).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["s.yaml"]


def test_tables_that_are_not_on_a_terminal_have_one_line_a_row(leaseboard, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['openml:999999', {data: 'sklearn:diabetes', name: sugar}]\n"
        "baselines: false\nalgorithms: [vanilla, offline]\nrepetitions: 2\n"
    )
    lines = leaseboard("plan", "s.yaml").stdout.splitlines()
    assert [line.split() for line in (lines[0], *lines[1:9:4])] == [
        ["algorithm", "data", "seed", "key", "state"],
        ["vanilla", "openml:999999", *lines[1].split()[2:4], "skipped"],
        ["vanilla", "sugar", *lines[5].split()[2:4], "to", "run"],
    ]
    assert lines[10].startswith("skipped, 4 jobs: data not available: ")
    assert len(lines) == 11

    listed = leaseboard("list", "algorithms").stdout.splitlines()
    assert listed[0] == "Algorithms"
    assert all(len(line.split("  ")) >= 3 for line in listed[1:])
    settings = [
        line.split(maxsplit=2) for line in leaseboard("list", "chacha").stdout.splitlines()
    ]
    assert ["delta", "0.1", "number > 0 and < 1"] in settings
    assert ["memory", "1000.0", "number > 1"] in settings


def test_a_file_that_cannot_be_written_is_found_before_anything_runs(leaseboard, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['sklearn:wine']\nbaselines: false\nalgorithms: [vanilla]\n"
    )
    done = leaseboard("gate", "s.yaml", "--junit", "nowhere/gate.xml", code=64)

    assert "cannot write 'nowhere/gate.xml'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["s.yaml"]


def test_a_plan_says_how_a_job_ended_that_runs_again(tmp_path):
    from leaseboard.flows.commands.run import _state
    from leaseboard.tasks.folder import results
    from leaseboard.tasks.jobs.job import Job
    from leaseboard.tasks.jobs.run import failed
    from leaseboard.tasks.jobs.suites.plan import Planned

    job = Job("vanilla", "sklearn:diabetes", 0, 0)
    waiting = Planned(job, "k")
    assert _state(waiting, tmp_path) == "to run"

    results.finish(tmp_path, failed(job, "timeout", "too slow", key="k"))
    assert _state(waiting, tmp_path) == "to run (was timeout)"


def test_signs_that_standard_output_cannot_show_are_written_out(monkeypatch):
    """As rich prints tables and boards; `say` leaves it to click, which turns to UTF-8."""
    shown = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    with pytest.raises(SystemExit):
        main(["--version"])
    Console(highlight=False).print("größe ☃")
    shown.flush()

    assert rb"gr\xf6\xdfe \u2603" in shown.buffer.getvalue()

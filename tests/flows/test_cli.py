"""The command line as people use it: whole processes, exit codes, one line for every error."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from leaseboard.flows.commands.options import Command, Commands
from tests.flows.test_every_option import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
HELP = """
import sys
from leaseboard.flows.cli import main
try:
    main(["--help"])
finally:
    print(*sys.modules)
"""
HEAVY = {"mlflow", "prefect", "dask", "pandas", "pyarrow", "scipy", "sklearn", "openml"}


@pytest.fixture
def program(tmp_path):
    """Run the command line as people do, in a process of its own."""
    environment = {**os.environ, "LEASEBOARD_CACHE": str(tmp_path / "cache"),
                   "PYTHONPATH": str(ROOT), "COLUMNS": "200"}  # fmt: skip
    environment.pop("LEASEBOARD_MIRROR", None)

    def call(*words, code=0, environment=environment):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path, env=dict(environment) | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr + done.stdout
        return done

    return call


def test_help_is_quick_because_heavy_imports_are_lazy(program):
    *text, loaded = program("-c", HELP).stdout.strip().splitlines()

    assert "race" in "\n".join(text)
    assert not {*HEAVY, "numpy", "psutil", "pydantic", "yaml"} & set(loaded.split())


def test_every_command_has_help_with_an_example(leaseboard):
    for words in COMMANDS:
        said = leaseboard(*words.split(), "--help").out
        assert "Example: leaseboard " in said, words
        assert re.search(r"--quiet +-q .*\n.*--debug ", said), words


NEWCOMER = ["demo", "list", "learn", "predict", "race", "run"]
PANELS = ["Start", "Learn", "Benchmark", "Production", "Share", "Extend", "Maintain"]


def test_the_help_is_grouped_and_begins_with_what_a_newcomer_needs(leaseboard):
    said = leaseboard("--help").out
    places = [said.index(f" {panel} ") for panel in PANELS]
    named = [line.split()[1] for line in said.splitlines() if re.match(r"│ [a-z]", line)]

    assert places == sorted(places)
    assert named[:6] == NEWCOMER
    assert "<" not in said


def parameters():
    """Yield every parameter of every command, with the words of the command."""
    for words, command in COMMANDS.items():
        for param in command.params:
            yield words.split(), param


SYNONYMS = {"--out", "--anyway", "--remove", "--data", "--folder", "--store", "--silent",
            "--board", "--cores", "--jobs", "--apply", "--config", "--format"}  # fmt: skip


def test_a_flag_has_one_meaning_in_all_commands():
    meanings, users = {}, {}
    for words, param in parameters():
        if param.param_type_name == "option":
            kind = (param.type_descriptor.annotation, param.metavar, param.is_flag)
            flag = max(param.opts, key=len)
            meanings.setdefault(flag, set()).add(kind)
            users.setdefault(flag, []).append((words, param))

    assert {flag: kinds for flag, kinds in meanings.items() if len(kinds) > 1} == {}
    assert not SYNONYMS & meanings.keys()
    for flag, uses in users.items():
        starts = {re.split(r" \(default|[.:;]", param.help)[0] for _, param in uses}
        assert len(starts) == 1, (flag, starts)
        assert all(param.help[-1:] in ".)" for _, param in uses), flag
    flags = {"--json", "--dry-run", "--yes", "--force"}
    assert {flag: [each.is_flag for _, each in users[flag]] for flag in flags} == {
        flag: [True] * len(users[flag]) for flag in flags
    }


def test_the_page_of_the_command_line_has_every_command():
    text = runpy.run_path(str(ROOT / "docs" / "command_line.py"))["page"]()

    assert [words for words in COMMANDS if f"leaseboard {words}" not in text] == []


def test_every_command_refuses_what_it_does_not_know_in_one_form(leaseboard):
    """An option that does not exist, and a text where a number belongs."""
    odd = []
    for words in COMMANDS:
        said = leaseboard(*words.split(), "--nonsense", code=64).err
        if said.count("\n") != 1 or f"; see `leaseboard {words} --help`\n" not in said:
            odd.append(said)
    for words, param in parameters():
        if param.param_type_name == "option" and param.type_descriptor.annotation in (int, float):
            option = param.opts[0]
            said = leaseboard(*words, option, "many", code=64).err
            seen = f"; see `{' '.join(['leaseboard', *words])} --help`\n"
            if f"Invalid value for '{option}'" not in said or not said.endswith(seen):
                odd.append(said)

    assert odd == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("rac", "Did you mean 'race'"),
        ("race", "Missing argument 'ALGORITHM'; see `leaseboard race --help`"),
        ("race vanilla nowhere.csv", "nowhere.csv"),
        ("race vanilla sklearn:diabetes --target agee", "did you mean 'age'"),
        ("race vanilla sklearn:diabetes --set max_rows", "is not KEY=VALUE"),
        ("run quik", "did you mean 'quick'"),
        ("run quick --dry-run --mirror nowhere", "is not a folder"),
        ("race vanilla sklearn:diabetes --metric roc_auc", "no job has the metric 'roc_auc'"),
        ("run quick --dry-run --register a/b", "model name 'a/b' must not"),
        ("report nowhere", "has no results.parquet"),
        ("results prune --keep -1", "'--keep'"),
    ],
)
def test_wrong_usage_is_one_line_and_exits_with_64(leaseboard, arguments, words):
    done = leaseboard(*arguments.split(), code=64)

    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert "Traceback" not in done.err


def test_data_that_cannot_be_had_exit_with_3(leaseboard):
    done = leaseboard("race", "vanilla", "openml:999999999", "--json", code=3)

    assert "not available" in done.err
    result = json.loads(done.out.splitlines()[-1])
    assert (result["status"], result["score"]) == ("skipped", None)
    assert "not available" in result["reason"]


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_an_unexpected_error_is_one_line_and_not_a_regression(monkeypatch, capsys, debug):
    from leaseboard.flows import cli

    def broken():
        """Break."""
        raise OverflowError("date value out of range\nand more")

    app = typer.Typer(cls=Commands)
    app.command(cls=Command)(broken)
    app.callback()(lambda: None)
    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as stopped:
        cli.main([*debug, "broken"])
    said = capsys.readouterr().err

    assert stopped.value.code == 2
    assert said.splitlines()[-1] == (
        "leaseboard: internal error: OverflowError: date value out of range;"
        " repeat with --debug for where"
    )
    assert ("Traceback" in said) == bool(debug)


def test_check_names_the_rule_that_an_algorithm_breaks(leaseboard, tmp_path):
    (tmp_path / "unseeded.py").write_text(
        "import numpy as np\n"
        "from pydantic.dataclasses import dataclass\n"
        "from leaseboard.algorithms.base import Algorithm\n\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Unseeded(Algorithm):\n"
        "    environment = 'stream'\n\n"
        "    def run(self, env, seed):\n"
        "        yield from env.record(np.random.rand(env.budget).astype(np.float32))\n"
    )
    text = leaseboard("check", "unseeded.py:Unseeded", code=1).out

    assert "FAILED  seeded" in text
    assert "FAILED  global_randomness" in text
    assert "ok      audit" in text


def test_a_missing_file_leaves_no_folder_behind(leaseboard, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "title: t\ndata: ['file:no.csv']\nbaselines: false\nalgorithms: [vanilla]\n"
    )

    assert "no such file" in leaseboard("run", "s.yaml", "--local", code=64).err
    assert "no such file" in leaseboard("race", "vanilla", "file:no.csv", code=64).err
    assert [path.name for path in tmp_path.iterdir()] == ["s.yaml"]

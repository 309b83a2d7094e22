"""A user's file is imported in other processes only, and its failure there is one line."""

import json
import os
import signal

import psutil
import pytest

from leaseboard.algorithms import plugins
from leaseboard.algorithms.errors import SettingError, UsageError, UserFileError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs import described
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.processes.child import Limits
from tests.flows.waiting import has_ended, until

SOUND = """
import os
with open({pids!r}, "a") as pids:
    pids.write(str(os.getpid()) + "\\n")

import numpy as np
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm

@dataclass(frozen=True, kw_only=True)
class Mine(Algorithm):
    environment = "stream"
    depth: int = 3

    def run(self, env, seed):
        yield from env.record(np.zeros(env.budget, dtype=np.float32))
"""

ENDS = {
    "sys.exit": ("import sys\n\nsys.exit(0)", "3: SystemExit: 0"),
    "os._exit": ("import os\ndef end():\n    os._exit(0)\nend()",
                 " the process ended with exit code 0"),
    "raises": ("x = 1\nraise RuntimeError('at import\\nof two lines')",
               "2: RuntimeError: at import"),
    "interrupt": ("raise KeyboardInterrupt", "1: KeyboardInterrupt"),
    "syntax": ("x = 1\ny = (", "2: SyntaxError: '(' was never closed"),
    "hangs": ("import time\ntime.sleep(600)", " over the limit of 2 s of wall time"),
    "prints": ("print('x' * 10_000_000)\nraise SystemExit", "2: SystemExit"),
    "environment": (
        "from leaseboard.algorithms import base\nclass X(base.Algorithm): environment = 'no'", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_the_failure_of_an_import_is_one_line_with_the_place(tmp_path, monkeypatch, end, capfd):
    text, said = ENDS[end]
    if end == "hangs":
        monkeypatch.setattr(described, "IMPORT", Limits(wall_seconds=2))
    file = tmp_path / "ends.py"
    file.write_text(text)
    with pytest.raises(UserFileError) as error:
        describe(f"{file}:X", {})

    assert str(error.value).startswith(f"{file}:{said}")
    assert "\n" not in str(error.value)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('in init')", "in init"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("os._exit(0)", "the process ended with exit code 0"),
    ],
)
def test_an_algorithm_that_cannot_be_made_is_one_line_with_the_place(tmp_path, body, said):
    file = tmp_path / "init.py"
    file.write_text(
        "import os, sys\n"
        + SOUND.format(pids=os.devnull)
        + f"\n    def __post_init__(self):\n        {body}\n"
    )
    line = file.read_text()[: file.read_text().index(body)].count("\n") + 1
    with pytest.raises(UserFileError, match=f"init.py:({line}:)? .*{said}"):
        describe(f"{file}:Mine", {})


def test_what_a_sound_file_holds_is_known_as_if_it_were_imported(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SOUND.format(pids=str(tmp_path / "pids")))
    found = describe(f"{file}:Mine", {"depth": "7"})

    assert (found.environment, found.settings) == ("stream", ("depth",))
    with pytest.raises(UsageError, match="there are Mine"):
        describe(f"{file}:Mien")
    with pytest.raises(SettingError, match="did you mean 'depth'") as error:
        describe(f"{file}:Mine", {"deph": 1})
    assert error.value.setting == "deph"
    with pytest.raises(SettingError, match="depth='deep'"):
        describe(f"{file}:Mine", {"depth": "deep"})
    with pytest.raises(UsageError, match=r"no algorithm file .*absent\.py"):
        describe(f"{tmp_path / 'absent.py'}:Mine")


def test_nothing_that_an_import_starts_outlives_it(tmp_path):
    pid, file = tmp_path / "pid", tmp_path / "forks.py"
    file.write_text(
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        f"    open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
        f"while not (os.path.exists({str(pid)!r}) and os.path.getsize({str(pid)!r})):\n"
        "    time.sleep(0.01)\n"
        "raise ValueError\n"
    )
    with pytest.raises(UserFileError, match=r"forks\.py:7: ValueError"):
        describe(f"{file}:X", {})

    until(lambda: has_ended(int(pid.read_text())))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_is_killed_leaves_no_import_running(tmp_path, number, zygote):
    pid = tmp_path / "pid"
    (tmp_path / "hangs.py").write_text(
        f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    with (tmp_path / "said").open("w") as said:
        process = zygote.start(
            ["-m", "leaseboard", "check", "hangs.py:X"], cwd=tmp_path, out=said, err=said
        )
    until(lambda: pid.exists() and pid.stat().st_size)
    process.send_signal(number)
    process.wait()

    until(lambda: not psutil.pid_exists(int(pid.read_text())))


DATA = "synthetic:fried?rows=200&seed=0"


@pytest.mark.parametrize("end", ["sys.exit", "os._exit"])
def test_no_command_takes_the_end_of_a_file_for_a_success(command, tmp_path, end):
    text, said = ENDS[end]
    (tmp_path / "mine.py").write_text(text)
    reason = f"mine.py:{said}"

    out = command("run", "s.yaml", "--dry-run", code=2).out
    assert reason in out
    assert "1 to run" in out
    command("run", "s.yaml", "--local", "--workers", "1", code=2)
    found = {row.name: row for row in results.read_results(tmp_path / "runs" / "s")}
    assert (found["mine"].status, found["mine"].reason) == ("crash", reason)
    assert found["vanilla"].status == "ok"
    ended = command("race", "mine.py:X", DATA, "--json", "--set", "any=1", code=2)
    row = json.loads(ended.out.splitlines()[-1])
    assert row["status"] == "crash"
    assert row["reason"].endswith(said.rpartition(" process")[2])
    assert row["reason"] in ended.err
    ended = command("check", "mine.py:X", code=2)
    assert ended.out == ""
    assert reason in ended.err


def test_no_command_imports_a_user_s_file_in_its_own_process(command, tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "executed", set())
    pids = tmp_path / "pids"
    (tmp_path / "mine.py").write_text(SOUND.format(pids=str(pids)))
    for status, arguments in (
        (0, ["run", "s.yaml", "--dry-run"]),
        (0, ["gate", "s.yaml", "--update-baseline", "--repetitions", "1", "--local"]),
        (0, ["gate", "s.yaml", "--local"]),
        (0, ["race", "mine.py:Mine", DATA]),
        (64, ["race", "mine.py:Mine", DATA, "--register", "mine"]),
        (0, ["check", "mine.py:Mine"]),
    ):  # fmt: skip
        pids.write_text("")
        code, out, err = command(*arguments)
        assert code == status, out + err
        assert pids.read_text() or arguments[0] in {"run", "gate"}, arguments
        assert str(os.getpid()) not in pids.read_text().split(), arguments
    assert not plugins.executed

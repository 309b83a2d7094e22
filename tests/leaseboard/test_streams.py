"""Standard streams that are closed or broken: the command does its work and says how it went."""

import os
import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-P", "-m", "leaseboard"]


def test_a_closed_stream_ends_nothing():
    words = " ".join(f"'{word}'" for word in [*PROGRAM, "list", "-q"])
    assert subprocess.run(["sh", "-c", f"{words} <&- >&- 2>&-"], check=False).returncode == 0


def test_a_reader_that_goes_away_is_not_a_regression():
    """The exit code 1 would say that a score became worse."""
    reader, writer = os.pipe()
    os.close(reader)
    words = [*PROGRAM, "list", "--help"]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_error_keeps_its_code_without_a_reader():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*PROGRAM, "nothing"], stdout=writer, stderr=writer, check=False)
    os.close(writer)
    assert done.returncode == 64


@pytest.mark.parametrize(
    ("words", "redirection", "code"),
    [("list --help", ">", 2), ("nothing", "2>", 64), ("nothing", ">", 64)],
)
def test_a_full_disk_is_said_once_and_is_not_a_regression(words, redirection, code):
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -P -m leaseboard -q {words} {redirection} /dev/full"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code
    said = (done.stdout + done.stderr).splitlines()
    assert len(said) == (redirection == ">")
    assert all(line.startswith("leaseboard: ") for line in said)
    if code == 2:
        assert "the standard output cannot be written (No space left on device)" in said[0]

"""A command that may take long shows a bar on a terminal, and lines elsewhere."""

import os
import pty
import select
import sys
import threading

import pytest
import typer

from leaseboard.flows import console
from leaseboard.flows.cli import app
from leaseboard.tasks.machine import terminal
from tests.flows.test_every_option import COMMANDS

ROOT = typer.main.get_command(app)
OF_TERMINALS = {"pipe": os.pipe, "terminal": pty.openpty}


class Slow:
    """Work of a command that lasts until its progress is read, if there is any."""

    def __init__(self, name, ours):
        self.name, self.ours, self.shown = name, ours, ""

    def __call__(self, **_):
        watched = any(each.name == "progress" for each in threading.enumerate())
        while watched and self.name not in self.shown:
            assert select.select([self.ours], [], [], 240)[0]
            self.shown += os.read(self.ours, 1 << 16).decode()


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("kind", OF_TERMINALS)
def test_a_command_shows_that_it_works_unless_it_is_quiet(kind, quiet, monkeypatch, environment):
    name = "results merge"
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    monkeypatch.setenv("COLUMNS", "150")
    ours, theirs = OF_TERMINALS[kind]()
    command, slow = COMMANDS[name], Slow(name, ours)
    monkeypatch.setattr(command, "callback", slow)
    given = {"obj": {"quiet"} if quiet else set(), "resilient_parsing": True}
    root = typer.Context(ROOT, info_name="leaseboard")
    context = command.make_context(name, [], parent=root, **given)
    with os.fdopen(theirs, "w", buffering=1) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        command.invoke(context)
        left = os.read(ours, 1 << 16) if select.select([ours], [], [], 0)[0] else b""
    os.close(ours)

    assert (name in slow.shown) is not quiet
    assert not (quiet and left)
    assert ("\x1b" in slow.shown) is (kind == "terminal" and not quiet)
    assert kind == "terminal" or quiet or slow.shown.splitlines()[0] == f"{name}: working for 0 s"


def test_a_bar_goes_around_what_is_printed(monkeypatch):
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    ours, theirs = pty.openpty()

    def shown():
        return os.read(ours, 1 << 16).decode()

    with os.fdopen(theirs, "w") as screen:
        monkeypatch.setattr(sys, "stderr", screen)
        with terminal.watched("results verify", as_bar=True):
            said = shown()
            console.say("a line", err=True)
            while "a line" not in said:
                said += shown()
            with terminal.Activity("a part", 2, done=1):
                while "1 of 2" not in said or "a part" not in said:
                    said += shown()
    os.close(ours)

    assert "results verify" in said[: said.index("a line")]
    assert "a part" in said[said.index("a line") :]


def test_a_process_forks_while_a_line_is_written(monkeypatch):
    """A child that writes does not wait for a thread that only its parent has."""
    with terminal.drawing:
        if (child := os.fork()) == 0:
            with terminal.drawing:
                os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

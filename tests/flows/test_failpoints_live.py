"""Commands on a live model end at each failpoint, and are run again."""

from types import SimpleNamespace

import pytest

from tests.flows.swept import Live, update
from tests.sweep import POINTS, Sweep

COMMANDS = {
    "first update": (update(0), Live.described),
    "update": (update(4), Live.troubled),
    "promote": (["live", "promote", "sales.yaml", "--force"], Live.with_challenger),
    "forget": (
        ["live", "forget", "sales.yaml", "--id", "0-1", "--reason", "asked"],
        Live.troubled,
    ),
}

BEGINS = {"live.after-begin", "live.after-version"}
PASSED = {
    "first update": BEGINS,
    "update": {each for each in POINTS if each.startswith(("live.", "store."))} - BEGINS,
}
"""Points that each passes."""
WRITTEN = ("store.", "file.", "live.after-batch", "live.after-version", "live.before-end")
"""Points of an update at which the disk may be full."""


@pytest.fixture
def news(swept, monkeypatch):
    """Have Prefect there, as far as events go."""
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr("leaseboard.flows.server.fault_of", lambda _: None)
    monkeypatch.setattr("leaseboard.flows.live_update.current_run", lambda: "sweep")
    monkeypatch.setattr("prefect.events.emit_event", swept.emit)
    idle = SimpleNamespace(instance=lambda: SimpleNamespace(wait_until_empty=lambda: None))
    monkeypatch.setattr("prefect.events.worker.EventsWorker", idle)


@pytest.mark.usefixtures("news")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_ends_anywhere_is_made_good_by_the_next(name, swept, capsys):
    words, prepare = COMMANDS[name]
    if "update" not in name:
        words = [*words, "--run-dir", "."]
    sweep = Sweep(words, swept.folder, lambda _: prepare(swept), swept.outcome, before=swept.clear)
    sweep.passes = PASSED.get(name, ())
    if name == "first update":  # from its beginning to the version: what follows is every update's
        sweep.points, sweep.passages = sorted({*BEGINS, "live.after-alias"}), 1
    if name == "update":
        sweep.full = WRITTEN
    if name == "promote":
        sweep.is_done = swept.has_said
    sweep.run()
    with capsys.disabled():
        print(f"\nlive {name}: {sweep.cases} cases, {len(sweep.faults)} faults")
    assert not sweep.faults, "\n".join(each[:2000] for each in sweep.faults)

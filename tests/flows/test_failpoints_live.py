"""Commands on a live model end at each failpoint, and are run again."""

from types import SimpleNamespace

import pytest

from leaseboard.tasks.machine.failpoints import POINTS
from tests.flows.swept import Live, update
from tests.sweep import Sweep, passed

OWN = ("live.", "store.")
INIT = ["live", "init", "sales.yaml", "--files", "inbox/*.csv", "--target", "revenue",
        "--id-column", "order", "--time", "when"]  # fmt: skip
COMMANDS = {
    "init": (INIT, Live.started),
    "first update": (update(0), Live.described),
    "update": (update(4), Live.troubled),
    "labels": (update(3), Live.labels_early),
    "retrain": (update(5), Live.retraining),
    "status": (["live", "status", "sales.yaml"], Live.with_challenger),
    "promote": (["live", "promote", "sales", "--force"], Live.with_challenger),
    "rollback": (["live", "rollback", "sales"], Live.promoted),
    "forget": (
        ["live", "forget", "sales.yaml", "--id", "0-1", "--reason", "asked"],
        Live.troubled,
    ),
}


@pytest.fixture
def news(swept, monkeypatch):
    """Have Prefect there, as far as events go."""
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr("httpx.get", lambda *_, **__: None)
    monkeypatch.setattr("leaseboard.flows.live_update.current_run", lambda: "sweep")
    monkeypatch.setattr("prefect.events.emit_event", swept.emit)
    idle = SimpleNamespace(instance=lambda: SimpleNamespace(wait_until_empty=lambda: None))
    monkeypatch.setattr("prefect.events.worker.EventsWorker", idle)


@pytest.mark.slow
@pytest.mark.usefixtures("news")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_ends_anywhere_is_made_good_by_the_next(name, swept, capsys):
    words, prepare = COMMANDS[name]
    if name not in ("init", "first update", "update", "labels", "retrain"):
        words = [*words, "--run-dir", "."]
    sweep = Sweep(words, swept.folder, lambda _: prepare(swept), swept.outcome, before=swept.clear)
    if name in ("first update", "status"):
        sweep.passages = 1
    if name == "init":
        sweep.is_done = lambda home: (home / "sales.contract.yaml").exists()
    if name in ("promote", "rollback"):
        sweep.is_done = swept.has_said
    sweep.run()
    with capsys.disabled():
        print(f"\nlive {name}: {sweep.cases} cases, {len(sweep.faults)} faults")
    assert not sweep.faults, "\n".join(each[:2000] for each in sweep.faults)


@pytest.mark.usefixtures("news")
def test_an_update_that_is_killed_is_made_good_by_the_next(swept):
    words, prepare = COMMANDS["update"]
    sweep = Sweep(
        words, swept.folder, lambda _: prepare(swept), swept.outcome, before=swept.clear,
        actions=(), points=("live.after-batch", "live.after-post"), passages=1,
    )  # fmt: skip
    sweep.run()
    assert sweep.cases > 1
    assert not sweep.faults, "\n".join(each[:2000] for each in sweep.faults)


@pytest.mark.slow
def test_each_point_is_passed_by_a_command():
    assert {each for each in POINTS if each.startswith(OWN)} <= passed

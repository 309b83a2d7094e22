"""A live model in any order of what can happen to it: a state machine of Hypothesis."""

import asyncio
import json
import os
import re
import shutil
import signal
import tempfile
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from benchmarks.drill import learned_rows, miscounted, record_learned_rows
from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.flows import live_update as flow
from leaseboard.tasks.live import incidents
from leaseboard.tasks.live import update as updates
from leaseboard.tasks.live.candidates import CHAMPION, ROLLED_BACK, change_by_hand
from leaseboard.tasks.live.model import LiveModel, erase
from leaseboard.tasks.live.rows import Snapshot, features_of
from leaseboard.tasks.machine.disk import VARIABLE
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.stream_model import StreamModel
from leaseboard.tasks.serve.champion import Champion, Desk
from tests.machines import run_machine
from tests.sweep import POINTS, query
from tests.tasks.live.world import BEGIN, World

KEEP = """\
name: sales
data: {source: "folder:inbox/*.csv", time: when, id: order, target: revenue, label_delay: 1d}
model: {algorithm: online-automl, settings: {b: 2}}
retrain: {rows: 20, window: 100}
contract: contract.yaml
alerts: ['http://127.0.0.1:9/']
"""
KILLS = sorted(each for each in POINTS if each.startswith(("store.", "live.")))
SERVING = ["", "serve.before-log=disk-full", "serve.after-log=raise"]


class LiveModelMachine(RuleBasedStateMachine):
    """Days, labels, faults, kills and people, in any order."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(StreamModel, "learn", StreamModel.learn)  # to be undone
        record_learned_rows()
        self.sent, self.kills = self.folder / "sent", 0
        self.sent.touch()
        self.patch.setattr(updates, "build", lambda *_: None)
        self.patch.setattr(incidents, "_post", self.post)
        self.world = World(self.folder / "home", KEEP, rows=8, first=40)
        self.day, self.now = 0, BEGIN + timedelta(days=1, hours=4)
        self.delivered = set(self.world.day(0, 40)["order"])
        self.waiting, self.broken = {}, {}
        self.answered, self.forgotten = set(), set()
        try:
            self.update()
        except BaseException:  # no one tears down what was not made
            self.patch.undo()
            raise

    def teardown(self):
        try:
            self.nothing_is_lost()
        finally:
            self.patch.undo()
            shutil.rmtree(self.folder)

    def nothing_is_lost(self):
        for path, frame in self.broken.items():
            frame.to_csv(path, index=False)
        self.now += timedelta(days=1)
        self.update()
        rows = query(self.folder / "home/state.sqlite",
                     "select id, label_batch is null from live_sales_rows")  # fmt: skip
        expected = self.delivered - self.forgotten
        assert {each[0] for each in rows} == expected
        waiting = {each for ids in self.waiting.values() for each in ids}
        assert {each[0] for each in rows if each[1]} == waiting - self.forgotten

    def post(self, _client, _address, body):
        with self.sent.open("a") as file:
            file.write(json.dumps(body) + "\n")

    @property
    def live(self):
        return LiveModel.read(self.world.settings, self.world.state)

    def run_update(self):
        flow.run_update(self.world.settings, self.world.home, self.now, local=True)

    def recount(self):
        self.before = learned_rows(self.world.settings, self.world.home)

    # What happens

    @rule(labelled=st.booleans(), renamed=st.sampled_from([False, False, False, True]))
    def deliver(self, labelled, renamed):
        """Deliver a day's rows, some without labels, and some under another name of a column."""
        self.day += 1
        self.now = max(self.now, BEGIN + timedelta(days=self.day + 1, hours=4))
        frame = self.world.day(self.day)
        self.delivered |= set(frame["order"])
        if not labelled:
            self.waiting[self.day] = list(frame["order"])
            frame["revenue"] = float("nan")
        path = self.world.deliver(self.day, frame.rename(columns={"a": "b"}) if renamed else frame)
        if renamed:
            self.broken[path] = frame

    @precondition(lambda self: self.broken)
    @rule()
    def fix(self):
        path, frame = self.broken.popitem()
        frame.to_csv(path, index=False)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def deliver_labels(self, data):
        """Deliver the labels of an earlier day alone, twice in the same file's name or another."""
        day = data.draw(st.sampled_from(sorted(self.waiting)))
        del self.waiting[day]
        self.world.deliver(day, self.world.day(day)[["order", "revenue"]], "-labels")

    @precondition(lambda self: self.day)
    @rule(data=st.data())
    def deliver_again(self, data):
        """Deliver a day once more, in another file and another order, if its labels have come."""
        days = sorted(set(range(1, self.day + 1)) - self.waiting.keys())
        if days:
            day = data.draw(st.sampled_from(days))
            self.world.deliver(day, self.world.day(day)[::-1], f"-again-{self.now:%j}")

    @rule()
    def update(self):
        self.run_update()
        assert self.world.state.outbox() == {}
        self.each_champion_has_its_evidence()
        if not hasattr(self, "before"):
            self.recount()
        opened = [each.subject for each in self.world.state.history() if each.kind == "opened"]
        messages = [json.loads(line) for line in self.sent.read_text().splitlines()]
        count = Counter((each["id"], each["status"]) for each in messages)
        assert sum(status == "opened" for _, status in count) == len(opened)
        assert sum(count.values()) - len(count) <= self.kills, "sent twice without a kill"

    def each_champion_has_its_evidence(self):
        """Look at all that became champion by an update: its e-value was enough."""
        enough = 1 / self.world.settings.compare.alpha
        kinds = "champion", "rolled back"
        history = self.world.state.history()
        changes = [each for each in history if each.kind in kinds and "by hand" not in each.what]
        found = [re.search(r"evidence (\S+) after", each.what) for each in changes]
        assert all(each and float(each[1]) >= enough for each in found)

    @rule(point=st.sampled_from(KILLS), number=st.integers(1, 9))
    def killed_update(self, point, number):
        """Update in a fork that is killed at a point, if it passes it so often."""
        child = os.fork()
        if not child:
            os.environ[VARIABLE] = f"{point}=kill@{number}"
            code = 1
            try:
                self.run_update()
                code = 0
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL)
        self.kills += code != 0

    @rule()
    def two_updates(self):
        with self.world.state.update_lock(), pytest.raises(UsageError, match="another update"):
            self.run_update()

    @rule(days=st.sampled_from([-3, -1, 1, 4]))
    def clock(self, days):
        """Move the clock by so many days."""
        self.now += timedelta(days=days)

    @rule(force=st.booleans())
    def promote(self, force):
        with suppress(UsageError), self.world.state.update_lock():  # without a challenger
            change_by_hand(self.live, self.now.isoformat(), CHAMPION, anyway=force)

    @rule()
    def roll_back(self):
        with suppress(UsageError), self.world.state.update_lock():  # without a previous champion
            change_by_hand(self.live, self.now.isoformat(), ROLLED_BACK)

    @rule(data=st.data())
    def forget(self, data):
        """Delete a row by its id, and never learn it again."""
        identity = data.draw(st.sampled_from(sorted(self.delivered)))
        with self.world.state.update_lock():
            erase(self.live, [identity], "asked", self.now)
        self.forgotten.add(identity)
        self.answered.discard(identity)
        self.recount()

    @rule(failpoint=st.sampled_from(SERVING), number=st.integers(1, 5))
    def serve(self, failpoint, number):
        """Ask for predictions of rows of the next day."""
        state, live = self.world.state, self.live
        champion = next((each for each in state.candidates() if each.role == "champion"), None)
        learned = load(state.model(champion.model), "the champion")
        snapshot = Snapshot(features_of(live.contract, live.settings.data, {}), learned)
        version = Champion(snapshot, "sales", "1", str(champion.number), champion.model,
                           self.world.lifecycle.kinds)  # fmt: skip
        frame = self.world.day(self.day + 1)[:number]
        rows = [snapshot.read(row) for row in frame.drop(columns="revenue").to_dict("records")]
        ids = list(frame["order"])
        desk = Desk(state, lambda: self.now)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(VARIABLE, failpoint)
            try:
                found = asyncio.run(desk.ask(version, ids, rows))
            except (LeaseboardError, OSError, RuntimeError):
                assert failpoint
            else:
                assert not failpoint
                assert len(found) == number
                self.answered |= set(ids) - self.forgotten
            finally:
                desk.stop()

    # What holds at any moment

    @invariant()
    def each_prediction_is_logged(self):
        state = self.folder / "home/state.sqlite"
        served = {each for (each,) in query(state, "select id from live_sales_served")}
        assert self.answered <= served

    @invariant()
    def each_label_is_learned_once(self):
        found = learned_rows(self.world.settings, self.world.home)
        assert miscounted(self.before, found) == 0


def test_orders():
    run_machine(LiveModelMachine, 3, 12)

"""Sixty days of a live model with everything going wrong once, replayed from real streams.

``python -m benchmarks.drill --mirror DIR [--seeds 10] [--streams bike ...] [--clean]`` delivers a
file a day, is updated each night, and hits each stream at random days with: a renamed column, a
unit changed by 1,000, a column gone missing, a stale file, labels three days late, labels flipped
for a day, a real drift, a day that comes twice, a kill in the middle of an update and a full disk.

It prints for each incident in how many runs it was reported within a day, and once; false alarms;
rows that were lost, or not learned exactly once; and for each change of the champion the loss of
the new one and of the one before on labels that came later, which did not decide it. With
``--clean`` nothing goes wrong.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import select

from benchmarks.drill_faults import (
    BEGIN,
    FIXED_AFTER,
    INCIDENTS,
    STREAMS,
    DailyStream,
    Fix,
    Inbox,
    as_usual,
    load,
)
from leaseboard.algorithms.seeds import generator
from leaseboard.flows.live_update import run_update
from leaseboard.tasks.live.candidates import CHAMPION
from leaseboard.tasks.live.first_files import write_contract
from leaseboard.tasks.live.incidents import LifecycleState
from leaseboard.tasks.live.model import state_of
from leaseboard.tasks.live.record import ROLES, ModelRecord
from leaseboard.tasks.live.settings import LiveSettings, read_settings
from leaseboard.tasks.models.columns import Values
from leaseboard.tasks.models.model import load as load_model
from leaseboard.tasks.models.stream_model import StreamModel
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import tables_of

LEARNED = "learned"
"""What `about` of a model has of the rows that it learned: their ids."""
HISTORY, DAYS, APART = 30, 60, 5
"""Days that the first file holds, days that are replayed, and days between two incidents."""


@dataclass(frozen=True)
class DrillPlan:
    """Plan of a replay: its length and its faults, at most one in five days."""

    incidents: Sequence[str] = tuple(INCIDENTS)
    history: int = HISTORY
    days: int = DAYS


class Webhook(ThreadingHTTPServer):
    """Webhook that keeps its notifications."""

    def __init__(self) -> None:
        self.reported: list[dict[str, str]] = []
        super().__init__(("127.0.0.1", 0), _Listener)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Return where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Listener(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.reported.append(json.loads(self.rfile.read(length)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


KEEP = """\
name: drill
data: {{source: "folder:inbox/*.csv", time: when, id: id, target: "{target}", label_delay: 1d}}
model: {{algorithm: online-automl}}
retrain: {{every: 14d, when: drift, window: 3000}}
contract: contract.yaml
alerts: ["{webhook}"]
"""


@dataclass
class Reported:
    """Results of one replay."""

    noticed: dict[str, bool] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    """By incident: how many messages opened in its days."""
    false_alarms: int = 0
    roll_backs: int = 0
    """Notifications on days without an incident: evidence, not an alarm."""
    lost: int = 0
    """Rows that were delivered and are neither in the state nor quarantined with a reason."""
    miscounted: int = 0
    """Rows that a candidate learned more than once, or never."""
    later: list[float] = field(default_factory=list)
    """By promotion: the champion's loss on later labels, divided by that of the one before."""


def replay(stream: DailyStream, seed: int, home: Path, plan: DrillPlan) -> Reported:
    """Replay days of one stream."""
    history, last = plan.history, plan.history + plan.days
    rng = generator("drill", seed)
    days = (len(stream.frame) - 1) // stream.rows
    start = int(rng.integers(0, days - last)) * stream.rows
    (home / "inbox").mkdir(parents=True)
    inbox, webhook = Inbox(home / "inbox", stream, start, history), Webhook()
    (home / "drill.yaml").write_text(KEEP.format(target=stream.target, webhook=webhook.address))
    keep = read_settings(home / "drill.yaml")
    past = pd.concat([inbox.day(n) for n in range(history)], ignore_index=True)
    inbox.deliver(past, "history")
    write_contract(keep, BEGIN + timedelta(days=history))
    run_update(keep, home, BEGIN + timedelta(days=history, hours=1), local=True)
    names = list(rng.permutation(list(plan.incidents)))
    planned = dict(zip(range(history + 3, last, APART), names, strict=False))
    reported, fixes = Reported(), dict[int, list[Fix]]()
    learned = learned_rows(keep, home)
    for number in range(history, last):
        name = planned.get(number, "")
        before = len(webhook.reported)
        deliver = INCIDENTS[name][0] if name else as_usual
        fix = deliver(inbox, number)
        for each in fixes.pop(number, []):
            each()
        fixes.setdefault(number + FIXED_AFTER.get(name, 1), []).append(fix)
        now = BEGIN + timedelta(days=number + 1, hours=1)
        if name in FATAL:
            FATAL[name](home, now)
        else:
            run_update(keep, home, now, local=True)
        _count(reported, planned, number, webhook.reported[before:])
        now_learned = learned_rows(keep, home)
        reported.miscounted += miscounted(learned, now_learned)
        learned = now_learned
    state = state_of(keep, home)
    known = state.rows_of(sorted(inbox.delivered)).keys()
    quarantined = {each["id"] for each in state.quarantined_rows()}
    reported.lost = len(inbox.delivered - known - quarantined)
    reported.later = later_losses(ModelRecord(keep, state, now))
    webhook.shutdown()
    webhook.server_close()
    return reported


def _count(
    reported: Reported,
    planned: Mapping[int, str],
    number: int,
    messages: Sequence[Mapping[str, str]],
) -> None:
    """Record the incidents that an update's messages report: of its day and the four after it."""
    for message in messages:
        if message["status"] != "opened":
            continue
        for day in range(number, number - APART, -1):
            name = planned.get(day, "")
            if name and message["kind"] in INCIDENTS[name][1] | ECHOES.get(name, set()):
                if message["kind"] in INCIDENTS[name][1]:
                    reported.messages[name] = reported.messages.get(name, 0) + 1
                    limit = FIXED_AFTER.get(name, 1)
                    reported.noticed[name] = (
                        reported.noticed.get(name, False) or number - day <= limit
                    )
                break
        else:
            reported.roll_backs += message["kind"] == "rolled back"
            reported.false_alarms += message["kind"] != "rolled back"
            print("    false:", number, message["kind"], message["text"][:150], file=sys.stderr)


@dataclass(frozen=True)
class LearnedRows:
    """Rows that each candidate has learned, and should have learned."""

    due: frozenset[str]
    """Rows whose label has come, but for those that wait to be learned, or were left out."""
    by_candidate: Mapping[int, Counter[str]]


def record_learned_rows() -> None:
    """Have each model that learns row by row note in its own file which rows it has learned."""
    learn = StreamModel.learn

    def learn_and_record(
        self: StreamModel, rows: Sequence[Values], labels: Sequence[Any], ids: Sequence[str]
    ) -> None:
        self.model.about[LEARNED] = [*self.model.about.get(LEARNED, ()), *ids]
        learn(self, rows, labels, ids)

    StreamModel.learn = learn_and_record  # type: ignore[method-assign]


def learned_rows(keep: LiveSettings, home: Path) -> LearnedRows:
    """Return which rows the candidates have learned so far."""
    state, found = state_of(keep, home), dict[int, Counter[str]]()
    with state.connected() as connection:
        rows = tables_of(state.name).rows.c
        labelled = connection.scalars(select(rows.id).where(rows.label_batch.is_not(None))).all()
    lifecycle = LifecycleState.read(state.lifecycle())
    waiting = lifecycle.doubtful.rows if lifecycle.doubtful else ()
    for each in state.candidates():
        if each.role in ROLES:
            assert each.model is not None
            model = load_model(state.model(each.model), each.model)
            assert isinstance(model, StreamModel)
            found[each.number] = Counter(model.model.about[LEARNED])
            assert found[each.number].total() == each.learned == model.model.examples
    return LearnedRows(frozenset(labelled).difference(waiting, lifecycle.left_out), found)


def miscounted(before: LearnedRows, after: LearnedRows) -> int:
    """Return the rows that the worst candidate learned in between more than once, or wrongly."""
    due = Counter(after.due - before.due)
    both = before.by_candidate.keys() & after.by_candidate.keys()
    new = (after.by_candidate[each] - before.by_candidate[each] for each in both)
    return max((((each - due) + (due - each)).total() for each in new), default=0)


def later_losses(record: ModelRecord) -> list[float]:
    """Return for each change of the champion its loss divided by that of the one before.

    Both are of the days after the change that both have predicted, until the next change.
    """
    moves = [each for each in record.history if each.kind in ("created", CHAMPION)]
    moves = [*moves[:1], *(each for each in moves[1:] if each.kind == CHAMPION)]
    reigns = [(each.at, int(each.subject)) for each in moves]
    found, ends = [], [*(start[:10] for start, _ in reigns[2:]), "9999"]
    for ((_, before), (start, now)), end in zip(pairwise(reigns), ends, strict=False):
        both = [day for day, totals in record.days.items()
                if start[:10] < day <= end and {before, now} <= totals.keys()]  # fmt: skip
        theirs, ours = record.total(before, both), record.total(now, both)
        if ours:
            found.append(ours["loss"] / theirs["loss"])
    return found


def _killed(home: Path, now: datetime) -> None:
    """Run an update that is killed a moment after it has begun."""
    state = state_of(read_settings(home / "drill.yaml"), home)
    with subprocess.Popen(_command(home, now), cwd=home, stdout=subprocess.DEVNULL) as child:
        while not _is_running(state) and child.poll() is None:
            time.sleep(0.002)
        time.sleep(now.day / 100)  # another moment each time
        child.send_signal(signal.SIGKILL)


def _is_running(state: State) -> bool:
    return state.last_update().get("ended", "") is None


def _disk_full(home: Path, now: datetime) -> None:
    """Run an update that cannot write beyond the first page of any file."""
    subprocess.run(
        _command(home, now), cwd=home, capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )  # fmt: skip


FATAL = {"kill -9": _killed, "disk full": _disk_full}
"""Faults that end an update too early."""
ECHOES = {
    "renamed column": {"data"},
    "drift": {"rolled back"},
    "labels flipped": {"rolled back"},
    "unit changed": {"data"},
    "day twice": {"data"},
}
"""Kinds that report the same fault in addition."""


def _command(home: Path, now: datetime) -> list[str]:
    code = "from benchmarks import drill; from leaseboard.flows import cli;"
    code += "drill.record_learned_rows(); raise SystemExit(cli.main())"
    return [sys.executable, "-c", code, "live", "update", "drill.yaml", "--local",
            "--run-dir", str(home), "--at", now.isoformat()]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay and print; 1 if an incident was not noticed or a row was lost."""
    parser = argparse.ArgumentParser(description="a live model with everything going wrong")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--streams", nargs="+", default=list(STREAMS), choices=STREAMS)
    parser.add_argument("--clean", action="store_true", help="nothing goes wrong")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
    record_learned_rows()
    failed, plan = False, DrillPlan(()) if given.clean else DrillPlan()
    for name in given.streams:
        stream = load(name, given.mirror)
        found = []
        for seed in range(given.seeds):
            with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
                found.append(replay(stream, seed, Path(folder), plan))
        runs = len(found)
        print(f"{name}: {runs} replays of {DAYS} days", flush=True)
        for incident in plan.incidents:
            noticed = sum(each.noticed.get(incident, False) for each in found)
            once = sum(each.messages.get(incident, 0) == 1 for each in found)
            failed |= noticed < runs
            print(f"  {incident:16} noticed in time {noticed} of {runs}, reported once {once}")
        alarms = [each.false_alarms for each in found]
        print(f"  false alarms: {sum(alarms) / runs:.2f} a replay, at most {max(alarms)}")
        print(f"  in addition, {sum(e.roll_backs for e in found) / runs:.2f} roll-backs a replay")
        lost, miscounted = sum(each.lost for each in found), sum(e.miscounted for e in found)
        print(f"  rows lost {lost}, learned twice or never {miscounted}")
        later = sorted(ratio for each in found for ratio in each.later)
        print(
            f"  on later labels {sum(ratio < 1 for ratio in later)} of {len(later)} new champions"
            f" lost less than the one before; their losses divided by its: {later}"
        )
        failed |= any(each.lost or each.miscounted for each in found)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())

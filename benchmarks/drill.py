"""Sixty days of a kept model with everything going wrong once, replayed from real streams.

``python -m benchmarks.drill --mirror DIR [--seeds 10] [--streams bike ...] [--clean]`` delivers a
file a day, takes a turn each night, and hits each stream at random days with: a renamed column, a
unit changed by 1,000, a column gone missing, a stale file, labels three days late, labels flipped
for a day, a real drift, a day that comes twice, a kill in the middle of a turn and a full disk.

It prints for each incident in how many runs it was told within a day, and once; false alarms;
rows that were lost, or not learned exactly once; and turns after which the champion was worse than
the one before by the evidence of their duel. With ``--clean`` nothing goes wrong.
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
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path

import pandas as pd
from sqlalchemy import func, select

from benchmarks.drill_faults import (
    BEGIN,
    INCIDENTS,
    MENDED_AFTER,
    STREAMS,
    DailyStream,
    Inbox,
    Mend,
    as_usual,
    load,
)
from leaseboard.algorithms.seeds import generator
from leaseboard.flows.keep import run_turn
from leaseboard.tasks.keep.beginning import write_contract
from leaseboard.tasks.keep.lifecycle import LifecycleState
from leaseboard.tasks.keep.opening import state_of
from leaseboard.tasks.keep.settings import Keep, read_keep
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS
from leaseboard.tasks.models.continued import Continued
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Lineage, tables_of

HISTORY, DAYS, APART = 30, 60, 5
"""Days that the first file holds, days that are replayed, and days between two incidents."""


@dataclass(frozen=True)
class DrillPlan:
    """How long a replay lasts, and what goes wrong in it, at most one thing in five days."""

    incidents: Sequence[str] = tuple(INCIDENTS)
    history: int = HISTORY
    days: int = DAYS


class Webhook(ThreadingHTTPServer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, str]] = []
        super().__init__(("127.0.0.1", 0), _Listener)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Listener(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.told.append(json.loads(self.rfile.read(length)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


KEEP = """\
name: drill
data: {{source: "folder:inbox/*.csv", time: when, id: id, target: "{target}", label_delay: 1d}}
model: {{algorithm: chacha}}
retrain: {{every: 14d, when: drift, window: 3000}}
contract: contract.yaml
alerts: {{webhook: "{webhook}"}}
"""


@dataclass
class Told:
    """What one replay came to."""

    noticed: dict[str, bool] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    """By incident: how many messages opened in its days."""
    false_alarms: int = 0
    roll_backs: int = 0
    """Told in the days of no incident: evidence, and no alarm."""
    lost: int = 0
    """Rows that were delivered and are neither in the state nor set aside with a reason."""
    miscounted: int = 0
    """Rows that a lineage learned more than once, or never."""
    worse: int = 0
    """Turns after which the one before was better than the champion, at evidence 1/alpha."""
    champions: int = 0


def replay(stream: DailyStream, seed: int, home: Path, plan: DrillPlan) -> Told:
    """Days of one stream."""
    history, last = plan.history, plan.history + plan.days
    rng = generator("drill", seed)
    days = (len(stream.frame) - 1) // stream.rows
    start = int(rng.integers(0, days - last)) * stream.rows
    (home / "inbox").mkdir(parents=True)
    inbox, webhook = Inbox(home / "inbox", stream, start, history), Webhook()
    (home / "drill.yaml").write_text(KEEP.format(target=stream.target, webhook=webhook.address))
    keep = read_keep(home / "drill.yaml")
    past = pd.concat([inbox.day(n) for n in range(history)], ignore_index=True)
    inbox.deliver(past, "history")
    write_contract(keep, BEGIN + timedelta(days=history))
    run_turn(keep, home, BEGIN + timedelta(days=history, hours=1), local=True)
    names = list(rng.permutation(list(plan.incidents)))
    planned = dict(zip(range(history + 3, last, APART), names, strict=False))
    told, mends = Told(), dict[int, list[Mend]]()
    learned = _learned(keep, home)
    for number in range(history, last):
        name = planned.get(number, "")
        before = len(webhook.told)
        deliver = INCIDENTS[name][0] if name else as_usual
        mend = deliver(inbox, number)
        for each in mends.pop(number, []):
            each()
        mends.setdefault(number + MENDED_AFTER.get(name, 1), []).append(mend)
        now = BEGIN + timedelta(days=number + 1, hours=1)
        if name in FATAL:
            FATAL[name](home, now)
        else:
            run_turn(keep, home, now, local=True)
        _count(told, planned, number, webhook.told[before:])
        now_learned = _learned(keep, home)
        told.miscounted += _miscounted(learned, now_learned)
        told.worse += _is_worse(keep, home)
        learned = now_learned
    state = state_of(keep, home)
    known = state.rows_of(sorted(inbox.delivered)).keys()
    set_aside = {each["id"] for each in state.asides()}
    told.lost = len(inbox.delivered - known - set_aside)
    told.miscounted += _unlike_their_count(state, home)
    told.champions = sum(each.kind == "champion" for each in state.history())
    webhook.shutdown()
    webhook.server_close()
    return told


def _count(
    told: Told, planned: Mapping[int, str], number: int, messages: Sequence[Mapping[str, str]]
) -> None:
    """Which incident the messages of a turn tell of: those of its day and the four after it."""
    for message in messages:
        if message["status"] != "opened":
            continue
        for day in range(number, number - APART, -1):
            name = planned.get(day, "")
            if name and message["kind"] in INCIDENTS[name][1] | ECHOES.get(name, set()):
                if message["kind"] in INCIDENTS[name][1]:
                    told.messages[name] = told.messages.get(name, 0) + 1
                    limit = MENDED_AFTER.get(name, 1)
                    told.noticed[name] = told.noticed.get(name, False) or number - day <= limit
                break
        else:
            told.roll_backs += message["kind"] == "rolled back"
            told.false_alarms += message["kind"] != "rolled back"
            print("    false:", number, message["kind"], message["text"][:150], file=sys.stderr)


@dataclass(frozen=True)
class LearnedRows:
    """How many rows each lineage has learned, and how many it should have."""

    due: int
    """Rows whose label has come, but for those that wait to be learned, or were left out."""
    by_lineage: Mapping[int, int]


def _learned(keep: Keep, home: Path) -> LearnedRows:
    state = state_of(keep, home)
    with state.begun() as connection:
        rows = tables_of(state.name).rows.c
        settled = connection.scalar(select(func.count()).where(rows.settled.is_not(None))) or 0
    left_out = sum(
        int(each.what.split()[0]) for each in state.history() if each.kind == "left out"
    )
    doubtful = LifecycleState.read(state.memory()).doubtful
    waiting = len(doubtful.rows) if doubtful else 0
    found = {each.number: each.learned for each in _living(state)}
    return LearnedRows(settled - left_out - waiting, found)


def _living(state: State) -> list[Lineage]:
    """The lineages that learn."""
    return [e for e in state.lineages() if e.role in (CHAMPION, CHALLENGER, PREVIOUS)]


def _unlike_their_count(state: State, folder: Path) -> int:
    """Rows by which what a model has learned differs from what the state says, of all models."""
    found = 0
    for each in _living(state):
        assert each.model is not None
        path = folder / each.model
        path.write_bytes(state.model(each.model))
        found += abs(Continued.load(path).model.examples - each.learned)
    return found


def _miscounted(before: LearnedRows, after: LearnedRows) -> int:
    """Rows too many or too few that lineages learned in between, of the worst lineage."""
    due = after.due - before.due
    both = before.by_lineage.keys() & after.by_lineage.keys()
    wrong = [abs(after.by_lineage[n] - before.by_lineage[n] - due) for n in both]
    return max(wrong, default=0)


def _is_worse(keep: Keep, home: Path) -> bool:
    """Whether the one before is better than the champion that a turn leaves to be served."""
    duel = LifecycleState.read(state_of(keep, home).memory()).duels.get(PREVIOUS)
    return duel is not None and duel.decision(keep.compare.alpha) == "challenger"


def _killed(home: Path, now: datetime) -> None:
    """A turn that is killed a moment after it has begun."""
    state = state_of(read_keep(home / "drill.yaml"), home)
    with subprocess.Popen(_command(home, now), cwd=home, stdout=subprocess.DEVNULL) as child:
        while state.unfinished() is None and child.poll() is None:
            time.sleep(0.002)
        time.sleep(now.day / 100)  # another moment each time
        child.send_signal(signal.SIGKILL)


def _disk_full(home: Path, now: datetime) -> None:
    """A turn that cannot write beyond the first page of any file."""
    subprocess.run(
        _command(home, now), cwd=home, capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )  # fmt: skip


FATAL = {"kill -9": _killed, "disk full": _disk_full}
"""What ends a turn before its end."""
ECHOES = {
    "renamed column": {"data"},
    "drift": {"rolled back"},
    "labels flipped": {"rolled back"},
    "unit changed": {"data"},
    "day twice": {"data"},
}
"""Kinds that tell of the same thing beside."""


def _command(home: Path, now: datetime) -> list[str]:
    return [sys.executable, "-m", "leaseboard", "keep", "drill.yaml", "--local", "--out",
            str(home), "--at", now.isoformat()]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay and print; 1 if an incident was not noticed or a row was lost."""
    parser = argparse.ArgumentParser(description="a kept model with everything going wrong")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--streams", nargs="+", default=list(STREAMS), choices=STREAMS)
    parser.add_argument("--clean", action="store_true", help="nothing goes wrong")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    given = parser.parse_args(arguments)
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
            print(f"  {incident:16} noticed in time {noticed} of {runs}, told once {once}")
        alarms = [each.false_alarms for each in found]
        print(f"  false alarms: {sum(alarms) / runs:.2f} a replay, at most {max(alarms)}")
        print(f"  roll-backs beside: {sum(each.roll_backs for each in found) / runs:.2f} a replay")
        lost, miscounted = sum(each.lost for each in found), sum(e.miscounted for e in found)
        print(f"  rows lost {lost}, learned twice or never {miscounted}")
        print(f"  turns that left a worse champion {sum(each.worse for each in found)}")
        failed |= any(each.lost or each.miscounted or each.worse for each in found)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())

"""Sixty days of a kept model with everything going wrong once, replayed from real streams.

``python -m benchmarks.drill --mirror DIR [--seeds 10] [--streams bike ...] [--clean]`` delivers a
file a day, takes a turn each night, and hits each stream at random days with: a renamed column, a
unit changed by 1,000, a column gone missing, a stale file, labels three days late, labels flipped
for a day, a real drift, a day that comes twice, a kill in the middle of a turn and a full disk.

It prints for each incident in how many runs it was told within a day, and once; false alarms; and
whether every row was taken in and learned exactly once. With ``--clean`` nothing goes wrong.
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
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path

import pandas as pd

from algorithms.seeds import generator
from flows.keep import run_turn
from tasks import fetch
from tasks.keep.beginning import write_contract
from tasks.keep.opening import state_of
from tasks.keep.settings import read_keep

HISTORY, DAYS, APART = 30, 60, 5
"""Days that the first file holds, days that are replayed, and days between two incidents."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LEFT = 2
"""Days at the end without a new incident."""


@dataclass(frozen=True)
class DailyStream:
    """A stream in its own order, cut into days."""

    frame: pd.DataFrame
    target: str
    numeric: str
    """A number that is there in every row: its unit is changed, its column renamed or gone."""
    rows: int
    """A day."""


def load(name: str, mirrors: Sequence[Path]) -> DailyStream:
    """A stream by its name here."""
    if name == "bike":
        frame = _features(fetch.load("openml:42713", mirrors=tuple(mirrors)))
        return DailyStream(frame, "count", "temp", 24)
    if name == "electricity":
        frame = _features(fetch.load("openml:151", mirrors=tuple(mirrors)))
        return DailyStream(frame.drop(columns=["date"]), "class", "nswdemand", 48)
    dataset = fetch.load(
        "mirror:flights_3m?first_rows=1500000&threshold=15", mirrors=tuple(mirrors)
    )
    frame = _features(dataset).iloc[::75].reset_index(drop=True)
    return DailyStream(frame, dataset.target.name or "late", "distance", 100)


def _features(dataset: fetch.Dataset) -> pd.DataFrame:
    return dataset.features.assign(**{str(dataset.target.name): dataset.target})


@dataclass
class Inbox:
    """The folder that files are delivered to, day by day."""

    folder: Path
    stream: DailyStream
    start: int
    delivered: set[str] = field(default_factory=set)
    drifted: bool = False

    def day(self, number: int) -> pd.DataFrame:
        """The rows of a day, with an id and a time."""
        rows = self.stream.rows
        first = self.start + number * rows
        part = self.stream.frame.iloc[first : first + rows].reset_index(drop=True)
        times = [BEGIN + timedelta(days=number, hours=24 * i / rows) for i in range(len(part))]
        part.insert(0, "id", [f"r{first + i}" for i in range(len(part))])
        part.insert(1, "when", [f"{time:%Y-%m-%dT%H:%M:%S}" for time in times])
        if self.drifted:
            part[self.stream.target] = self.other_way(part[self.stream.target])
        return part

    def other_way(self, labels: pd.Series) -> pd.Series:
        """Labels that say the opposite: the other class, or the number mirrored at its middle."""
        known = self.stream.frame[self.stream.target]
        if isinstance(known.dtype, pd.CategoricalDtype):
            first, second = known.cat.categories
            return labels.astype(str).map({str(first): str(second), str(second): str(first)})
        middle = known.iloc[self.start : self.start + HISTORY * self.stream.rows].median()
        return 2 * middle - labels

    def deliver(self, frame: pd.DataFrame, name: str) -> Path:
        """Put a file there in one step."""
        path = self.folder / f"{name}.csv"
        frame.to_csv(path.with_suffix(".partial"), index=False)
        path.with_suffix(".partial").rename(path)
        self.delivered |= set(frame["id"])
        return path


Mend = Callable[[], None]


def _broken_column(
    inbox: Inbox, number: int, change: Callable[[pd.DataFrame], pd.DataFrame]
) -> Mend:
    """A file whose columns are wrong; the next day it is gone, and the right one is there."""
    right = inbox.day(number)
    path = inbox.deliver(change(right), f"{number:03}")

    def mend() -> None:
        path.unlink()
        inbox.deliver(right, f"{number:03}-mended")

    return mend


def renamed(inbox: Inbox, number: int) -> Mend:
    """A column is called otherwise."""
    name = inbox.stream.numeric
    return _broken_column(inbox, number, lambda f: f.rename(columns={name: f"{name}_new"}))


def unit(inbox: Inbox, number: int) -> Mend:
    """A column's unit is changed by 1,000."""
    name = inbox.stream.numeric
    return _broken_column(inbox, number, lambda f: f.assign(**{name: f[name] * 1000}))


def gone(inbox: Inbox, number: int) -> Mend:
    """A column is missing."""
    return _broken_column(inbox, number, lambda f: f.drop(columns=inbox.stream.numeric))


def stale(inbox: Inbox, number: int) -> Mend:
    """The file of the day before comes again; the right one a day later."""
    inbox.deliver(inbox.day(number - 1), f"{number:03}")
    right = inbox.day(number)
    return lambda: (inbox.deliver(right, f"{number:03}-late"), None)[1]


def late_labels(inbox: Inbox, number: int) -> Mend:
    """The labels come three days later, by id."""
    right, target = inbox.day(number), inbox.stream.target
    inbox.deliver(right.assign(**{target: None}), f"{number:03}")
    return lambda: (inbox.deliver(right[["id", target]], f"{number:03}-labels"), None)[1]


def flipped(inbox: Inbox, number: int) -> Mend:
    """The labels of a day say the opposite."""
    frame, target = inbox.day(number), inbox.stream.target
    inbox.deliver(frame.assign(**{target: inbox.other_way(frame[target])}), f"{number:03}")
    return lambda: None


def drift(inbox: Inbox, number: int) -> Mend:
    """From this day on labels say the opposite."""
    inbox.drifted = not inbox.drifted
    inbox.deliver(inbox.day(number), f"{number:03}")
    return lambda: None


def twice(inbox: Inbox, number: int) -> Mend:
    """The day before comes again in another order, beside the day's own file."""
    inbox.deliver(inbox.day(number - 1)[::-1], f"{number:03}-again")
    inbox.deliver(inbox.day(number), f"{number:03}")
    return lambda: None


def as_usual(inbox: Inbox, number: int) -> Mend:
    """A good day's file."""
    inbox.deliver(inbox.day(number), f"{number:03}")
    return lambda: None


INCIDENTS: dict[str, tuple[Callable[[Inbox, int], Mend], set[str]]] = {
    "renamed column": (renamed, {"contract"}),
    "unit changed": (unit, {"contract"}),
    "column gone": (gone, {"contract"}),
    "stale file": (stale, {"stale", "repeated"}),
    "labels late": (late_labels, {"labels late"}),
    "labels flipped": (flipped, {"alarm"}),
    "drift": (drift, {"alarm"}),
    "day twice": (twice, {"repeated"}),
    "kill -9": (as_usual, {"turn"}),
    "disk full": (as_usual, {"turn"}),
}
"""What goes wrong, and the kinds of incidents that tell of it."""
MENDED_AFTER = {"labels late": 3}
"""Days; else one."""


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
    lost: int = 0
    """Rows that were delivered and are not in the state."""
    champions: int = 0


def replay(stream: DailyStream, seed: int, home: Path, *, clean: bool) -> Told:
    """Sixty days of one stream."""
    rng = generator("drill", seed)
    days = (len(stream.frame) - 1) // stream.rows
    start = int(rng.integers(0, days - HISTORY - DAYS)) * stream.rows
    (home / "inbox").mkdir(parents=True)
    inbox, webhook = Inbox(home / "inbox", stream, start), Webhook()
    (home / "drill.yaml").write_text(KEEP.format(target=stream.target, webhook=webhook.address))
    keep = read_keep(home / "drill.yaml")
    history = pd.concat([inbox.day(n) for n in range(HISTORY)], ignore_index=True)
    inbox.deliver(history, "history")
    write_contract(keep, BEGIN + timedelta(days=HISTORY))
    run_turn(keep, home, BEGIN + timedelta(days=HISTORY, hours=1), local=True)
    names = [] if clean else list(rng.permutation(list(INCIDENTS)))
    planned = dict(zip(range(HISTORY + 3, HISTORY + DAYS, APART), names, strict=False))
    told, mends = Told(), dict[int, list[Mend]]()
    for number in range(HISTORY, HISTORY + DAYS):
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
    state = state_of(keep, home)
    known = state.rows_of(sorted(inbox.delivered))
    told.lost = len(inbox.delivered) - len(known)
    told.champions = sum(each.kind == "champion" for each in state.history())
    webhook.shutdown()
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
            told.false_alarms += 1
            print("    false:", number, message["kind"], message["text"][:150], file=sys.stderr)


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
    failed = False
    for name in given.streams:
        stream = load(name, given.mirror)
        found = []
        for seed in range(given.seeds):
            with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
                found.append(replay(stream, seed, Path(folder), clean=given.clean))
        runs = len(found)
        print(f"{name}: {runs} replays of {DAYS} days", flush=True)
        for incident in () if given.clean else INCIDENTS:
            noticed = sum(each.noticed.get(incident, False) for each in found)
            once = sum(each.messages.get(incident, 0) == 1 for each in found)
            failed |= noticed < runs
            print(f"  {incident:16} noticed in time {noticed} of {runs}, told once {once}")
        alarms = [each.false_alarms for each in found]
        print(f"  false alarms: {sum(alarms) / runs:.2f} a replay, at most {max(alarms)}")
        print(f"  rows lost {sum(each.lost for each in found)}")
        failed |= any(each.lost for each in found)
    return int(failed)


STREAMS = ("bike", "electricity", "flights")


if __name__ == "__main__":
    raise SystemExit(main())

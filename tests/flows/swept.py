"""A live model for sweeps of failpoints: its worlds, and what a user finds of it."""

import json
import re
import shutil

from benchmarks.drill import Webhook
from tests.sweep import in_fork, query, tracked
from tests.tasks.live.world import BEGIN, KEEP, World, timedelta

ALERTS = "alerts: ['{}']\n"
IMPORTS = (
    "leaseboard.flows.live_update", "prefect.events",
    "mlflow.store.tracking.sqlalchemy_store",
    "mlflow.store.model_registry.sqlalchemy_store", "leaseboard.tasks.models.registry",
    "leaseboard.tasks.serve.app", "leaseboard.tasks.serve.champion", "uvicorn",
    "uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
"""What forks of this process need not import each."""

OF_FAULT = ("the last update", "MLflow")
"""Subjects of incidents that report a kill, or a disk that was full."""


def update(number):
    at = (BEGIN + timedelta(days=number + 1, hours=4)).isoformat()
    return ["live", "update", "sales.yaml", "--local", "--run-dir", ".", "--at", at]


def outcome(home, messages=(), events=()):
    """Return rows, models, incidents, messages and events, but for those of the fault."""
    state = home / "state.sqlite"
    (cases,) = query(state, "select value from live_sales_lifecycle where name = 'cases'") or [
        ["[]"]
    ]
    cases = [each for each in json.loads(cases[0]) if each["incident"]["subject"] not in OF_FAULT]
    return {
        "rows": query(state, "select id, day, label, label_batch from live_sales_rows"),
        "quarantine": query(state, "select id, reason, row from live_sales_rejected"),
        "early": query(state, "select id, label from live_sales_early"),
        "days": query(state, "select day, candidate, sums from live_sales_days"),
        "models": query(state, "select number, role, learned, model from live_sales_candidate"),
        "history": query(
            state,
            f"select kind, subject from live_sales_history where subject not in {OF_FAULT}",
        ),
        "incidents": [(each["incident"]["what"], each["resolved"]) for each in cases],
        "outbox": query(state, "select address, body from live_sales_outbox"),
        "messages": sorted(
            {(each["id"], each["status"], each["what"]) for each in messages
             if each["subject"] not in OF_FAULT}
        ),
        # Prefect's server stores one event of each identifier, which has a time of this case.
        "events": sorted(
            each[1:] for each in {tuple(each) for each in events} if each[2] not in OF_FAULT
        ),
        "page": (home / "report.html").exists(),
        **tracked(home / "mlruns" / "mlflow.db"),
    }  # fmt: skip


def trouble(world):
    """Deliver files with all that an update can find wrong."""
    broken = world.day(1)
    broken.loc[:2, "a"] = 1e6
    world.deliver(1, broken)
    world.deliver(2, world.day(2))
    (world.inbox / "002b.csv").write_text("order,when\n1\n")
    world.deliver(3, world.day(3).drop(columns="a"))
    again = world.day(4)
    again.loc[:1, "order"] = ["1-7", "1-8"]
    again.loc[3, "a"] = -1e6
    world.deliver(4, again)


class Live:
    """A live model with a receiver of its messages and of its events, in one place."""

    def __init__(self, store, folder):
        self.webhook, self.store, self.folder = Webhook(), store, folder
        self.events = folder / "events"
        self.home = folder / "home"

    def emit(self, event, resource, payload, **given):
        """Note an event as Prefect's server does, which stores one of each identifier."""
        name = resource["prefect.resource.id"]
        with self.events.open("a") as file:
            line = [str(given["id"]), event, payload.get("subject", name)]
            file.write(json.dumps(line) + "\n")

    def close(self):
        self.webhook.shutdown()
        self.webhook.server_close()

    def clear(self):
        self.webhook.reported.clear()
        (self.folder / "said").write_text("")
        self.events.write_text("")

    def new(self, last=0, every="5d"):
        """Make it, with updates of some days and a candidate each so often."""
        shutil.rmtree(self.home, ignore_errors=True)
        keep = KEEP.replace("every: 5d", f"every: {every}")
        world = World(self.home, keep + ALERTS.format(self.webhook.address), rows=10)
        (self.home / "mlruns").mkdir()
        shutil.copy(self.store, self.home / "mlruns" / "mlflow.db")
        for number in range(last + 1):
            if number:
                world.deliver(number, world.day(number))
            assert in_fork(update(number), self.home) in (0, 1)
        return world

    def call(self, *words):
        assert in_fork([*words, "--run-dir", "."], self.home) == 0

    def described(self):
        """Write the files of a live model that was never updated."""
        shutil.rmtree(self.home, ignore_errors=True)
        World(self.home, KEEP + ALERTS.format(self.webhook.address))
        (self.home / "mlruns").mkdir()
        shutil.copy(self.store, self.home / "mlruns" / "mlflow.db")

    def troubled(self):
        trouble(self.new())

    def with_challenger(self):
        self.new(2, every="1d")

    def has_said(self, home):
        """Return whether a change by hand was reported, and is finished."""
        mark = "select value from live_sales_lifecycle where name = 'by_hand'"
        said = (self.folder / "said").read_text()
        return "is champion" in said and query(home / "state.sqlite", mark) == [["null"]]

    def outcome(self, home):
        if not (home / "state.sqlite").exists():
            files = (home / name for name in ("sales.yaml", "sales.contract.yaml"))
            texts = [file.read_text() if file.exists() else "" for file in files]
            return {"files": [re.sub(r"fresh: \w+", "", text) for text in texts]}
        events = map(json.loads, self.events.read_text().splitlines())
        found = outcome(home, self.webhook.reported, events)
        return found | {"parts": [*map(str, home.glob("*.part"))]}

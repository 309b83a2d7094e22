"""Starts the runs of deployments that are due, each in a process of its own, and ends them all.

Prefect has a runner of its own. Ended by a signal it leaves runs behind as running; killed, their
processes too; and it cancels a run without a word about what is in its way.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Crashed

from leaseboard.flows.flow_runs import cause, claim, end, end_dead_runs, take, taken
from leaseboard.flows.service import Service

POLL_SECONDS = 2.0
MISSED = timedelta(minutes=5)
"""A run of the clock that is later than this when the schedule starts is not made up for."""


class Scheduler:
    """Serves deployments from this process.

    - `names`: the deployments, and what they are called.
    - `say`: shows a line on the terminal.
    """

    def __init__(
        self, client: SyncPrefectClient, names: Mapping[UUID, str], say: Callable[[str], None]
    ) -> None:
        self._client = client
        self._names = names
        self._say = say
        self._running: dict[UUID, tuple[FlowRun, Service]] = {}

    def serve(self, check: Callable[[], None]) -> NoReturn:
        """Start what is due, until interrupted; a server that is away is waited for.

        `check`: raises if there is no use in going on.
        """
        away = missed = False
        while True:
            check()
            try:
                if not missed:
                    self._cancel_missed()
                    missed = True
                self.turn()
            except httpx.HTTPError as error:
                check()
                if not away:
                    self._say(f"Prefect does not answer, trying again: {cause(error)}")
                away = True
            else:
                if away:
                    self._say("Prefect answers again")
                away = False
            time.sleep(POLL_SECONDS)

    def turn(self) -> None:
        """Look once at what has ended, what is cancelled, and what is due."""
        for run, service in list(self._running.values()):
            code = service.exit_code()
            if code is not None:
                self._end(run, Crashed(message=f"its process ended with exit code {code}"))
        for run in self._cancelling():
            self._end(run, Cancelled(message="cancelled in Prefect; its jobs were stopped"))
        for run in self._due(datetime.now(UTC)):
            with suppress(ObjectNotFound):  # deleted in Prefect since it was read
                take(self._client, run)
        # Asked of Prefect, not remembered: what an error kept from starting is among them.
        for run in taken(self._client, self._names):
            if run.id not in self._running:
                self._start(run)

    def stop(self, why: str) -> None:
        """End all runs, side by side, and say in Prefect and here that `why` did."""
        with ThreadPoolExecutor(max_workers=max(1, len(self._running))) as threads:
            list(threads.map(lambda kept: kept[1].stop(), self._running.values()))
        for run, _ in list(self._running.values()):
            try:
                self._end(run, Crashed(message=f"the schedule was stopped by {why}"))
            except httpx.HTTPError as error:
                self._tell(
                    run, f"stopped; the next start tells Prefect, which fails now: {cause(error)}"
                )

    def _due(self, before: datetime) -> list[FlowRun]:
        found = self._client.get_scheduled_flow_runs_for_deployments(
            list(self._names), scheduled_before=before
        )
        return list(found)

    def _cancel_missed(self) -> None:
        """Give up what the clock struck for while nobody served it, as cron does."""
        while missed := [
            run for run in self._due(datetime.now(UTC) - MISSED) if run.auto_scheduled
        ]:
            for run in missed:
                reason = (
                    f"missed: nothing served the schedule at {run.expected_start_time:%F %R %Z}"
                )
                end(self._client, run, Cancelled(message=reason))
                self._tell(run, reason)

    def _start(self, run: FlowRun) -> None:
        """Start the process of `run`, which itself sees whether anything is in its way."""
        claim(self._client, run)
        path = os.pathsep.join(filter(None, sys.path))
        environment = os.environ | {"PREFECT__FLOW_RUN_ID": str(run.id), "PYTHONPATH": path}
        service = Service([sys.executable, "-P", "-m", "prefect.engine"], environment)
        self._running[run.id] = run, service
        self._tell(run, f"run {run.name!r} {run.id} started")

    def _cancelling(self) -> list[FlowRun]:
        """Runs of this process that somebody cancels in Prefect."""
        if not self._running:
            return []
        chosen = {"id": {"any_": list(self._running)}, "state": {"type": {"any_": ["CANCELLING"]}}}
        return self._client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(chosen))

    def _end(self, run: FlowRun, state: State[Any]) -> None:
        """End the process of `run`, and the run with `state` if it has not said itself how."""
        self._running[run.id][1].stop()
        try:
            said = self._client.read_flow_run(run.id).state
            if said is None or not said.is_final() or said.is_crashed():
                end(self._client, run, state)
                said = state
            line = f"{said.name}: {said.message}"
        except ObjectNotFound:
            line = "deleted in Prefect"
        end_dead_runs(self._client)  # of a run that was killed those remain that it had begun
        del self._running[run.id]
        self._tell(run, f"run {run.name!r} {run.id}: {line}")

    def _tell(self, run: FlowRun, line: str) -> None:
        self._say(f"{self._names.get(run.deployment_id or run.id, '')}: {line}")

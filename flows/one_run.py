"""One flow run of a command: ours while it lasts, with a log, and on record in full at its end."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import httpx
from prefect import flow, tags
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import State
from prefect.concurrency.services import ConcurrencySlotAcquisitionWithLeaseService
from prefect.context import TagsContext, get_run_context
from prefect.settings import PREFECT_API_URL, temporary_settings

from leaseboard.flows.flow_runs import end_dead_runs, logged, owner_tags, unanswered

LEFT_SECONDS = 5.0
"""How long what an earlier flow left is waited for."""
DRAIN_SECONDS = 30.0
"""How long a server may record nothing new before it is left alone."""
_ENDED = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]

Made = TypeVar("Made")


class Performance(ABC, Generic[Made]):
    """What a flow run does in its own process, with what came of it.

    Prefect sends the flow along with each task that goes to another process; this stays behind.
    """

    tasks = 0
    """How many tasks it has begun."""
    _made: Made | None = None
    _error: BaseException | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return object, ()

    def perform(self) -> State[Any]:
        """Do it, within the flow run, which ends as the state says."""
        try:
            with TagsContext(current_tags=set()):
                self._made = made = self._make()
        except BaseException as error:
            self._error = error
            raise
        return self._state_of(made)

    def outcome(self) -> Made:
        """What came of it; what it was interrupted by is raised, of which Prefect made a state."""
        if self._error is not None:
            raise self._error
        assert self._made is not None
        return self._made

    @abstractmethod
    def _make(self) -> Made:
        """Do the work."""

    @abstractmethod
    def _state_of(self, made: Made) -> State[Any]:
        """How the flow run ends."""


def in_one_run(
    called: str, name: str, url: str, here: Performance[Made], description: str = ""
) -> Made:
    """What comes of `here` in one run `name` of the flow `called`, on the server at `url`."""

    @flow(
        name=called,
        flow_run_name=name,
        description=description,
        persist_result=False,
        validate_parameters=False,
    )
    def made(name: str) -> State[Any]:
        del name
        with logged(get_run_context().flow_run.id):
            return here.perform()

    with temporary_settings({PREFECT_API_URL: url}), get_client(sync_client=True) as client:
        try:
            end_dead_runs(client)
        except httpx.HTTPError as error:
            raise unanswered(error, url) from error
        # What an earlier flow of this process left may talk to a server that is gone.
        ConcurrencySlotAcquisitionWithLeaseService.drain_all(timeout=LEFT_SECONDS)
        with tags(*owner_tags(), name):
            state = made(name, return_state=True)
        outcome = here.outcome()
        _drain(client, str(state.state_details.flow_run_id), here.tasks)
    return outcome


def _drain(client: SyncPrefectClient, flow_run: str, expected: int) -> None:
    """Wait until the server has recorded the end of every task; it records them from events.

    A busy server is waited for as long as it gets on: events that are left over when it stops
    would be sent to nobody, again and again, and keep this process from ending.
    """
    filters = {
        "flow_runs": {"id": {"any_": [flow_run]}},
        "task_runs": {"state": {"type": {"any_": _ENDED}}},
    }
    before, deadline = -1, 0.0
    while True:
        recorded = client.request("POST", "/task_runs/count", json=filters).json()
        if recorded > before:
            before, deadline = recorded, time.monotonic() + DRAIN_SECONDS
        if recorded >= expected or time.monotonic() > deadline:
            return
        time.sleep(0.25)

"""Turns of keeps as flow runs of Prefect's: of the command, and of the clock."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed
from prefect.utilities.annotations import quote
from pydantic import Field
from typing_extensions import override

from leaseboard.flows.deployed import as_deployed, check_kept
from leaseboard.flows.interruption import terminable
from leaseboard.flows.keep import Body, Turned, held_turn, summary
from leaseboard.flows.one_run import Performance, in_one_run
from leaseboard.tasks.keep.opening import home_of
from leaseboard.tasks.keep.settings import read_keep
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import prepare_environment


@flow(name="keep", flow_run_name="{file}", persist_result=False)
def keep(
    file: str = Field(description="FILE.yaml, as of `leaseboard keep`."),
    out: str | None = Field(None, description="Of state and page; runs/keep/NAME by default."),
) -> State[Any]:
    """Take a turn of a keep, as `leaseboard keep FILE.yaml` does.

    The MLflow store is that of MLFLOW_TRACKING_URI, and what FILE.yaml names by a variable is of
    the environment: Prefect shows the parameters of a flow to everybody.
    """
    return as_deployed(lambda: _scheduled(Path(file), Path(out) if out else None))


def in_flow(name: str, file: Path | None, url: str, body: Body) -> Turned:
    """What `body` makes of its steps as tasks of one flow run on the server at `url`."""
    return in_one_run("keep", name, url, TurnPerformance(body, file))


class TurnPerformance(Performance[Turned]):
    """A turn in a flow run's own process, with what it came to.

    - `file`: of the keep.
    """

    def __init__(self, body: Body, file: Path | None) -> None:
        self._body = body
        self._file = file

    @override
    def _make(self) -> Turned:
        return self._body(self._as_task)

    @override
    def _state_of(self, made: Turned) -> State[Any]:
        return Completed(message=summary(made, self._file))

    def _as_task(self, word: str, step: Callable[..., Any]) -> Callable[..., Any]:
        """A step as a task of the flow run that it is called in; the state is the record."""
        made = task(
            step, name=word, task_run_name=word, cache_policy=NO_CACHE, persist_result=False
        )

        def call(*given: Any, **named: Any) -> Any:
            self.tasks += 1
            return made(*map(quote, given), **named)

        return call


def _scheduled(file: Path, out: Path | None) -> State[Any]:
    """Take the turn in the flow run that this is called in."""
    prepare_environment()
    check_kept(str(out) if out else None)
    settings = read_keep(file)
    ended: list[State[Any]] = []

    def carried(body: Body) -> Turned:
        here = TurnPerformance(body, file)
        ended.append(here.perform())
        return here.outcome()

    with terminable():
        held_turn(
            settings, home_of(settings.name, out), datetime.now(UTC), carried,
            file=file, tracking_uri=paths.tracking_uri(),
        )  # fmt: skip
    return ended[0]

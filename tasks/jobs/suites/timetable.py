"""Schedules: ``conf/schedule.yaml``, validated."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, model_validator

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.suites.suite import duplicate, load_suite, members
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml


class Scheduled(Strict):
    """Suite that runs, or live model that is updated, by the clock."""

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    """Name of the deployment in Prefect."""
    cron: str
    """Five fields: minute, hour, day of the month, month, day of the week."""
    timezone: str = "UTC"
    """Time zone of `cron`, such as `Europe/Berlin`."""
    suite: str | None = None
    """A name of ``conf/suites``, or a YAML file."""
    live: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """FILE.yaml of ``leaseboard live update``; a path is from where the schedule is started, as is
    that of a suite's file."""
    gate: bool = False
    """Compare the suite with its accepted scores, as `leaseboard gate` does."""
    out: str | None = None
    """Where to write; ``runs/<suite>`` or ``runs/live/<name>`` by default. Finished jobs there are
    not run again, so a run with unchanged code and data has nothing to do."""
    workers: Annotated[int, Field(ge=1)] | None = None
    """The number of jobs of a suite that run at once."""

    @property
    def what(self) -> str:
        """Description of the suite or live model."""
        if self.live is not None:
            return f"live model {self.live}"
        return f"{'gate of ' * self.gate}suite {self.suite}"

    @model_validator(mode="after")
    def _check_time(self) -> Self:
        from cronsim import CronSim, CronSimError

        try:
            CronSim(self.cron, datetime(2000, 1, 1, tzinfo=ZoneInfo(self.timezone)))
        except CronSimError as error:
            raise ValueError(f"{self.cron!r} is not a cron expression: {error}") from error
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"unknown timezone {self.timezone!r}") from error
        return self

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.suite is None) == (self.live is None):
            raise ValueError(
                f"schedule {self.name!r} runs one thing: add suite or live, such as"
                " suite: quick or live: sales.yaml"
            )
        if self.live is not None and (self.gate or self.workers is not None):
            raise ValueError(
                f"schedule {self.name!r} of live {self.live!r} has gate or workers, which are of a"
                " suite: remove them"
            )
        return self


class Schedule(Strict):
    """All schedules of a configuration folder."""

    schedules: Annotated[list[Scheduled], Field(min_length=1)]


def load_schedule(conf: Path) -> Schedule:
    """Return the schedules of ``schedule.yaml`` in `conf`; every suite that they name exists.

    Raises UsageError: naming what is wrong, and where.
    """
    path = conf / "schedule.yaml"
    if not path.is_file():
        raise UsageError(f"{path} does not exist: write one, the operations page has an example")
    schedule = load_yaml(path, Schedule)
    if name := duplicate(entry.name for entry in schedule.schedules):
        raise UsageError(f"{path}: schedule {name!r} occurs twice: give it another name")
    for entry in schedule.schedules:
        if entry.suite is not None:
            for name in members(entry.suite, conf) if entry.gate else [entry.suite]:
                load_suite(name, conf)
    return schedule

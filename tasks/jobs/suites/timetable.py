"""What runs when: ``conf/schedule.yaml``, validated."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, Field, field_validator

from algorithms.errors import UsageError, unknown
from tasks.jobs.limits import Limits
from tasks.jobs.suites.suite import load_suite
from tasks.machine.yaml_files import load_yaml


class Scheduled(BaseModel):
    """One suite, run by the clock."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    """Of the deployment in Prefect."""
    cron: str
    """Five fields: minute, hour, day of the month, month, day of the week."""
    timezone: str = "UTC"
    suite: str
    """A name of ``conf/suites``, or a YAML file."""
    out: str | None = None
    """Where to write; ``runs/<suite>`` by default. What is done there is not run again, so a run
    that finds code and data unchanged has nothing to do."""
    workers: Annotated[int, Field(ge=1)] | None = None
    limits: Limits | None = None
    """In place of the suite's own."""

    @field_validator("cron")
    @classmethod
    def _check_cron(cls, cron: str) -> str:
        from cronsim import CronSim, CronSimError

        try:
            CronSim(cron, datetime(2000, 1, 1))
        except CronSimError as error:
            raise ValueError(f"{cron!r} is no cron expression: {error}") from error
        return cron

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, timezone: str) -> str:
        if timezone not in available_timezones():
            raise ValueError(str(unknown("timezone", timezone, available_timezones())))
        return timezone


class Schedule(BaseModel):
    """All schedules of a configuration folder."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    schedules: Annotated[list[Scheduled], Field(min_length=1)]


def load_schedule(conf: Path) -> Schedule:
    """The schedules of ``schedule.yaml`` in `conf`; every suite that they name exists.

    Raises UsageError: naming what is wrong, and where.
    """
    path = conf / "schedule.yaml"
    if not path.is_file():
        raise UsageError(f"{path} does not exist: write one, the operations page has an example")
    schedule = load_yaml(path, Schedule)
    names = [entry.name for entry in schedule.schedules]
    for entry in schedule.schedules:
        if names.count(entry.name) > 1:
            raise UsageError(f"{path}: schedule {entry.name!r} stands twice: give it another name")
        load_suite(entry.suite, conf)
    return schedule

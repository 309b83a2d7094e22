"""What runs when: ``conf/schedule.yaml``, validated."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Self
from zoneinfo import available_timezones

from pydantic import Field, field_validator, model_validator

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.jobs.job import Limits
from leaseboard.tasks.jobs.suites.suite import load_suite
from leaseboard.tasks.machine.yaml_files import Strict, load_yaml


class Scheduled(Strict):
    """A suite that is run by the clock, or a keep that takes its turns by it."""

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    """Of the deployment in Prefect."""
    cron: str
    """Five fields: minute, hour, day of the month, month, day of the week."""
    timezone: str = "UTC"
    suite: str | None = None
    """A name of ``conf/suites``, or a YAML file."""
    keep: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """FILE.yaml of ``leaseboard keep``; a path is from where the schedule is started, as is that
    of a suite's file."""
    out: str | None = None
    """Where to write; ``runs/<suite>`` or ``runs/keep/<name>`` by default. What a suite has done
    there is not run again, so a run that finds code and data unchanged has nothing to do."""
    workers: Annotated[int, Field(ge=1)] | None = None
    """Of a suite."""
    limits: Limits | None = None
    """In place of the suite's own."""

    @property
    def what(self) -> str:
        """What is run, in words."""
        return f"suite {self.suite}" if self.keep is None else f"keep {self.keep}"

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

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if self.suite is None and self.keep is None:
            raise ValueError(
                f"schedule {self.name!r} says nothing to run: add a suite or a keep, such as"
                " suite: quick or keep: sales.yaml"
            )
        if self.suite is not None and self.keep is not None:
            raise ValueError(
                f"schedule {self.name!r} has suite {self.suite!r} and keep {self.keep!r}: each"
                " schedule runs one of them: make two schedules of it"
            )
        if self.keep is not None and (self.workers is not None or self.limits is not None):
            raise ValueError(
                f"schedule {self.name!r} of keep {self.keep!r} has workers or limits, which are of"
                " a suite: remove them"
            )
        return self


class Schedule(Strict):
    """All schedules of a configuration folder."""

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
        if entry.suite is not None:
            load_suite(entry.suite, conf)
    return schedule

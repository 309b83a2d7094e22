"""The MLflow record of suites, jobs and configurations."""

from leaseboard.tasks.track.recorder import Recorder, log_all
from leaseboard.tasks.track.store import TrackingError
from leaseboard.tasks.track.tracker import Tracker, log_race

__all__ = ["Recorder", "Tracker", "TrackingError", "log_all", "log_race"]

"""What a store has of a job's configurations, as any client reads it."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.track.client import search
from tasks.track.store import open_store, reported


class Logged:
    """Reads the configuration runs of a suite's jobs.

    `uri`: the store; it is opened when the first job is asked for.
    """

    def __init__(self, uri: str, suite: str) -> None:
        self._uri, self._name = uri, f"{suite}/configurations"
        self._read: dict[str, dict[int, Mapping[str, float]]] = {}

    def __call__(self, key: str) -> dict[int, Mapping[str, float]]:
        """The last value of every metric of each configuration of the job `key`, by number.

        Raises TrackingError if the store cannot be used.
        """
        if key not in self._read:
            self._read[key] = self._of(key)
        return self._read[key]

    def _of(self, key: str) -> dict[int, Mapping[str, float]]:
        client = open_store(self._uri)
        with reported(self._uri):
            place = client.get_experiment_by_name(self._name)
            if place is None:
                return {}
            runs = search(client, place.experiment_id, f"tags.leaseboard.job = '{key}'")
            return {
                int(run.data.tags["leaseboard.configuration"]): dict(run.data.metrics)
                for run in runs
            }

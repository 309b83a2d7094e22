"""What Prometheus reads of the server."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from leaseboard.tasks.serve.champion import Champion

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Meters:
    """Those of one server."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.requests = Counter(
            "leaseboard_requests", "Requests, by path and status.", ["path", "status"],
            registry=registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "leaseboard_request_seconds", "How long requests took.", ["path"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.refusals = Counter(
            "leaseboard_refusals", "Requests that were refused, by reason.", ["reason"],
            registry=registry,
        )  # fmt: skip
        self.forecasts = Counter(
            "leaseboard_forecasts", "Rows that were forecast.", registry=registry
        )
        self.labels = Counter("leaseboard_labels", "Labels that were posted.", registry=registry)
        self.errors = Counter(
            "leaseboard_errors", "Requests that failed by our fault.", registry=registry
        )
        self.champion = Gauge(
            "leaseboard_snapshot", "1 for the snapshot that forecasts.", ["model", "version",
            "lineage", "digest"], registry=registry,
        )  # fmt: skip
        self.fault = Gauge("leaseboard_fault", "1 while /health tells a fault.", registry=registry)
        self.age = Gauge(
            "leaseboard_snapshot_age_seconds", "Since the snapshot was made.", registry=registry
        )
        self.lag = Gauge(
            "leaseboard_label_lag_seconds", "Since a turn took in a label.", registry=registry
        )
        self.posted = Gauge(
            "leaseboard_labels_waiting", "Posted labels that wait for a turn.", registry=registry
        )

    def text(self, champion: Champion | None) -> bytes:
        """All of them, as Prometheus reads them."""
        self.champion.clear()
        if champion is not None:
            self.champion.labels(**champion.told()).set(1)
        return generate_latest(self._registry)

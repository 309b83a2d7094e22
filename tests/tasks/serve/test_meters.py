"""What Prometheus reads."""

from __future__ import annotations

from types import SimpleNamespace

from leaseboard.tasks.serve.meters import Meters


def champion(version):
    told = {"model": "sales", "version": version, "lineage": "1", "digest": "d"}
    return SimpleNamespace(told=lambda: told)


def test_the_snapshot_that_forecasts_is_the_only_one():
    meters = Meters()
    assert b"leaseboard_snapshot{" not in meters.text(None)
    meters.text(champion("1"))
    text = meters.text(champion("2"))
    assert text.count(b"leaseboard_snapshot{") == 1
    assert b'version="2"} 1.0' in text


def test_each_server_counts_its_own():
    Meters().forecasts.inc()
    assert b"leaseboard_forecasts_total 0.0" in Meters().text(None)

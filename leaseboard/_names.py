"""The one place of this version that models registered by earlier versions import."""

from __future__ import annotations


def check(*_: str) -> None:
    """Refuse a registered model of an earlier version, which MLflow loads by code of its own."""
    from leaseboard.algorithms.plain import other_format

    raise other_format("the registered model", "model.json of an earlier version")

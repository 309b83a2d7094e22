"""The best of what a person tries first on a stream, measured as any algorithm is."""

from __future__ import annotations

from algorithms.benches.measures import loss_of
from algorithms.benches.stream import StreamBench
from algorithms.reference.labels import LastLabel, RunningMean, SeasonalLast
from algorithms.reference.ridge import OnlineRidge

FIRST_TRIES = {
    "running-mean": RunningMean,
    "last-label": LastLabel,
    "seasonal-last": SeasonalLast,
    "online-ridge": OnlineRidge,
}
"""By their registered names."""


def best_first_try(bench: StreamBench) -> tuple[str, float] | None:
    """Whose loss is least on the stream and budget of `bench`, and that loss.

    The loss is that of `algorithms.benches.measures.loss_of`; None if nobody has any.
    """
    losses = {}
    for name, kind in FIRST_TRIES.items():
        algorithm, twin = kind(), bench.twin()
        for _ in algorithm.run(twin, seed=0):
            pass
        loss = loss_of(twin.score().metrics)
        if loss is not None:
            losses[name] = loss
    best = min(losses, key=losses.__getitem__, default=None)
    return None if best is None else (best, losses[best])

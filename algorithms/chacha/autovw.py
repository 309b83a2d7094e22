"""FLAML's AutoVW, the authors' public implementation of ChaCha, as a peer to race against."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal
from unittest import mock

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from algorithms.base import Algorithm, Run
from algorithms.benches.stream import Stream, StreamBench, require_finite
from algorithms.errors import SkipError
from algorithms.events import ChampionChanged, ConfigurationAdmitted, LeaseGranted
from algorithms.online.configuration import VWConfiguration
from algorithms.online.schema import stream_schema


@dataclass(frozen=True, kw_only=True)
class AutoVW(Algorithm):
    """FLAML's AutoVW on the examples as text, as its users call it.

    Parameters
    ----------
    b : int
        Live models at once.
    metric : "stock" or "plain"
        85 % of AutoVW's time goes into scikit-learn's mean absolute error of one number; plain
        computes it without, so that a comparison need not rest on that.

    Notes
    -----
    Departs from FLAML in one point: its running models are kept in the order in which they
    were started and not in a set, because it iterates that by memory address, and two runs of
    one seed differ. FLAML keeps its own books, so the events name only the first configuration.
    """

    bench = "stream"

    b: Annotated[int, Field(ge=2)] = 5
    metric: Literal["stock", "plain"] = "stock"

    def run(self, bench: StreamBench, seed: int) -> Run:
        """Predict and learn line by line."""
        require_finite(bench.stream, bench.budget)
        parameters = VWConfiguration().parameters()
        yield ConfigurationAdmitted(at=0, configuration=0, parameters=parameters)
        if bench.budget:
            yield LeaseGranted(at=0, configuration=0, amount=bench.budget, slot=0)
        yield ChampionChanged(at=0, configuration=0, previous=None)
        lines = itertools.islice(vw_lines(bench.stream), bench.budget)
        with _metric(self.metric):
            predictions = auto_vw(lines, self.b, seed)
        yield from bench.record(predictions, live=self.b)


def auto_vw(lines: Iterable[str], b: int, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """AutoVW's progressive predictions."""
    model = flaml().AutoVW(
        max_live_model_num=b,
        search_space={"interactions": "_auto", "quiet": True},
        init_config={"quiet": True},
        random_seed=seed,
    )
    predictions = []
    for number, line in enumerate(lines):
        predictions.append(model.predict(line))
        if not number:
            runner = model._trial_runner  # noqa: SLF001 - there is no public way
            started = [t for t in runner.get_trials() if t in runner.running_trials]
            runner._running_trials = _Ordered(started)  # noqa: SLF001
        model.learn(line)
    return np.array(predictions, dtype=np.float32)


def flaml() -> Any:
    """The package; `SkipError` where it is not installed."""
    try:
        import flaml
        import flaml.onlineml
    except ImportError as error:
        raise SkipError("FLAML is not installed: install the extra 'peers'") from error
    return flaml


class _Ordered(dict[Any, None]):
    """As much of a set as FLAML needs, in the order of insertion."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(dict.fromkeys(items))

    def add(self, item: Any) -> None:
        self.setdefault(item)

    def remove(self, item: Any) -> None:
        del self[item]


@contextmanager
def _metric(name: str) -> Iterator[None]:
    """With FLAML's metric, or with the absolute error computed without scikit-learn."""
    flaml()
    if name == "stock":
        yield
    else:
        with mock.patch("flaml.onlineml.trial.mean_absolute_error", _absolute_error):
            yield


def _absolute_error(labels: list[float], predictions: list[float]) -> float:
    return abs(labels[0] - predictions[0])


def vw_lines(stream: Stream) -> Iterator[str]:
    """The stream in VW's text format as ChaCha's authors wrote it: features with six decimals.

    No blank stands before a bar, because FLAML counts it as one more feature.
    """
    schema = stream_schema(stream)
    for row, label in zip(stream.features.tolist(), stream.labels.tolist(), strict=True):
        groups = (
            " ".join([name, *(f"{column}:{row[column]:.6f}" for column in columns)])
            for name, columns in zip(schema.namespaces, schema.columns, strict=True)
        )
        yield f"{label!r} |{'|'.join(groups)}"

"""Algorithm 1 with named rules: what `vanilla`, the fixed sets and the presets build and drive."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from pydantic.dataclasses import dataclass

from algorithms.base import Run
from algorithms.benches.stream import StreamAlgorithm, StreamBench, next_log_point, require_finite
from algorithms.chacha.oracle import ConfigOracle, Tune, make_oracle
from algorithms.chacha.published.engines import make_engine
from algorithms.chacha.published.rules import Rules
from algorithms.chacha.published.scheduler import Scheduler
from algorithms.events import Event
from algorithms.online.configuration import Configuration
from algorithms.online.engine import EngineName, VwOptions
from algorithms.online.schema import Schema, stream_schema


@dataclass(frozen=True, kw_only=True)
class Racing(StreamAlgorithm):
    """Algorithm 1 of the paper with the rules that a subclass names.

    Parameters
    ----------
    engine : "auto", "kernel" or "vw"
        What trains the models; "auto" is the kernel wherever it can do the work.
    vw_options : str
        Further options of Vowpal Wabbit for every model; they need the engine "vw".
    """

    engine: EngineName = "auto"
    vw_options: VwOptions = ""

    @abstractmethod
    def rules(self) -> Rules:
        """The rules of the race."""

    @abstractmethod
    def slots(self, schema: Schema) -> int:
        """How many models may be live on data of this schema."""

    @abstractmethod
    def oracle(self) -> ConfigOracle:
        """A fresh oracle: which configurations there are beside the default one."""

    def scheduler(
        self,
        schema: Schema,
        seed: int,
        task: str,
        oracle: ConfigOracle | None = None,
        horizon: float = math.inf,
    ) -> Scheduler:
        """The state of a run that has seen nothing; for streams that do not come from a bench.

        Parameters
        ----------
        schema : Schema
        seed : int
        task : "regression" or "classification"
            Classes are labelled -1 and 1.
        oracle : ConfigOracle, optional
            In the place of that of `tune`.
        horizon : float
            Length of the stream where it is known.
        """
        n_slots = self.slots(schema)
        engine = make_engine(self.engine, schema, n_slots, task, self.vw_options)
        return Scheduler(
            schema,
            engine,
            self.rules(),
            oracle or self.oracle(),
            n_slots,
            seed,
            horizon,
            classes=task == "classification",
        )

    def loss(self, bench: StreamBench) -> str:
        """The proxy of appendix A.2, whatever the bench measures."""
        return "clipped_absolute_error"

    def run(self, bench: StreamBench, seed: int) -> Run:
        """Race over the stream; the champion's learner is the model."""
        if bench.budget == 0:
            return None
        require_finite(bench.stream, bench.budget)
        schema = stream_schema(bench.stream)
        scheduler = self.scheduler(schema, seed, bench.stream.task, horizon=bench.budget)
        yield from scheduler.open(Configuration())
        yield from drive(scheduler, bench)
        return scheduler.champion_learner()


@dataclass(frozen=True, kw_only=True)
class Tuning(Racing):
    """A race among more than one configuration.

    Parameters
    ----------
    tune : str, optional
        Interactions of namespaces (the paper's NI, the default), the learning rate, or both
        (NI+LR); or one's own oracle, ``path/to/file.py:Class``.
    engine, vw_options
        See `Racing`.
    """

    tune: Tune | None = None

    def oracle(self) -> ConfigOracle:
        """A fresh oracle; as the authors did, it changes one hyperparameter at a time."""
        return make_oracle(self.tune, combined=False, adaptive=False)


def drive(scheduler: Scheduler, bench: StreamBench) -> Iterator[Event]:
    """Feed the bench's examples to a race until its budget ends."""
    stream, at, log_point = bench.stream, 0, 1
    importances = np.ones(bench.budget, dtype=np.float32)
    predictions = np.empty(bench.budget, dtype=np.float32)
    while at < bench.budget:
        stop = min(log_point, bench.budget)
        n_live = len(scheduler.live())
        learned = scheduler.engine.advance(
            stream.features[at:stop],
            stream.labels[at:stop],
            importances[at:stop],
            predictions[at:stop],
            scheduler.slots,
            scheduler.control,
        )
        yield from bench.record(predictions[at : at + learned], live=n_live)
        at += learned
        if at == bench.budget:
            yield from scheduler.conclude(at)
            return
        yield from scheduler.decide(at)
        if at == log_point:
            yield from scheduler.bounds(at)
            log_point = next_log_point(log_point)

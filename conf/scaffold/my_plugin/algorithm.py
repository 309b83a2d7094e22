"""An algorithm on streams: replace what it predicts."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard import Algorithm, Run, StreamEnvironment


@dataclass(frozen=True, kw_only=True)
class MyPlugin(Algorithm[StreamEnvironment]):
    """The mean label until now, drawn towards 0."""

    environment: ClassVar[str] = "stream"
    prior: Annotated[float, Field(gt=0)] = 1.0

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Record a prediction of each example, made before its label is used."""
        labels = env.stream.labels[: env.budget].astype(float)
        sums = np.cumsum(labels) - labels
        means = sums / (np.arange(len(labels)) + self.prior)
        yield from env.record(means.astype(np.float32))

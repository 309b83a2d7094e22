"""A fitted estimator as a model, in skops' format: no pickle, and only types that are trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.tasks.models import trusted
from leaseboard.tasks.models.saved import Description, SavedModel

FILE = "estimator.skops"


class PipelineModel(SavedModel):
    """A fitted estimator that takes typed rows and gives targets or codes of classes."""

    needs = ("leaseboard", "mlflow", "numpy", "pandas", "scikit-learn", "lightgbm", "skops")

    def __init__(self, description: Description, estimator: Any) -> None:
        super().__init__(description)
        self.estimator = estimator

    def _predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(self.estimator.predict(rows))

    def _save(self, folder: Path) -> None:
        trusted.dump(self.estimator, folder / FILE)


def read(description: Description, folder: Path) -> PipelineModel:
    """The model of a saved folder; UsageError if it holds types that are not trusted."""
    return PipelineModel(description, trusted.load(folder / FILE))

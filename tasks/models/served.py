"""The code that MLflow runs to load and serve a registered model; what it loads is a folder.

MLflow copies this file beside the model and executes it, so no object of ours is ever pickled.
Leaseboard must be installed where the model is loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd

from leaseboard.tasks.models.load import load


class Served(mlflow.pyfunc.PythonModel):  # type: ignore[misc]
    """A saved model behind MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Read the folder that was logged; `model` is what was saved there."""
        self.model = load(Path(context.artifacts["model"]))

    def predict(
        self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> np.ndarray:
        """The predictions for raw rows; there are no parameters."""
        return self.model.predict(model_input)


mlflow.models.set_model(Served())

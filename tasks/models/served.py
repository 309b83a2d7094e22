"""The code that MLflow runs to load and serve a registered model.

MLflow copies this file next to the model and executes it, so no object of ours is ever pickled.
Leaseboard must be installed where the model is loaded.
"""

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd

from leaseboard.tasks.models.model import load_file


class Served(mlflow.pyfunc.PythonModel):  # type: ignore[misc]
    """A model behind MLflow's interface."""

    def load_context(self, context: Any) -> None:
        """Read the file that was logged."""
        self.model = load_file(Path(context.artifacts["model"]))

    def predict(
        self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> np.ndarray:
        """Predict raw rows; parameters are not used."""
        return self.model.predict(model_input)


mlflow.models.set_model(Served())

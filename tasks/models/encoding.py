"""How the typed columns of a hold-out model's data become features."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict
from scipy import sparse

from tasks.benches.holdout import block

Value = bool | int | float | str


class Encoding(BaseModel):
    """How typed columns become features.

    Attributes
    ----------
    values : tuple
        For each column the values that have an indicator each, None for a number as it is.
    refuses_missing : bool
        Whether a missing number is an error; else it counts 0.
    target : (float, float), optional
        What the predictions 0 and 1 mean, where the target was scaled.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    values: tuple[tuple[Value, ...] | None, ...]
    refuses_missing: bool
    target: tuple[float, float] | None = None

    def rows(self, frame: pd.DataFrame) -> sparse.csr_array:
        """The features of typed rows; a value that training did not have is none of them.

        Raises
        ------
        ValueError
            If a number is missing that may not be.
        """
        blocks = []
        for values, (name, column) in zip(self.values, frame.items(), strict=True):
            if values is None and self.refuses_missing and column.isna().any():
                raise ValueError(f"column {name!r} is missing: the model was trained without gaps")
            blocks.append(block(column, None if values is None else pd.Index(list(values))))
        return sparse.csr_array(sparse.hstack(blocks, format="csr"), dtype=np.float32)

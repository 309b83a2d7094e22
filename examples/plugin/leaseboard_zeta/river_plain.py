"""A framework of the plugin: River at its defaults, in the environment of ``river_plain.txt``.

This module is loaded by its path inside that environment, where Leaseboard is not installed.
"""

from typing import Any


def linear(asked: Any) -> Any:
    """Return a linear model behind a scaler, as River's first page has it."""
    from river import linear_model, preprocessing

    if asked.task == "regression":
        return preprocessing.StandardScaler() | linear_model.LinearRegression()
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


LEARNERS = {"linear": linear}

"""A model read again from the folder that it was saved in, whatever its kind."""

from __future__ import annotations

import importlib
from pathlib import Path

from pydantic import ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.models.saved import DESCRIPTION, Description, SavedModel

READERS = {
    "stream": "leaseboard.tasks.models.streaming",
    "holdout": "leaseboard.tasks.models.held_out",
    "pipeline": "leaseboard.tasks.models.pipeline",
    "lineage": "leaseboard.tasks.keep.snapshot",
}
"""The module that reads a kind. Only that one is imported: a model needs what it `needs` alone."""


def load(folder: Path) -> SavedModel:
    """The model that `SavedModel.save` wrote; UsageError if `folder` holds none."""
    try:
        text = (folder / DESCRIPTION).read_text(encoding="utf-8")
        description = Description.model_validate_json(text)
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{str(folder)!r} holds no model of this version: register it anew"
        ) from error
    model: SavedModel = importlib.import_module(READERS[description.kind]).read(
        description, folder
    )
    return model

"""A model in MLflow's own layout, logged beside the run of the job that found it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from leaseboard.tasks.machine.environment import installed
from leaseboard.tasks.machine.paths import variable_set
from leaseboard.tasks.models.saved import SavedModel

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.pyfunc import PyFuncModel
    from mlflow.tracking import MlflowClient

KEY = "leaseboard.key"
"""The tag of a job's run, and of the model that it found."""

SAVED = "saved"
"""The folder under MLflow's ``artifacts`` that `leaseboard.tasks.models.load.load` reads."""

_DEFAULT = "MLFLOW_TRACKING_URI"
_CODE = Path(__file__).with_name("served.py")


def log(
    client: MlflowClient,
    experiment_id: str,
    name: str,
    model: SavedModel,
    example: pd.DataFrame,
    tags: Mapping[str, str],
    texts: Mapping[str, str] = MappingProxyType({}),
) -> ModelVersion:
    """Log a model and make a version of the registered model `name` of it, with `tags`.

    The model is tied to the run of the job whose key the tags hold, if the store has that.

    - `example`: rows as a caller would send them.
    - `texts`: files to lay beside the model, by name.
    """
    from mlflow.exceptions import MlflowException

    found = client.search_runs([experiment_id], f"tags.{KEY} = '{tags[KEY]}'")
    run_id = found[0].info.run_id if found else None
    logged = client.create_logged_model(experiment_id, name=name, source_run_id=run_id)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model"
        _write(path, model, example, logged.model_id)
        for file, text in texts.items():
            (path / file).write_text(text, encoding="utf-8")
        client.log_model_artifacts(logged.model_id, str(path))
    client.finalize_logged_model(logged.model_id, "READY")
    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    with default_store(client.tracking_uri):
        return client.create_model_version(
            name,
            f"models:/{logged.model_id}",
            run_id=run_id,
            tags=dict(tags),
            model_id=logged.model_id,
        )


def default_store(uri: str) -> AbstractContextManager[None]:
    """Make `uri` the process's default: MLflow's SQL registry looks for logged models there."""
    return variable_set(_DEFAULT, uri)


def is_ours(loaded: PyFuncModel) -> bool:
    """Whether `log` logged a model that MLflow loaded; any library's may be in its registry."""
    from mlflow.models.model import MODEL_CODE_PATH
    from mlflow.pyfunc import FLAVOR_NAME

    code = loaded.metadata.flavors[FLAVOR_NAME].get(MODEL_CODE_PATH, "")
    return Path(code).name == _CODE.name


def _write(path: Path, model: SavedModel, example: pd.DataFrame, model_id: str) -> None:
    """The model in MLflow's own layout."""
    import mlflow.pyfunc
    from mlflow.models import Model

    logging.getLogger("mlflow.pyfunc").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / SAVED
        folder.mkdir()
        model.save(folder)
        mlflow.pyfunc.save_model(
            path,
            mlflow_model=Model(model_id=model_id),
            python_model=str(_CODE),
            artifacts={"model": str(folder)},
            signature=_signature(model),
            input_example=example,
            pip_requirements=_requirements(model.needs),
        )


def _signature(model: SavedModel) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import AnyType

    # MLflow's own integers and booleans are never missing; the model checks what they hold.
    kinds: dict[str, Any] = {
        "integer": AnyType(),
        "real": DataType.double,
        "boolean": AnyType(),
        "nominal": DataType.string,
        "text": DataType.string,
        "date": DataType.datetime,
    }
    inputs = [ColSpec(kinds[column.kind], column.name) for column in model.description.columns]
    output = DataType.string if model.description.classes else DataType.double
    return ModelSignature(Schema(inputs), Schema([ColSpec(output)]))


def _requirements(needs: Iterable[str]) -> list[str]:
    """Pinned, and always given: MLflow would need ten seconds to guess them."""
    # We ourselves, run from a checkout, are not installed.
    return [f"{name}=={version}" for name in needs if (version := installed(name)) is not None]

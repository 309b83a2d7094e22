"""Models in MLflow's store: logged with signature and example, registered, and loaded again."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.machine.environment import installed, variable_set
from leaseboard.tasks.models.model import FILE, TableModel, load_file
from leaseboard.tasks.track.writers import every

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities import Run
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

KEY = "leaseboard.key"
"""The tag of a job's run, and of the model that it found."""
LIVE, CANDIDATE = "leaseboard.live", "leaseboard.candidate"
"""Tags: of a model, FILE.yaml of its live model; of a version, its number there."""
VERSIONS, NOTE = "mlflow.modelVersions", "mlflow.note.content"
"""MLflow's own tags of a logged model, of which its page shows versions and description."""
STORE = "MLFLOW_TRACKING_URI"
"""The variable that names MLflow's store."""
MOST_DESCRIPTION = 5000
"""Characters that MLflow takes."""
_CODE = Path(__file__).with_name("served.py")


def log(
    client: MlflowClient,
    experiment_id: str,
    name: str,
    model: TableModel,
    example: pd.DataFrame | None,
    tags: Mapping[str, str],
    description: str,
) -> ModelVersion:
    """Log a model and make a version of the registered model `name` of it, with `tags`.

    The model is tied to the run of the job whose key the tags hold, if the store has that. What
    a kill left of an earlier call is used, or removed if it is not whole.

    - `example`: rows as a caller would send them; None if they must not be stored.
    - `description`: Markdown, for MLflow's pages.
    """
    from mlflow.entities import LoggedModelOutput
    from mlflow.exceptions import MlflowException

    run = _run(client, experiment_id, tags[KEY])
    run_id = None if run is None else run.info.run_id
    same = f"name = '{name}' AND tags.`{KEY}` = '{tags[KEY]}'"
    whole = None
    for left in list(every(client.search_logged_models, [experiment_id], same)):
        if left.status == "READY":
            whole = left
        else:
            client.delete_logged_model(left.model_id)
    if whole is None:
        whole = client.create_logged_model(
            experiment_id, name=name, source_run_id=run_id,
            tags={KEY: tags[KEY], NOTE: description}, model_type=model.kind,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model"
            _write(path, model, example, whole.model_id)
            client.log_model_artifacts(whole.model_id, str(path))
        client.finalize_logged_model(whole.model_id, "READY")
    if run is not None and not run.outputs.model_outputs:
        client.log_outputs(run.info.run_id, [LoggedModelOutput(whole.model_id, 0)])
    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    # Where MLflow's SQL registry looks for logged models.
    with variable_set(STORE, client.tracking_uri):
        version = client.create_model_version(
            name,
            f"models:/{whole.model_id}",
            run_id=run_id,
            tags=dict(tags),
            description=description[:MOST_DESCRIPTION],
            model_id=whole.model_id,
        )
    named = json.dumps([{"name": name, "version": str(version.version)}])
    client.set_logged_model_tags(whole.model_id, {VERSIONS: named})
    return version


def _run(client: MlflowClient, experiment_id: str, key: str) -> Run | None:
    found = client.search_runs([experiment_id], f"tags.{KEY} = '{key}'", max_results=1)
    return found[0] if found else None


def download(
    client: MlflowClient, uri: str, version: ModelVersion, folder: str, *names: str
) -> list[Path]:
    """Return files or folders of a version's model, by name, once they are in `folder`."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    logged = client.get_logged_model(version.source.removeprefix("models:/"))
    repository = get_artifact_repository(logged.artifact_location, tracking_uri=uri)
    return [Path(repository.download_artifacts(name, dst_path=folder)) for name in names]


def load_registered(reference: str, uri: str) -> TableModel:
    """Return a registered model of ours.

    - `reference`: such as ``models:/NAME@ALIAS``.

    Raises UsageError if the model does not exist, is of another library or of another version.
    """
    import mlflow

    try:
        with variable_set(STORE, uri), tempfile.TemporaryDirectory() as folder:
            place = Path(mlflow.artifacts.download_artifacts(reference, dst_path=folder))
            if not (place / "artifacts" / FILE).is_file():
                raise UsageError(
                    f"{reference!r} is a model of another library: predict with `mlflow models"
                    " predict`"
                )
            # Past MLflow's schema, which names no row that it refuses.
            return load_file(place, repr(reference))
    except mlflow.MlflowException as error:
        reason = str(error).partition("\n")[0]
        name, _, alias = reference.removeprefix("models:/").partition("@")
        if alias == "champion" and alias in reason:
            reason += f" give a version of {name} that alias in MLflow's pages"
        raise UsageError(f"{reference!r} cannot be loaded: {reason}") from error


def _write(path: Path, model: TableModel, example: pd.DataFrame | None, model_id: str) -> None:
    """Write the model in MLflow's own layout."""
    import mlflow.pyfunc
    from mlflow.models import Model as Logged

    logging.getLogger("mlflow.pyfunc").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", ".*An input example was not provided")
    needs = {name: installed(name) for name in model.needs}
    pinned = [f"{name}=={version}" for name, version in needs.items() if version is not None]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / FILE
        file.write_bytes(model.dump())
        mlflow.pyfunc.save_model(
            path,
            mlflow_model=Logged(model_id=model_id),
            python_model=str(_CODE),
            artifacts={"model": str(file)},
            signature=_signature(model),
            input_example=example,
            # Always given: MLflow would need ten seconds to guess them.
            pip_requirements=pinned,
        )


def _signature(model: TableModel) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import AnyType

    # MLflow's own integers and booleans are never missing; the model checks what they hold.
    kinds: dict[str, Any] = {
        "integer": AnyType(),
        "number": DataType.double,
        "flag": AnyType(),
        "category": DataType.string,
        "text": DataType.string,
        "date": DataType.datetime,
    }
    inputs = [ColSpec(kinds[column.kind], column.name) for column in model.columns]
    output = DataType.string if model.classes else DataType.double
    return ModelSignature(Schema(inputs), Schema([ColSpec(output)]))

"""Models in MLflow's store: logged with their signature, registered, and loaded again.

A winner is registered as a challenger: a person gives the alias `champion`.
"""

from __future__ import annotations

import json
import logging
import math
import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine.environment import installed, variable_set
from leaseboard.tasks.models.model import FILE, TableModel, load_file
from leaseboard.tasks.score.summary import literal
from leaseboard.tasks.track.store import experiment, open_store, reported
from leaseboard.tasks.track.writers import every

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

    from leaseboard.tasks.models.winner import Fitted

KEY = "leaseboard.key"
"""The tag of a job's run, and of the model that it found."""
LIVE, CANDIDATE = "leaseboard.live", "leaseboard.candidate"
"""Tags: of a model, FILE.yaml of its live model; of a version, its number there."""
VERSIONS, NOTE = "mlflow.modelVersions", "mlflow.note.content"
"""MLflow's own tags of a logged model, of which its page shows versions and description."""
STORE = "MLFLOW_TRACKING_URI"
"""The variable that names MLflow's store."""
NEEDED = ("leaseboard", "mlflow", "numpy", "pandas", "scikit-learn", "lightgbm", "skops")
"""The distributions without which a model cannot predict."""
_CODE = Path(__file__).with_name("served.py")


REFUSED = "/:.%\"'"
"""The characters that MLflow refuses in the name of a logged model."""


def check_name(name: str) -> str:
    """Return `name`; UsageError if MLflow refuses a character in it.

    Examples
    --------
    >>> check_name("sales-2026")
    'sales-2026'
    """
    if not name.strip() or set(name) & set(REFUSED):
        raise UsageError(
            f"model name {name!r} must not be empty or hold one of {' '.join(REFUSED)}"
            " (MLflow's rule): use letters, digits and hyphens"
        )
    return name


def slug(text: str) -> str:
    """Return `text` as a part of a model's name: letters, digits, underscores, single hyphens.

    Examples
    --------
    >>> slug("file:data/cls.csv?target=y")
    'file-data-cls-csv-target-y'
    """
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")


def log(
    client: MlflowClient,
    experiment_id: str,
    name: str,
    model: TableModel,
    tags: Mapping[str, str],
    description: str,
) -> ModelVersion:
    """Log a model and make a version of the registered model `name` of it, with `tags`.

    The model is tied to the run of the job whose key the tags hold, if the store has that. What
    a kill left of an earlier call is used, or removed if it is not whole.

    - `description`: Markdown, for MLflow's pages.
    """
    from mlflow.entities import LoggedModelOutput
    from mlflow.exceptions import MlflowException

    runs = client.search_runs([experiment_id], f"tags.{KEY} = '{tags[KEY]}'", max_results=1)
    run_id = runs[0].info.run_id if runs else None
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
            _write(path, model, whole.model_id)
            client.log_model_artifacts(whole.model_id, str(path))
        client.finalize_logged_model(whole.model_id, "READY")
    if runs and not runs[0].outputs.model_outputs:
        client.log_outputs(run_id, [LoggedModelOutput(whole.model_id, 0)])
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
            description=description,
            model_id=whole.model_id,
        )
    named = json.dumps([{"name": name, "version": str(version.version)}])
    client.set_logged_model_tags(whole.model_id, {VERSIONS: named})
    return version


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


def _write(path: Path, model: TableModel, model_id: str) -> None:
    """Write the model in MLflow's own layout; an example's rows would outlast their deletion."""
    import mlflow.pyfunc
    from mlflow.models import Model as Logged

    logging.getLogger("mlflow.pyfunc").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", ".*An input example was not provided")
    found = {name: installed(name) for name in NEEDED}
    pinned = [f"{name}=={version}" for name, version in found.items() if version is not None]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / FILE
        file.write_bytes(model.dump())
        mlflow.pyfunc.save_model(
            path,
            mlflow_model=Logged(model_id=model_id),
            python_model=str(_CODE),
            artifacts={"model": str(file)},
            signature=_signature(model),
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


CHALLENGER, CHAMPION = "challenger", "champion"


def register(uri: str, name: str, fitted: Fitted, results: Sequence[Result], *, group: str) -> str:
    """Log a winner's model, register it as `name` with the alias ``challenger``.

    Raises TrackingError if the store cannot be used.

    - `results`: of all the winner's repetitions; the model is the first one's.
    - `group`: the experiment that the jobs are in: the suite's name, or ``race``.

    Returns the version; that of an earlier call for the same work, if there was one.
    """
    client = open_store(uri)
    with reported(uri):
        group_id = experiment(client, uri, group)
        tags, about = _described(results, fitted)
        versions = every(client.search_model_versions, f"name='{name}'")
        known = next((each for each in versions if each.tags.get(KEY) == tags[KEY]), None)
        if known is None:
            known = log(client, group_id, name, fitted.model, tags, about)
        known = client.get_model_version(name, known.version)  # with its aliases
        if CHAMPION not in known.aliases:
            client.set_registered_model_alias(name, CHALLENGER, known.version)
    return str(known.version)


def _described(results: Sequence[Result], fitted: Fitted) -> tuple[dict[str, str], str]:
    """Return the tags of a winner's version, and its description."""
    first = results[0]
    mean = math.fsum(result.score or 0.0 for result in results) / len(results)
    tags = {
        KEY: first.key,
        "leaseboard.algorithm": first.name,
        "leaseboard.data": first.data,
        "leaseboard.score": f"{first.metric} {mean:.6g} (n={len(results)})",
    }
    if fitted.test is not None:
        tags["leaseboard.test"] = f"{fitted.test:.6g}"
    return tags, f"The model of **{literal(first.name)}** on {literal(first.data)}."

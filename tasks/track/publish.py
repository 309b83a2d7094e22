"""The board in MLflow: on the suite's run and its experiment, where people look first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tasks.track.records import suite_key
from tasks.track.store import TrackingError, open_store, reported

NOTE = "mlflow.note.content"
KIND = "mlflow.experimentKind"
MODEL_TRAINING = "custom_model_development"
"""Makes the UI open an experiment as runs with metrics; its own guess is a page of traces."""


def publish(
    uri: str, suite: str, keys: Iterable[str], *, board: str, files: Iterable[Path] = ()
) -> None:
    """Describe a suite's run and its experiments by the board, and attach the report.

    Parameters
    ----------
    uri : str
        The store.
    suite : str
        The suite's name.
    keys : iterable of str
        Of all its jobs, by which its run is found.
    board : str
        Markdown.
    files : iterable of Path
        Artifacts of the suite's run, such as the report.

    Raises
    ------
    TrackingError
        If the store cannot be used or does not know the suite's run.
    """
    client = open_store(uri)
    with reported(uri):
        for name, note in ((suite, board), (f"{suite}/configurations", _about(suite))):
            found = client.get_experiment_by_name(name)
            if found is None:
                raise TrackingError(f"the store has no experiment {name!r}: run the suite first")
            client.set_experiment_tag(found.experiment_id, KIND, MODEL_TRAINING)
            client.set_experiment_tag(found.experiment_id, NOTE, note)
        jobs = client.get_experiment_by_name(suite)
        condition = (
            f"tags.leaseboard.level = 'suite' and tags.leaseboard.key = '{suite_key(suite, keys)}'"
        )
        runs = client.search_runs([jobs.experiment_id], condition, max_results=1)
        if not runs:
            raise TrackingError(f"the store has no run of these jobs of {suite!r}: run it first")
        run_id = runs[0].info.run_id
        client.set_tag(run_id, NOTE, board)
        for path in files:
            client.log_artifact(run_id, str(path))


def _about(suite: str) -> str:
    return (
        f"Every configuration that the jobs of **{suite}** considered. The jobs themselves are in"
        f" the experiment {suite}; each job's description links to its configurations here."
    )

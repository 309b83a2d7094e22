"""Winners in MLflow's registry: registered as challengers, promoted by the gate, rolled back."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.models import columns
from leaseboard.tasks.models.logged import (
    CANDIDATE,
    KEY,
    LIVE,
    About,
    complete,
    default_store,
    log,
)
from leaseboard.tasks.models.winner import Fitted, check_name
from leaseboard.tasks.score.board import literal
from leaseboard.tasks.score.frame import as_frame, metric_title
from leaseboard.tasks.score.gate.baseline import Baseline, accept
from leaseboard.tasks.score.gate.verdict import TOLERANCE
from leaseboard.tasks.score.inference import mean_interval, paired
from leaseboard.tasks.track.client import every
from leaseboard.tasks.track.records import job_record, texts
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

CHALLENGER, CHAMPION, PREVIOUS = "challenger", "champion", "previous"
PROMOTION, SCORE = "leaseboard.promotion", "leaseboard.score"
"""Tags of a version: the gate's verdict, and the mean of the winner's scores."""
UNFINISHED = "leaseboard.unfinished"
"""Tag of a registered model: the change of its champion that a command has begun. Its kind, the
moment, the version that is to be champion, and the champion before, empty without one."""
ACCEPTED = "accepted.json"
"""The file of a version with the winner's scores as the gate accepts them."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """Outcome of a challenger's promotion."""

    version: str
    """The challenger's."""
    promoted: bool
    explanation: str
    """The reason, in one line."""


def register(
    uri: str,
    name: str,
    fitted: Fitted,
    results: Iterable[Result],
    *,
    group: str,
    date: str,
    versions: Mapping[str, str],
) -> str:
    """Log a winner's model, register it as `name` with the alias ``challenger``.

    Raises TrackingError if the store cannot be used.

    - `results`: of all the winner's repetitions; the model is the first one's.
    - `group`: the experiment that the jobs are in: the suite's name, or ``race``.
    - `date`, `versions`: as for `leaseboard.tasks.score.gate.baseline.accept`.

    Returns the version; that of an earlier call for the same work, if there was one.
    """
    check_name(name)
    rows = [replace(result, seed=result.environment_seed) for result in results]
    baseline = accept(as_frame(rows), group, date=date, versions=versions)
    first = rows[0]
    client = open_store(uri)
    with reported(uri):
        group_id = experiment(client, uri, group)
        about = replace(_about(rows, fitted), files={ACCEPTED: baseline.to_json()})
        versions_of = every(client.search_model_versions, f"name='{name}'")
        known = next((each for each in versions_of if each.tags.get(KEY) == first.key), None)
        if known is None:
            example = columns.example(fitted.dataset.features)
            tags = {KEY: first.key, **_readable(rows, fitted)}
            known = log(client, group_id, name, fitted.model, example, tags, about)
        else:
            known = client.get_model_version(name, known.version)
            complete(client, group_id, known, about)
        if CHAMPION not in known.aliases:
            client.set_registered_model_alias(name, CHALLENGER, known.version)
    return str(known.version)


def promote(uri: str, name: str, *, tolerance: float = TOLERANCE) -> Promotion:
    """Make the challenger champion unless its scores are worse than the present champion's.

    The champion's scores are what the gate calls accepted, the challenger's are compared with
    them, paired by the environment's seed. A challenger has to earn its place: a mean drop beyond
    the tolerance refuses it, even if chance might explain the drop, as do other data, another
    metric, or a seed without a score. Without a champion it is promoted.

    If it is stopped once it has decided, the next call goes on with it, unless `finishing` has
    ended. Raises UsageError if the model does not exist or has no challenger.
    """
    client = open_store(uri)
    with reported(uri):
        model = _model(client, uri, name)
        aliases, begun = model.aliases, _begun(model, "promoted")
        if begun and str(aliases.get(CHALLENGER, begun[0])) == begun[0]:
            _change(client, name, model, "promoted", *begun)
            why = client.get_model_version(name, begun[0]).tags[PROMOTION]
            return Promotion(begun[0], True, why)
        if CHALLENGER not in aliases:
            raise UsageError(f"{name} has no challenger: register one first")
        version = str(aliases[CHALLENGER])
        champion = None if CHAMPION not in aliases else str(aliases[CHAMPION])
        passed, explanation = True, "there was no champion"
        if champion is not None:
            both = _baseline(client, name, champion), _baseline(client, name, version)
            passed, why = _compared(*both, tolerance)
            explanation = f"against version {champion}: {why}"
        client.set_model_version_tag(name, version, PROMOTION, explanation)
        if passed:
            _change(client, name, model, "promoted", version, champion or "")
    return Promotion(version, passed, explanation)


def live_file(uri: str, name: str) -> str:
    """Return FILE.yaml of the live model that publishes it; empty for a model of no live model.

    Raises UsageError if the model does not exist.
    """
    client = open_store(uri)
    with reported(uri):
        return str(_model(client, uri, name).tags.get(LIVE, ""))


def roll_back(uri: str, name: str) -> str:
    """Exchange champion and previous champion; return the version that is champion then.

    If it is stopped, the next call goes on with it, unless `finishing` has ended. Raises
    UsageError if the model does not exist or has no previous champion.
    """
    client = open_store(uri)
    with reported(uri):
        model = _model(client, uri, name)
        aliases = model.aliases
        begun = _begun(model, "rolled-back")
        if not begun and not {CHAMPION, PREVIOUS} <= aliases.keys():
            raise UsageError(
                f"{name} has no previous champion: it has one once a challenger took the place of"
                " another"
            )
        version, before = begun or (str(aliases[PREVIOUS]), str(aliases[CHAMPION]))
        _change(client, name, model, "rolled-back", version, before)
    return version


def _begun(model: Any, kind: str) -> tuple[str, str] | None:
    """Return the version and the one before of a change of this kind that was not finished."""
    found, _, version, before = model.tags.get(UNFINISHED, "   ").split(" ")
    return (version, before) if found == kind else None


def _change(
    client: MlflowClient, name: str, model: Any, kind: str, version: str, before: str
) -> None:
    """Make a version champion; its tag comes first, so that a call that is stopped can go on."""
    if _begun(model, kind) != (version, before):
        change = f"{kind} {time.time_ns()} {version} {before}"
        client.set_registered_model_tag(name, UNFINISHED, change)
    client.set_registered_model_alias(name, CHAMPION, version)
    reach("registry.between-aliases")
    if before:
        client.set_registered_model_alias(name, PREVIOUS, before)
    if str(model.aliases.get(CHALLENGER, "")) == version:
        client.delete_registered_model_alias(name, CHALLENGER)


@contextmanager
def finishing(uri: str, name: str) -> Iterator[str]:
    """Yield the change of the champion to report; after the block the same call makes another."""
    client = open_store(uri)
    with reported(uri):
        yield str(_model(client, uri, name).tags.get(UNFINISHED, ""))
        reach("registry.before-end")
        client.delete_registered_model_tag(name, UNFINISHED)


def _compared(champion: Baseline, challenger: Baseline, tolerance: float) -> tuple[bool, str]:
    """Return whether a challenger's scores are no worse than the champion's, with the reason."""
    (old,), (new,) = champion.scenarios, challenger.scenarios
    for name in ("metric", "direction", "digest"):
        now, then = getattr(new, name), getattr(old, name)
        if now != then:
            return False, f"{name} is {now!r}, and not {then!r}: the scores cannot be compared"
    if lost := sorted(old.scores.keys() - new.scores.keys()):
        return False, f"no score for seed {', '.join(lost)}"
    scores = np.array([[each.scores[seed] for seed in old.scores] for each in (old, new)])
    pairs = paired(*scores, old.direction)
    drop = -pairs.gain.value
    size = f"{'worse' if drop > 0 else 'better'} by {abs(drop):.3%} in {pairs.n} pairs"
    return drop <= tolerance, f"{size}, the tolerance is {tolerance:.2%}"


def _readable(results: Sequence[Result], fitted: Fitted) -> dict[str, str]:
    """Return the tags that MLflow's UI shows next to a version."""
    first = results[0]
    mean = math.fsum(result.score or 0.0 for result in results) / len(results)
    tags = {
        "leaseboard.algorithm": first.name,
        "leaseboard.data": first.data,
        SCORE: f"{first.metric} {mean:.6g} (n={len(results)})",
    }
    return tags if fitted.test is None else tags | {"leaseboard.test": f"{fitted.test:.6g}"}


def _about(results: Sequence[Result], fitted: Fitted) -> About:
    """Return the description, parameters and metrics of a winner, whose model is the first's."""
    first = results[0]
    job = job_record(first, ())
    params = {k: v for k, v in job.params.items() if not k.startswith("versions.")}
    params |= {f"champion.{k}": v for k, v in texts(first.champion or {}).items()}
    metrics = {each.key: each.value for each in job.metrics if each.step == 0}
    scores = np.array([result.score for result in results], np.float64)
    span = mean_interval(scores)
    metrics |= {"score.mean": span.value, "score.repetitions": float(len(scores))}
    if np.isfinite(span.lower):
        metrics |= {"score.mean.lower": span.lower, "score.mean.upper": span.upper}
    if fitted.test is not None:
        metrics["test"] = fitted.test
    features = fitted.dataset.features
    better = {"min": "less", "max": "more"}[first.direction]
    about = (
        f"The model of **{literal(first.name)}** on {literal(first.data)} ({len(features):,} rows,"
        f" {features.shape[1]} features, {fitted.dataset.task}, digest {first.digest[:12]})."
        f"\n\n`score` is {metric_title(first.metric)}, {better} is better: {first.score:.6g} of"
        f" this model, {metrics['score.mean']:.6g} the mean of {len(scores)} repetitions."
    )
    if fitted.test is not None:
        about += f" `test` is its score on rows that it has not seen: {fitted.test:.6g}."
    return About(about, params, metrics, job.data)


def _model(client: MlflowClient, uri: str, name: str) -> Any:
    from mlflow.exceptions import MlflowException

    try:
        return client.get_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        known = [model.name for model in every(client.search_registered_models)]
        raise unknown("registered model", name, known) from error


def _baseline(client: MlflowClient, name: str, version: str) -> Baseline:
    import mlflow
    from mlflow.exceptions import MlflowException

    entry = client.get_model_version(name, version)
    if CANDIDATE in entry.tags:
        raise UsageError(
            f"{name} is a live model: its updates promote on evidence, see"
            f" `leaseboard live status FILE`; `leaseboard live rollback {name}` goes back"
        )
    try:
        with default_store(client.tracking_uri):
            text = mlflow.artifacts.load_text(f"models:/{name}/{version}/{ACCEPTED}")
    except MlflowException as error:
        raise UsageError(
            f"version {version} of {name} was not registered by this version of leaseboard: it has"
            f" no {ACCEPTED} with scores to compare with: register it again, or move its alias by"
            " hand"
        ) from error
    return Baseline.from_json(text, f"version {version} of {name}")

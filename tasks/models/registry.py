"""Models in MLflow's registry: logged with signature and example, challenger, champion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.models import columns
from leaseboard.tasks.models.logged import KEY, log
from leaseboard.tasks.models.names import check_name
from leaseboard.tasks.models.winner import Fitted
from leaseboard.tasks.score.frame import as_frame
from leaseboard.tasks.score.gate.baseline import Baseline, accept
from leaseboard.tasks.score.gate.verdict import TOLERANCE, Check, check_scores
from leaseboard.tasks.track.client import every
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

CHALLENGER, CHAMPION, PREVIOUS = "challenger", "champion", "previous"
ACCEPTED, PROMOTION = "leaseboard.accepted", "leaseboard.promotion"
"""Tags of a version: the winner's scores as the gate keeps them, and the gate's last word."""
KEEP, LINEAGE = "leaseboard.keep", "leaseboard.lineage"
"""Tags: of a model FILE.yaml of its keep, of a version the number of its lineage there."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """What became of a challenger."""

    version: str
    """The challenger's."""
    champion: str | None
    """The version that was champion before."""
    promoted: bool
    check: Check | None
    """The gate's; None if there was no champion to compare with."""

    @property
    def explanation(self) -> str:
        """Why, in one line."""
        if self.check is None:
            return "there was no champion"
        return f"against version {self.champion}: {self.check.explanation}"


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
        known = _known(client, name, first.key)
        if known is None:
            tags = {KEY: first.key, ACCEPTED: baseline.to_json(), **_readable(first, fitted)}
            example = columns.example(fitted.dataset.features)
            group_id = experiment(client, uri, group)
            known = log(client, group_id, name, fitted.model, example, tags)
        if CHAMPION not in known.aliases:
            client.set_registered_model_alias(name, CHALLENGER, known.version)
    return str(known.version)


def promote(
    uri: str, name: str, *, tolerance: float = TOLERANCE, better: bool = False
) -> Promotion:
    """Make the challenger champion unless its scores are worse than the present champion's.

    The champion's scores are what the gate calls accepted, the challenger's are compared with
    them, paired by the environment's seed. A challenger has to earn its place: a mean drop beyond
    the tolerance refuses it, even where chance might explain the drop, as do other data, another
    metric, or a seed without a score. Without a champion it is promoted.

    `better`: promote only if its mean is better by more than the tolerance.

    Raises UsageError if there is no such model, or no challenger.
    """
    client = open_store(uri)
    with reported(uri):
        aliases = _model(client, uri, name).aliases
        if CHALLENGER not in aliases:
            raise UsageError(f"{name} has no challenger: register one first")
        version = str(aliases[CHALLENGER])
        champion = None if CHAMPION not in aliases else str(aliases[CHAMPION])
        check, passed = None, True
        if champion is not None:
            both = _baseline(client, name, champion), _baseline(client, name, version)
            check = _compared(*both, tolerance)
            gain = None if check.drop is None else -check.drop.value
            passed = gain is not None and (gain > tolerance if better else gain >= -tolerance)
        promotion = Promotion(version, champion, passed, check)
        client.set_model_version_tag(name, version, PROMOTION, promotion.explanation)
        if passed:
            if champion is not None:
                client.set_registered_model_alias(name, PREVIOUS, champion)
            client.set_registered_model_alias(name, CHAMPION, version)
            client.delete_registered_model_alias(name, CHALLENGER)
    return promotion


def keep_of(uri: str, name: str) -> str:
    """FILE.yaml of the keep whose model it is; empty of a model that no keep publishes.

    Raises UsageError if there is no such model.
    """
    client = open_store(uri)
    with reported(uri):
        return str(_model(client, uri, name).tags.get(KEEP, ""))


def roll_back(uri: str, name: str) -> str:
    """Let champion and previous champion change places; the version that is champion then.

    Raises UsageError if there is no such model, or no previous champion.
    """
    client = open_store(uri)
    with reported(uri):
        aliases = _model(client, uri, name).aliases
        if not {CHAMPION, PREVIOUS} <= aliases.keys():
            raise UsageError(
                f"{name} has no previous champion: it has one once a challenger took the place of"
                " another"
            )
        client.set_registered_model_alias(name, CHAMPION, aliases[PREVIOUS])
        client.set_registered_model_alias(name, PREVIOUS, aliases[CHAMPION])
    return str(aliases[PREVIOUS])


def listed(uri: str) -> list[dict[str, str]]:
    """Every version of every registered model of ours, newest first, as texts for a table."""
    client = open_store(uri)
    found = []
    with reported(uri):
        for model in every(client.search_registered_models):
            by_version = {str(version): alias for alias, version in model.aliases.items()}
            for entry in every(client.search_model_versions, f"name='{model.name}'"):
                if LINEAGE in entry.tags:
                    found.append(_snapshot(entry, by_version.get(str(entry.version), "")))
                if ACCEPTED not in entry.tags:
                    continue
                (scenario,) = Baseline.from_json(entry.tags[ACCEPTED]).scenarios
                mean = sum(scenario.scores.values()) / len(scenario.scores)
                found.append(
                    {
                        "name": model.name,
                        "version": str(entry.version),
                        "alias": by_version.get(str(entry.version), ""),
                        "algorithm": scenario.label,
                        "data": scenario.data,
                        "score": f"{scenario.metric} {mean:.6g} (n={len(scenario.scores)})",
                        "gate": entry.tags.get(PROMOTION, ""),
                    }
                )
    return found


def _snapshot(entry: ModelVersion, alias: str) -> dict[str, str]:
    """A version that a keep published, as a line of `listed`."""
    tags = entry.tags
    return {
        "name": entry.name,
        "version": str(entry.version),
        "alias": alias,
        "algorithm": tags["leaseboard.algorithm"],
        "data": tags["leaseboard.data"],
        "score": tags["leaseboard.score"],
        "gate": f"lineage {tags[LINEAGE]} of a keep",
    }


def _compared(champion: Baseline, challenger: Baseline, tolerance: float) -> Check:
    """The gate's check of the challenger's scores against the champion's."""
    (accepted,), (measured,) = champion.scenarios, challenger.scenarios
    accepted = replace(
        accepted, label=measured.label, data=measured.data, algorithm=measured.algorithm,
        settings={}, bench={},
    )  # fmt: skip
    frame = as_frame(
        Result(
            key=f"repetition-{repetition}",
            algorithm=measured.algorithm, label=measured.label, data=measured.data,
            digest=measured.digest, seed=int(seed), environment_seed=int(seed),
            repetition=repetition, status="ok", score=score, metric=measured.metric,
            direction=measured.direction, version=measured.version,
        )
        for repetition, (seed, score) in enumerate(measured.scores.items())
    )  # fmt: skip
    check = check_scores(frame, (accepted,), tolerance)[0]
    if check.drop is None:
        return check
    if lost := sorted(accepted.scores.keys() - measured.scores.keys()):
        missing = f"no score for seed {', '.join(lost)}"
        return replace(check, verdict="missing", explanation=missing, drop=None)
    change = "worse" if check.drop.value > 0 else "better"
    size = f"{change} by {abs(check.drop.value):.3%} in {check.n} pairs"
    return replace(check, explanation=f"{size}, the tolerance is {tolerance:.2%}")


def _readable(result: Result, fitted: Fitted) -> dict[str, str]:
    """What the UI shall show beside a version."""
    tags = {
        "leaseboard.algorithm": result.label,
        "leaseboard.data": result.data,
        "leaseboard.score": f"{result.metric} {result.score:.6g}",
    }
    return tags if fitted.test is None else tags | {"leaseboard.test": f"{fitted.test:.6g}"}


def _known(client: MlflowClient, name: str, key: str) -> ModelVersion | None:
    versions = every(client.search_model_versions, f"name='{name}'")
    found = next((entry for entry in versions if entry.tags.get(KEY) == key), None)
    return None if found is None else client.get_model_version(name, found.version)


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
    tags = client.get_model_version(name, version).tags
    if LINEAGE in tags:
        raise UsageError(
            f"{name} is kept: its turns promote on evidence, see `leaseboard keep FILE --status`;"
            f" `leaseboard model rollback {name}` goes back"
        )
    if ACCEPTED not in tags:
        raise UsageError(
            f"version {version} of {name} was not registered by leaseboard: it has no scores to"
            " compare with, so move its alias by hand"
        )
    return Baseline.from_json(tags[ACCEPTED], f"version {version} of {name}")

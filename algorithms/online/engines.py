"""Engines that train models: our kernel, or Vowpal Wabbit."""

from __future__ import annotations

import functools
import logging
import re
import shlex
from typing import Annotated, Literal

from pydantic import AfterValidator

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel import (
    LOGISTIC,
    OPTIONS,
    SQUARED,
)
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online.learner import Learner, LiveModels
from leaseboard.algorithms.online.schema import Schema

EngineName = Literal["auto", "kernel", "vw"]

LOSSES = {"regression": SQUARED, "classification": LOGISTIC}
"""The loss that each task is learned with; classes are labelled -1 and 1."""

OUTSIDE = frozenset(
    f"--{name}"
    for name in (
        *("data", "initial_regressor", "final_regressor", "readable_model", "invert_hash"),
        *("predictions", "raw_predictions", "cache", "cache_file", "kill_cache", "save_per_pass"),
        *("input_feature_regularizer", "output_feature_regularizer_binary", "feature_mask"),
        *("output_feature_regularizer_text", "dump_json_weights_experimental", "extra_metrics"),
        *("dictionary", "dictionary_path", "stdin", "daemon", "foreground", "port", "port_file"),
        *("pid_file", "num_children", "span_server", "span_server_port", "audit_regressor"),
    )
)
"""Options of VW by which a workspace reads, writes or serves by itself."""

_SHORT_OUTSIDE = re.compile(r"-[difprck]")

_log = logging.getLogger(__name__)


def choose_engine(
    name: EngineName, task: str, vw_options: str = ""
) -> tuple[Literal["kernel", "vw"], tuple[str, ...]]:
    """Return the engine that will train, and the options that its workspaces get.

    Parameters
    ----------
    name : "auto", "kernel" or "vw"
    task : "regression" or "classification"
        Of `LOSSES`.
    vw_options : str
        Further options of VW.

    Raises
    ------
    UsageError
        If the kernel is asked for what it cannot do.

    Examples
    --------
    >>> choose_engine("auto", "regression")
    ('kernel', ())
    >>> choose_engine("auto", "classification")
    ('kernel', ('--loss_function', 'logistic'))
    >>> choose_engine("auto", "regression", "--l2 1e-6")
    ('vw', ('--l2', '1e-6'))
    """
    own, further = OPTIONS[LOSSES[task]], shlex.split(vw_options)
    if not further:
        return ("vw" if name == "vw" else "kernel"), own
    if name == "kernel":
        raise UsageError(
            f"engine 'kernel' cannot train with {vw_options}: it has only VW's default"
            " update (squared or logistic loss); use engine 'vw' or 'auto'"
        )
    if name == "auto":
        _log_fallback(vw_options)
    return "vw", (*own, *further)


@functools.cache  # once a process: a run makes many models, and is prepared before it starts
def _log_fallback(options: str) -> None:
    _log.warning("falling back to engine 'vw', slower: the kernel has no %s", options)


@functools.lru_cache(maxsize=8)
def accepted(vw_options: str) -> str:
    """Return `vw_options` if a workspace opens with them, else raise UsageError in VW's words.

    Options that name a file or a port are refused before VW sees them: settings come from suites
    and saved models, and they must not decide what a model learns from and where it goes.
    """
    if vw_options:
        from leaseboard.algorithms.online.workspace import open_workspace

        tokens = tuple(shlex.split(vw_options))
        for token in tokens:
            if token.partition("=")[0] in OUTSIDE or _SHORT_OUTSIDE.match(token):
                raise ValueError(f"option {token!r} is about files or ports: leave it out")
        tiny = Schema(("a",), ((0,),), ("0",))
        open_workspace(tiny, VWConfiguration(), tokens).finish()
    return vw_options


VwOptions = Annotated[str, AfterValidator(accepted)]
"""A setting that holds further options of VW."""


def make_models(
    name: EngineName, schema: Schema, n_slots: int, task: str, vw_options: str = ""
) -> LiveModels:
    """Return slots for models that the engine called `name` trains, see `choose_engine`."""
    chosen, options = choose_engine(name, task, vw_options)
    if chosen == "vw":
        from leaseboard.algorithms.online.workspace import WorkspaceModels  # heavy

        return WorkspaceModels(schema, n_slots, options)
    return KernelModels(schema, n_slots, LOSSES[task])


def make_learner(
    name: EngineName,
    schema: Schema,
    configuration: VWConfiguration,
    task: str = "regression",
    vw_options: str = "",
) -> Learner:
    """Return one model of `configuration`, trained by the engine called `name`."""
    models = make_models(name, schema, 1, task, vw_options)
    models.start(0, configuration)
    return Learner(models)

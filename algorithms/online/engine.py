"""Which engine trains: the kernel where it can do the work, real VW workspaces elsewhere."""

from __future__ import annotations

import functools
import logging
import shlex
from typing import Annotated, Literal

from pydantic import AfterValidator

from algorithms.errors import UsageError
from algorithms.online.configuration import Configuration
from algorithms.online.kernel_learner import KernelLearner
from algorithms.online.learner import Learner
from algorithms.online.schema import Schema

EngineName = Literal["auto", "kernel", "vw"]

LOGISTIC = ("--loss_function", "logistic")

_log = logging.getLogger(__name__)


def choose_engine(
    name: EngineName, task: str, vw_options: str = ""
) -> tuple[Literal["kernel", "vw"], tuple[str, ...]]:
    """The engine that will train, and the options that its workspaces get.

    Parameters
    ----------
    name : "auto", "kernel" or "vw"
    task : "regression" or "classification"
        Classes are learned with logistic loss, labels -1 and 1.
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
    >>> choose_engine("auto", "regression", "--l2 1e-6")
    ('vw', ('--l2', '1e-6'))
    """
    options = (*(LOGISTIC if task == "classification" else ()), *shlex.split(vw_options))
    if not options:
        return ("vw" if name == "vw" else "kernel"), ()
    if name == "kernel":
        raise UsageError(
            f"engine 'kernel' cannot train with {' '.join(options)}: it has only VW's default"
            " update (squared loss); use engine 'vw' or 'auto'"
        )
    if name == "auto":
        _tell_fallback(" ".join(options))
    return "vw", options


@functools.cache  # once a process: a run makes many models, and is prepared before it starts
def _tell_fallback(options: str) -> None:
    _log.warning("falling back to engine 'vw', slower: the kernel has no %s", options)


@functools.lru_cache(maxsize=8)
def accepted(vw_options: str) -> str:
    """`vw_options` if a workspace opens with them; UsageError in VW's own words otherwise."""
    if vw_options:
        from algorithms.online.workspace import WorkspaceLearner

        tiny = Schema(("a",), ((0,),), ("0",))
        WorkspaceLearner(tiny, Configuration(), tuple(shlex.split(vw_options))).close()
    return vw_options


VwOptions = Annotated[str, AfterValidator(accepted)]
"""A setting that holds further options of VW."""


def make_learner(
    name: EngineName,
    schema: Schema,
    configuration: Configuration,
    task: str = "regression",
    vw_options: str = "",
) -> Learner:
    """One model of `configuration`, trained by the engine called `name`."""
    chosen, options = choose_engine(name, task, vw_options)
    if chosen == "kernel":
        return KernelLearner(schema, configuration)
    from algorithms.online.workspace import WorkspaceLearner

    return WorkspaceLearner(schema, configuration, options)

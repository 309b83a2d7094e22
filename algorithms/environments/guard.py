"""The guard: shows an algorithm its environment, and records what it does there.

An algorithm gets a view of its environment. It can read and call everything public through the
view; it can set nothing, and what is private is not there. So a mistake raises an error. The view
is not a sandbox: code that digs (``env.record.__self__``) reaches the environment.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from leaseboard.algorithms.base import Environment, Run
from leaseboard.algorithms.environments.holdout import HoldoutEnvironment
from leaseboard.algorithms.errors import AuditError, NotYoursError
from leaseboard.algorithms.events import Event, Finished, ProbeFinished, TrialFinished
from leaseboard.algorithms.log_format import to_json

Action = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method of an environment that was called, and with which arguments."""


class GuardedView:
    """Environment as its algorithm sees it.

    Parameters
    ----------
    look : callable
        Returns what is shown under a public name.
    """

    __slots__ = ("__weakref__", "_look")

    def __init__(self, look: Callable[[str], Any]) -> None:
        object.__setattr__(self, "_look", look)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise NotYoursError(f"{name!r} is the environment's own: use what is public of it")
        return self._look(name)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise NotYoursError(
            f"the environment owns {name!r}, so no algorithm can set it: keep your own"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise NotYoursError(f"the environment owns {name!r}, so no algorithm can remove it")


def _action(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Action:
    copies = {key: copy.copy(value) for key, value in named.items()}
    return name, tuple(copy.copy(value) for value in given), copies


class Guard:
    """Recorder of an algorithm's actions on its environment.

    Parameters
    ----------
    env : Environment
        Fresh.

    Attributes
    ----------
    view : GuardedView
        What the algorithm gets in place of the environment.
    actions : list of Action
        What the algorithm did through it.
    """

    def __init__(self, env: Environment) -> None:
        self.actions: list[Action] = []
        self.view = GuardedView(self._look)
        self._begun: list[str] = []  # generators of the environment that did not come to their end
        self._env = env

    def _look(self, name: str) -> Any:
        if name in self._env.shown:
            return self._env.shown[name]
        found = getattr(self._env, name)
        return functools.partial(self._act, name, found) if name in self._env.actions else found

    def _act(self, name: str, method: Any, *given: Any, **named: Any) -> Any:
        """Call an environment's method, and record it with a copy of its arguments."""
        if inspect.isgeneratorfunction(method):
            steps = method(*given, **named)
            self._begun.append(name)
            return self._iterate(name, steps, given, named)
        action = _action(name, given, named)
        done = method(*given, **named)  # one that raises has changed nothing
        self.actions.append(action)
        return done

    def _iterate(self, name: str, steps: Any, given: Any, named: Any) -> Run:
        """Yield `steps`, recorded when the first is done, with the arguments before it."""
        action = _action(name, given, named)
        try:
            try:
                first = next(steps)  # one that raises here has changed nothing
            except StopIteration as stop:
                self.actions.append(action)
                return stop.value
            self.actions.append(action)
            yield first
            return (yield from steps)
        except GeneratorExit:  # closed by the algorithm, and so half done
            self._begun.append(name)
            raise
        finally:
            self._begun.remove(name)

    def verify(self) -> None:
        """Raise `AuditError` unless all actions of the algorithm came to their end."""
        if self._begun:
            name = self._begun[0]
            raise AuditError(
                f"env.{name}(...) was called and not iterated to its end, and does nothing by"
                f" itself: write `yield from env.{name}(...)`"
            )


@dataclass(frozen=True, slots=True)
class Played:
    """Whole run: its environment, its guard, and its events."""

    env: Environment
    guard: Guard
    log: list[Event]


Shown = tuple[Any, str]
"""A prediction, action or event: what is compared, and what a message says of it."""


def first_difference(same: int, one: Played, other: Played) -> str:
    """Return where runs part although their environments do so only after `same` answers.

    A prediction of example k may depend on the labels before it and on the features up to its own,
    for every size of the block in which it is handed in; on the hold-out environment features of
    all training rows are known at once, the test rows' are not known to training. The choice of a
    pull or a probe may depend on the results of those before. What happened until then, in actions
    and events, must be the same in both runs; then the text is empty.

    Parameters
    ----------
    same : int
        How many answers were alike: labels, trials or probes.
    """
    runs = (one, other)
    if one.env.paid:
        found = _parted("action", *(_actions(run, _until_paid(run, same)) for run in runs))
        found = found or _parted("event", *(_events(_answered(run, same)) for run in runs))
        return found and f"{found} although the first {same} answers are the same"
    found = _parted("prediction of example", *(_predictions(run)[: same + 1] for run in runs))
    found = found or _parted("event", *(_events(_before(run, same)) for run in runs))
    if isinstance(one.env, HoldoutEnvironment) and same >= one.env.n_train:
        found = found or _parted("action", *(_actions(run) for run in runs))
    return found and f"{found} although nothing changes before the label of example {same}"


def _parted(what: str, mine: Sequence[Shown], theirs: Sequence[Shown]) -> str:
    for n, ((one, said), (other, now)) in enumerate(zip(mine, theirs, strict=False)):
        if one != other:
            return f"its {what} {n} moves from {said} to {now}"
    return "" if len(mine) == len(theirs) else f"{len(mine)} {what}s become {len(theirs)}"


def _predictions(run: Played) -> list[Shown]:
    """Return what was handed in, of three and more classes without those that have not come."""
    found: list[Shown] = []
    for name, given, _ in run.guard.actions:
        # Adding 0 makes equal numbers equal texts: there is a negative 0.
        for values in (np.asarray(given[0]) + 0.0).tolist() if name == "record" else ():
            while isinstance(values, list) and values and not values[-1]:
                values.pop()
            found.append((repr(values), repr(values)))
    return found


def _actions(run: Played, count: int | None = None) -> list[Shown]:
    """Return the first actions: arrays are compared by their bytes, and shown by their length."""
    found = []
    for name, given, named in run.guard.actions[:count]:
        values = [*given, *named.values()]
        plain = [v.tobytes() if isinstance(v, np.ndarray) else v for v in values]
        said = (f"{len(v)} values" if isinstance(v, np.ndarray) else repr(v) for v in values)
        found.append(((name, list(named), plain), f"{name}({', '.join(said)})"))
    return found


def _until_paid(run: Played, same: int) -> int | None:
    """Return how many actions there were until `same` answers were paid for, and the next."""
    paid = [i for i, (name, *_) in enumerate(run.guard.actions) if name in run.env.paid]
    return paid[same] + 1 if same < len(paid) else None


def _before(run: Played, same: int) -> list[Event]:
    return [event for event in run.log if event.at <= same and not isinstance(event, Finished)]


def _answered(run: Played, same: int) -> list[Event]:
    """Return the events until `same` answers were reported."""
    answers = (TrialFinished, ProbeFinished)
    places = [i for i, event in enumerate(run.log) if isinstance(event, answers)]
    if same > len(places):
        return run.log[:-1]
    return run.log[: places[same - 1] + 1 if same else 1]


def _events(log: Sequence[Event]) -> list[Shown]:
    """Return events without test scores, which the environment adds."""
    lines = (
        to_json(replace(event, test=None) if isinstance(event, TrialFinished) else event)
        for event in log
    )
    return [(line, line) for line in lines]

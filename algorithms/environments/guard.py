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
    mine, theirs = _known(one, same), _known(other, same)
    found = next(filter(None, (_parted(what, mine[what], theirs[what]) for what in mine)), "")
    answers = f"the first {same} answers are the same"
    why = answers if one.env.paid else f"nothing changes before the label of example {same}"
    return found and f"{found} although {why}"


def _known(run: Played, same: int) -> dict[str, list[Shown]]:
    """Return what a run did until so many answers were alike, by kind."""
    env, actions, log = run.env, run.guard.actions, run.log
    if env.paid:
        paid = [i for i, (name, *_) in enumerate(actions) if name in env.paid]
        if same < len(paid):
            actions = actions[: paid[same] + 1]
        answers = [i for i, e in enumerate(log) if isinstance(e, TrialFinished | ProbeFinished)]
        upto = answers[same - 1] + 1 if 0 < same <= len(answers) else 1
        events = log[:-1] if same > len(answers) else log[:upto]
        return {"action": _actions(actions), "event": _events(events)}
    events = [each for each in log if each.at <= same and not isinstance(each, Finished)]
    found = {"prediction of example": _predictions(run)[: same + 1], "event": _events(events)}
    if isinstance(env, HoldoutEnvironment) and same >= env.n_train:
        found["action"] = _actions(actions)
    return found


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


def _actions(actions: Sequence[Action]) -> list[Shown]:
    """Return actions: arrays are compared by their bytes, and shown by their length."""
    found = []
    for name, given, named in actions:
        values = [*given, *named.values()]
        plain = [v.tobytes() if isinstance(v, np.ndarray) else v for v in values]
        said = (f"{len(v)} values" if isinstance(v, np.ndarray) else repr(v) for v in values)
        found.append(((name, list(named), plain), f"{name}({', '.join(said)})"))
    return found


def _events(log: Sequence[Event]) -> list[Shown]:
    """Return events without test scores, which the environment adds."""
    lines = (
        to_json(replace(event, test=None) if isinstance(event, TrialFinished) else event)
        for event in log
    )
    return [(line, line) for line in lines]

"""The promises that every algorithm keeps, as checks that run over ours and over yours.

``leaseboard check my_algorithm.py:Name`` runs them; so does the test suite over the registry.
"""

from __future__ import annotations

import dataclasses
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import numpy as np

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import Algorithm, Bench, play, settings_of
from leaseboard.algorithms.benches.holdout import HoldoutBench
from leaseboard.algorithms.benches.referee import Played, Referee, first_difference
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.errors import BrokenPromiseError, DivergedError
from leaseboard.algorithms.events import Event, Finished, LeaseGranted, TrialFinished, of
from leaseboard.algorithms.log_format import to_json
from leaseboard.algorithms.testing import BENCHES, Tiny, tiny_bench
from leaseboard.algorithms.user_files import place

Check = Callable[[Algorithm], None]

WITH_CLASSES = (StreamBench.kind, HoldoutBench.kind)


def checks() -> dict[str, Check]:
    """Every check by its name, in the order in which they are reported."""
    return {
        name.removeprefix("check_"): function
        for name, function in globals().items()
        if name.startswith("check_")
    }


def broken(algorithm: str, name: str) -> str:
    """How the algorithm of that name breaks a promise, in one line; empty if it keeps it."""
    built = registry.build(algorithm)
    try:
        checks()[name](built)
    except Exception as error:  # noqa: BLE001  (whatever an algorithm raises breaks a promise)
        return f"{type(error).__name__}: {error}{place(error)}"
    return ""


def check_audit(algorithm: Algorithm) -> None:
    """The auditor finds nothing, and the score is a finite number."""
    finished = _audited(algorithm, Tiny())
    _promise(np.isfinite(finished.score), f"the score is {finished.score}, not a finite number")


def check_score(algorithm: Algorithm) -> None:
    """The score is that of a second bench which was told the same; the bench is left as it is."""
    played = _played(algorithm, tiny_bench(algorithm.bench))
    played.referee.verify(_audit(played.log))


def check_look_ahead(algorithm: Algorithm) -> None:
    """It decides by what it was told until then: what comes later changes nothing before."""
    if algorithm.hindsight:  # declared, and marked wherever it is ranked
        return
    _look_ahead(algorithm, Tiny())


def check_seeded(algorithm: Algorithm) -> None:
    """The same seed gives the same events, byte for byte."""
    _promise(_lines(algorithm) == _lines(algorithm), "two runs with one seed differ")


def check_global_randomness(algorithm: Algorithm) -> None:
    """Neither `random` nor `numpy.random` is used: poisoned, they change nothing."""
    expected = _lines(algorithm)
    with _poisoned():
        _promise(_lines(algorithm) == expected, "global random state changes the events")


def check_restart(algorithm: Algorithm) -> None:
    """A run that was broken off leaves nothing behind: the next one is whole."""
    expected = _lines(algorithm)
    bench = tiny_bench(algorithm.bench)
    run = play("checked", algorithm, bench, 1, Referee(bench).window)
    for _ in range(len(expected) // 2):
        next(run)
    run.close()
    _promise(_lines(algorithm) == expected, "a run that was broken off changes the next one")


def check_pickle(algorithm: Algorithm) -> None:
    """A copy that went through pickle is equal and runs equally, as worker processes need."""
    copy = pickle.loads(pickle.dumps(algorithm))  # noqa: S301  (pickled the moment before)
    same = settings_of(copy) == settings_of(algorithm)
    _promise(same, "a copy that went through pickle has other settings")
    _promise(_lines(copy) == _lines(algorithm), "a copy that went through pickle runs otherwise")


def check_settings(algorithm: Algorithm) -> None:
    """The settings are frozen plain values, and rebuild the algorithm."""
    settings = settings_of(algorithm)
    same = settings_of(type(algorithm)(**settings)) == settings
    _promise(same, "the settings do not rebuild the algorithm")
    for name in settings:
        try:
            setattr(algorithm, name, settings[name])
        except dataclasses.FrozenInstanceError:
            continue
        raise BrokenPromiseError(f"setting {name!r} can be changed: declare frozen=True")


def check_zero_budget(algorithm: Algorithm) -> None:
    """With nothing to spend it spends nothing and stops."""
    log = _run(algorithm, tiny_bench(algorithm.bench, Tiny(budget=0)))
    _promise(log[-1].at == 0, f"without a budget it spends {log[-1].at}")
    trials = len(of(log, TrialFinished))
    _promise(not trials, f"without a budget it runs {trials} trials")


def check_one_choice(algorithm: Algorithm) -> None:
    """With one configuration, arm or feature to choose from it still runs to the end."""
    _audited(algorithm, Tiny(choices=1))


def check_one_unit(algorithm: Algorithm) -> None:
    """With a budget of the least unit it runs to the end within it."""
    _audited(algorithm, Tiny(budget=1))


def check_not_a_number(algorithm: Algorithm) -> None:
    """What is not a number in the environment ends in a clean log or in `DivergedError`."""
    with suppress(DivergedError):
        _audited(algorithm, Tiny(broken=True))


def check_leases(algorithm: Algorithm) -> None:
    """What is live says so: an algorithm with a capacity grants leases."""
    if algorithm.capacity is not None:
        log = _run(algorithm, tiny_bench(algorithm.bench))
        _promise(of(log, LeaseGranted), "it has a capacity and grants no lease")


def check_many_classes(algorithm: Algorithm) -> None:
    """Of three classes, one of which comes late, it tells each, if it says that it can.

    The auditor finds nothing, the score is right, the same seed gives the same events, and nobody
    is told of a class before it comes.
    """
    three = Tiny(classes=3)
    if algorithm.bench not in WITH_CLASSES or not algorithm.many_classes:
        return
    runs = [_played(algorithm, tiny_bench(algorithm.bench, three)) for _ in range(2)]
    runs[0].referee.verify(_audit(runs[0].log))
    one, other = ([to_json(event) for event in run.log] for run in runs)
    _promise(one == other, "two runs with one seed differ")
    if not algorithm.hindsight:
        _look_ahead(algorithm, three)


def _look_ahead(algorithm: Algorithm, tiny: Tiny) -> None:
    for budget, cuts in BENCHES[algorithm.bench].cuts.items():
        known = dataclasses.replace(tiny, budget=budget)
        as_it_is = _played(algorithm, tiny_bench(algorithm.bench, known))
        for same in cuts:
            other = tiny_bench(algorithm.bench, dataclasses.replace(known, same=same))
            moved = first_difference(same, as_it_is, _played(algorithm, other))
            _promise(not moved, moved)


def _promise(kept: object, broken: str) -> None:
    """Raise unless a promise was kept; a bare assert would vanish under ``python -O``."""
    if not kept:
        raise BrokenPromiseError(broken)


def _audited(algorithm: Algorithm, tiny: Tiny) -> Finished:
    return _audit(_run(algorithm, tiny_bench(algorithm.bench, tiny)))


def _audit(log: list[Event]) -> Finished:
    auditor = Auditor()
    for event in log:
        auditor(event)
    return auditor.close()


def _played(algorithm: Algorithm, bench: Bench) -> Played:
    """A whole run at the window of `bench`."""
    referee = Referee(bench)
    algorithm.prepare(referee.window)
    return Played(bench, referee, list(play("checked", algorithm, bench, 1, referee.window)))


def _run(algorithm: Algorithm, bench: Bench) -> list[Event]:
    return _played(algorithm, bench).log


def _lines(algorithm: Algorithm) -> list[str]:
    return [to_json(event) for event in _run(algorithm, tiny_bench(algorithm.bench))]


@contextmanager
def _poisoned() -> Iterator[None]:
    """Who draws from the global generators fails, and so does who seeds them.

    The usual functions refuse at once, which names the culprit in the traceback; what the others
    do is seen in the generators' states afterwards.
    """

    def refuse(*_: Any, **__: Any) -> None:
        raise BrokenPromiseError("a global random generator was used: derive one from the seed")

    names = ("random", "randint", "choice", "shuffle", "uniform", "seed", "sample")
    refusals: dict[str, Any] = dict.fromkeys(names, refuse)
    before = _global_states()
    with mock.patch.multiple(random, **refusals):
        drawn = ("rand", "randn", "randint", "choice", "shuffle", "uniform", "normal", "seed",
                 "random", "permutation")  # fmt: skip
        refusals = dict.fromkeys(drawn, refuse)
        with mock.patch.multiple(np.random, **refusals):
            yield
    if _global_states() != before:
        refuse()


def _global_states() -> tuple[object, ...]:
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002 - it is what must not change
    keys, place = legacy["state"]["key"].tolist(), legacy["state"]["pos"]
    return random.getstate(), keys, place, legacy["has_gauss"]

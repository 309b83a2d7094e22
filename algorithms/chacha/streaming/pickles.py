"""The pickles of models for streams, which are built when they are asked for anything.

Many are pickled again before that: those that go from process to process to learn. A pickle is for
whoever trusts where it comes from; for files see `leaseboard.algorithms.chacha.streaming.files`.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from leaseboard.algorithms.chacha.oracle import ConfigOracle
from leaseboard.algorithms.chacha.race_file import FORMAT
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.locks import Exclusive, exclusive, new_lock


class Stateful(Exclusive, ABC):
    """What goes on from its state as if nothing had been between."""

    namespaces: Mapping[str, list[str]] | None
    oracle: ConfigOracle | None
    seed: int
    algorithm: str
    pending: int
    settings: dict[str, Any]
    _asleep: tuple[Any, ...]
    """What it is built of; only of one that is not built."""

    @abstractmethod
    def __init__(
        self,
        namespaces: Mapping[str, list[str]] | None,
        oracle: ConfigOracle | None,
        seed: int,
        algorithm: str,
        pending: int,
        **settings: Any,
    ) -> None:
        """The model that has seen nothing."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What `_fill` needs to make a fresh model this one."""

    @abstractmethod
    def _fill(self, state: dict[str, Any]) -> None:
        """Go on from `state`, where nothing was learned so far."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what `save` writes: joblib's own pickles would part arrays that are shared."""
        held = vars(self)  # another thread may build it meanwhile
        if held.keys() == {"_asleep", "_lock"}:
            return _sleeping, (type(self), FORMAT, held["_asleep"])
        return _sleeping, (type(self), FORMAT, self._pickled())  # or changed while it was asleep

    @exclusive
    def _pickled(self) -> tuple[Any, ...]:
        given = (self.namespaces, self.oracle, self.seed, self.algorithm, self.pending)
        return given, self.settings, pickle.dumps(self._state(), pickle.HIGHEST_PROTOCOL)

    if not TYPE_CHECKING:  # it would let every attribute pass

        def __getattr__(self, name: str) -> Any:
            """What an unpickled model is asked for first builds it: many go on to be pickled."""
            if "_asleep" in vars(self) and not name.startswith("__"):
                with self._lock:
                    asleep = vars(self).get("_asleep")
                    if asleep is not None:
                        changed = {k: v for k, v in vars(self).items() if k != "_asleep"}
                        # in one step, for an interrupt may come
                        self.__dict__ = vars(self._built(*asleep)) | changed
            return object.__getattribute__(self, name)

    @classmethod
    def _built(cls, given: tuple[Any, ...], settings: dict[str, Any], state: bytes) -> Self:
        model = cls(*given, **settings)
        model._fill(pickle.loads(state))  # noqa: S301 - it came in a pickle
        return model


def _sleeping(cls: type[Stateful], mark: str, asleep: tuple[Any, ...]) -> Stateful:
    """An unpickled model, which is built when it is asked for anything."""
    if mark != FORMAT:
        raise UsageError(
            f"this {cls.__name__} was pickled by another version ({mark}, not {FORMAT}): unpickle"
            " it there, or learn anew"
        )
    model = cls.__new__(cls)
    model.__dict__ = {"_asleep": asleep, "_lock": new_lock()}
    return model

"""The files of models for streams: read without executing, written in one step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from leaseboard.algorithms import plain
from leaseboard.algorithms.chacha.oracle import ConfigOracle, load_oracle
from leaseboard.algorithms.chacha.race_file import FORMAT, UNFIT, file_in
from leaseboard.algorithms.chacha.streaming.pickles import Stateful
from leaseboard.algorithms.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write that takes the place of `path` in one step; no half of it is ever seen."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.touch()
        yield partial
        partial.replace(path)
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be written ({error.strerror}): name a file in a folder that"
            " exists and may be written"
        ) from error
    finally:
        if partial.is_file():
            partial.unlink()


def read_state(path: str | Path) -> tuple[str, str | None, dict[str, Any]]:
    """The class, the oracle of the user's if there is one, and the state that a file holds."""
    try:
        state = plain.read(Path(path), FORMAT)
        return str(state["class"]), file_in(state["settings"]) or state["oracle"], state
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be read ({error.strerror}): name a file that `save` wrote"
        ) from error
    except UNFIT as error:
        raise UsageError(unfit(path)) from error


def unfit(path: str | Path) -> str:
    """What is said of a file that no model of this version wrote."""
    return (
        f"{str(path)!r} is no saved model of this version ({FORMAT}), or a damaged one: name a"
        " file that `save` wrote and nothing has changed since, or learn its examples again"
    )


class Savable(Stateful):
    """What goes on from a file as if nothing had been between."""

    @abstractmethod
    def _read_history(self) -> None:
        """Make events of what the state says of them."""

    def save(self, path: str | Path) -> None:
        """Write the whole state as numbers and texts; `load` goes on from it exactly.

        Of an oracle of your own its attributes are written.

        Raises
        ------
        UsageError
            If the oracle or the classes hold other things than numbers, texts, arrays of
            numbers, and lists, tuples, sets and dicts of them, or the file cannot be written.
        """
        with replacing(Path(path)) as partial:
            plain.write(partial, {"class": type(self).__name__, **self._state()}, FORMAT)

    @classmethod
    def load(cls, path: str | Path, oracle: ConfigOracle | str | None = None) -> Self:
        """The model that `save` wrote. Nothing that the file holds is executed.

        Parameters
        ----------
        path : str or Path
        oracle : ConfigOracle or str, optional
            Where the model had an oracle of your own, a fresh one, or ``path/to/file.py:Class``.

        Raises
        ------
        UsageError
            If the file is none that `save` wrote, or it needs the `oracle`.
        """
        name, own, state = read_state(path)
        if name != cls.__name__:
            raise UsageError(f"{str(path)!r} holds a {name}: load it as such")
        if own is not None and oracle is None:
            raise UsageError(
                f"{str(path)!r} needs your oracle {own}, whose code is not in the file: hand it"
                " over, as in load(path, oracle='path/to/file.py:Class')"
            )
        if isinstance(oracle, str):
            oracle = load_oracle(oracle)
        try:
            namespaces = _namespaces(state["features"]["declared"])
            given = namespaces, oracle, state["seed"], state["algorithm"], state["most_pending"]
            model = cls(*given, **state["settings"])
            model._fill(state)
            model._read_history()
        except UNFIT as error:
            raise UsageError(unfit(path)) from error
        return model

    @staticmethod
    def saved_class(path: str | Path) -> str:
        """The name of the class whose `load` reads the file; UsageError as that raises it."""
        return read_state(path)[0]


def _namespaces(declared: Mapping[str, str]) -> dict[str, list[str]] | None:
    """What was handed in as `namespaces`, by the namespace of every feature."""
    found: dict[str, list[str]] = {}
    for feature, space in declared.items():
        found.setdefault(space, []).append(feature)
    return found or None

"""How much a YAML file says with its aliases written out: a short one can say a billion values."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import yaml

from algorithms.errors import UsageError

DEEPEST = 50
"""Levels of a configuration; ours have six."""
MOST_CHARACTERS = 1_000_000
"""Of a file; ours have 10,000. Python reads a few hundred thousand in a second."""
MOST_VALUES = 1_000_000


def check_depth(events: Iterable[yaml.Event], path: Path) -> None:
    """Refuse what is nested so deeply that it would end the process when it is composed.

    Raises UsageError with file and line.
    """
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST + 1:
            raise _too_deep(path, event)


def check_size(tree: yaml.Node | None, path: Path) -> None:
    """Refuse what would never end, or fill the memory, when it is made into values.

    Raises UsageError with file and line.
    """
    if tree is not None:
        _count(tree, path, {}, 0)


def _count(node: yaml.Node, path: Path, known: dict[int, int], depth: int) -> int:
    """The values in `node`; `known` has those of the nodes that were counted."""
    where = f"{path}:{node.start_mark.line + 1}"
    if depth > DEEPEST:  # also of an alias within its own anchor, which goes on for ever
        raise _too_deep(path, node)
    if id(node) not in known:
        inner = node.value if isinstance(node, yaml.CollectionNode) else []
        if isinstance(node, yaml.MappingNode):
            inner = [each for pair in node.value for each in pair]
        known[id(node)] = 1 + sum(_count(each, path, known, depth + 1) for each in inner)
        if known[id(node)] > MOST_VALUES:
            raise UsageError(
                f"{where}: more than {MOST_VALUES} values, with aliases written out:"
                " a configuration needs a few hundred"
            )
    return known[id(node)]


def _too_deep(path: Path, at: yaml.Node | yaml.Event) -> UsageError:
    line = at.start_mark.line + 1
    return UsageError(f"{path}:{line}: nested too deeply: {DEEPEST} levels are enough")

"""YAML that people write, validated; errors name the file, the line and the key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from leaseboard.algorithms.errors import UsageError, rule, short, unknown
from leaseboard.tasks.machine.addresses import redacted

Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Part of such a file: no other keys, no other types, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def where(path: Path, location: list[str | int]) -> str:
    """Return ``file:line: key.path`` of a place in a YAML file, for an error about it."""
    tree = yaml.compose(path.read_text(encoding="utf-8"), Loader=_Loader)
    return f"{path}:{_line(tree, location)}: {'.'.join(map(str, location))}"


def load_yaml(path: Path, model: type[Model]) -> Model:
    """Return a validated `model` from a YAML file; the UsageError says where it is wrong."""
    tree, content = read_yaml(path)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UsageError(_explain(path, tree, error, model)) from error


def read_yaml(path: Path) -> tuple[yaml.Node | None, Mapping[str, Any]]:
    """Return the mapping in a YAML file, and the nodes that know its lines."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}: name a YAML file that you can read"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: byte {error.start} is invalid") from error
    try:
        loader = _Loader(text)
        tree = loader.get_single_node()
        content = None if tree is None else loader.construct_document(tree)
    except (yaml.YAMLError, ValueError) as error:  # also of a number with thousands of digits
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        said = str(getattr(error, "problem", error)).partition("\n")[0]
        raise UsageError(f"{place}: {short(said)}: write YAML that parses") from error
    if not isinstance(content, Mapping):
        raise UsageError(f"{path}: a YAML mapping is expected, not {type(content).__name__}")
    return tree, content


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):
    """Safe loader of YAML, compiled if available, that refuses a key written twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key in (str(key.value) for key, _ in node.value):
            if key in seen:
                problem = f"key {short(key)!r} occurs twice"
                raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
            seen.add(key)
        made: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return made


def _explain(
    path: Path, tree: yaml.Node | None, error: ValidationError, model: type[BaseModel]
) -> str:
    errors = error.errors()
    first = errors[0]
    if first["type"] == "missing":  # an unknown key next to it says more
        same = (each for each in errors if each["loc"][:-1] == errors[0]["loc"][:-1])
        first = next((each for each in same if each["type"] == "extra_forbidden"), first)
    location = [part for part in first["loc"] if not str(part).startswith("function-")]
    key = ".".join(short(str(part)) for part in location)
    place = f"{path}:{_line(tree, location)}"
    if first["type"] == "extra_forbidden":
        if len(location) == 1:
            return f"{place}: {unknown('key', key, model.model_fields)}"
        return (
            f"{place}: {key}: unknown key: the page 'Keys of YAML files' has those that are known"
        )
    given = f" (given {_shown(first)})" if location and first["type"] != "missing" else ""
    return f"{place}: {key or 'suite'}{rule(first)}{given}"


def _shown(error: Mapping[str, Any]) -> str:
    """Return the value that was given, without the password of an address."""
    value = repr(error["input"])
    return short(redacted(value) if "://" in value else value)


def _line(node: yaml.Node | None, location: list[Any]) -> int:
    """Return the line of the deepest node on the way to `location`, counted from 1."""
    line = node.start_mark.line if node else 0
    for part in location:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return line + 1

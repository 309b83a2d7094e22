"""The version of an algorithm's code: a hash of everything its result can depend on."""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path

from algorithms import registry

_ROOT = Path(__file__).resolve().parent.parent


def code_version(algorithm: str) -> str:
    """A hash of the algorithm's module, its bench and all they import of this project.

    Comments, docstrings and layout do not count. Reading data does not count either: the data's
    digest stands for it.
    """
    path, colon, _ = algorithm.rpartition(":")
    if colon and path.endswith(".py"):
        start = [Path(path).resolve()]
    else:
        module = registry.entry(algorithm).target.partition(":")[0]
        start = [_ROOT / (module.replace(".", "/") + ".py")]
    bench = registry.algorithm_class(algorithm).bench
    start.append(_ROOT / "tasks" / "benches" / f"{bench}.py")
    digest = hashlib.sha256()
    for source in sorted(_reachable(start)):
        digest.update(_meaning(source).encode())
    return digest.hexdigest()[:12]


def source_version(*modules: str) -> str:
    """A hash of what modules of this project say, without what they import.

    Stored trials and probes are filed under it, so that a change of a learner's code is not
    answered with what the old code computed.
    """
    digest = hashlib.sha256()
    for module in modules:
        digest.update(_meaning(_ROOT / (module.replace(".", "/") + ".py")).encode())
    return digest.hexdigest()[:12]


def _reachable(start: list[Path]) -> set[Path]:
    found: set[Path] = set()
    todo = [path for path in start if path.is_file()]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo.extend(_imports(path))
    return found


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    modules: list[str] = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    paths: list[Path] = []
    for module in modules:
        top, _, rest = module.partition(".")
        if top == "algorithms" or (top == "tasks" and not rest.startswith(("fetch", "paths"))):
            base = _ROOT / module.replace(".", "/")
            paths += [p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()]
    return tuple(paths)


@functools.cache
def _meaning(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                del body[0]
    return ast.dump(tree)

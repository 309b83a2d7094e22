"""Functions that numba compiles, kept from one process to the next by the content of their code.

A kernel's key is a digest of its own code, of all kernels and constants that are compiled into it,
of the types it is called with, of the versions of the compiler, and of the processor. So the same
code in another folder, or installed again, compiles nothing, and of changed code nothing is run
that was compiled before. Each specialisation is a file of its own, which is whole or absent. Of
several processes that want the same one, the first compiles it; the others wait, and load it.

A kernel has one specialisation for arrays that may be written and those that may not, and for a
value that its caller writes as a constant: numba would compile each of these again. What only
other kernels call has nothing that Python could call it by.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import logging
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import IO, Any, TypeVar, overload

import llvmlite.binding
import numba
import numpy as np
from numba import typeof, types
from numba.core import config, serialize, sigutils
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment, lookup_environment
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime.nrt import rtsys

from leaseboard.algorithms import hooks
from leaseboard.algorithms.caches import cache_dir

Function = TypeVar("Function", bound=Callable[..., Any])

LIMIT = 256 * 2**20
"""Bytes of compiled kernels that are kept; those that were compiled first are removed first."""

_FORMAT = 7
"""It differs if kernels of an earlier version of this module must not be used."""
_DIGEST = 32
"""Bytes before the content of a file."""

_COMPILING = "leaseboard: compiling what this needs for the first time: up to a minute"
_LOGGER = logging.getLogger(__name__)
_said: set[str] = set()


class _Bitcode(JITCodeLibrary):
    """Code that goes into that of its callers, without machine code of its own."""

    def _optimize_final_module(self) -> None:
        """Prepare the code to be put into its callers, which optimise it in full."""
        if not self._linking_libraries:  # a loop, which is vectorised before it is in its caller
            super()._optimize_final_module()
            return
        made: Any = self._codegen
        cheap = {"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"}
        passes, builder = made._module_pass_manager(**cheap)  # noqa: SLF001
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def serialize_using_object_code(self) -> Any:
        """Return what of it is kept."""
        return self.serialize_using_bitcode()

    def restore(self, module: Any, reload_init: Any) -> None:
        """Take what was kept."""
        self._final_module = module
        self._reload_init.update(reload_init)
        self._finalize_final_module()


def _new_bitcode(context: Any, name: str) -> _Bitcode:
    library = context.codegen().create_library(name)
    library.__class__ = _Bitcode
    return library  # type: ignore[no-any-return]


class _Within(Compiler):
    """numba's compiler, for a kernel that only kernels call."""

    def __init__(self, typing: Any, context: Any, library: Any, *rest: Any) -> None:
        *_, flags, _ = rest
        flags.no_compile = True
        super().__init__(typing, context, _new_bitcode(context, "within"), *rest)


class Kernel(CPUDispatcher):
    """A function that numba compiles: see the module."""

    _compiler: Any  # of numba's class

    def __init__(self, py_func: Any, names: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, names, dict(targetoptions or {}))
        self._cache = KernelCache(self)
        self._inside = False
        self._bare: set[tuple[Any, ...]] = set()

    def compile(self, sig: Any) -> Any:
        """Return the specialisation for arguments of these types, compiled or loaded."""
        with global_compiler_lock, hooks.measuring():
            given, inside = tuple(sigutils.normalize_signature(sig)[0]), self._inside
            kinds = given if inside else tuple(map(writable, given))
            if kinds in self._bare and not inside:  # Python calls what only kernels called
                self._bare.remove(kinds)
                del self.overloads[kinds]
            if kinds not in self.overloads:
                self.targetoptions["no_cpython_wrapper"] = inside
                self._compiler.pipeline_class = _Within if inside else Compiler
                with self._cache.turn(kinds):
                    super().compile(kinds)
            entry = self.get_overload(kinds)
            if given != kinds:  # Python finds it by these types from now on
                codes = [kind._code for kind in given]  # noqa: SLF001
                self._insert(codes, entry, False)  # type: ignore[attr-defined]
        return entry

    def add_overload(self, cres: Any) -> None:
        """Add a specialisation; one that only kernels call is none for Python."""
        if not self._inside:
            # What errors need of the kernels within: no machine code of theirs has it.
            for each in cres._find_referenced_environments():  # noqa: SLF001
                cres.codegen.set_env(each.env_name, each)
            super().add_overload(cres)
            return
        if cres.entry_point is None:  # just compiled
            cres = cres._replace(entry_point=object())
            self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
        self._bare.add(cres.signature.args)
        self.overloads[cres.signature.args] = cres

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how another kernel's call is typed."""
        before, self._inside = self._inside, True
        try:
            plain = {name: types.unliteral(kind) for name, kind in kws.items()}
            return super().get_call_template(tuple(map(types.unliteral, args)), plain)
        finally:
            self._inside = before


@overload
def compiled(function: Function) -> Function: ...


@overload
def compiled(**options: Any) -> Callable[[Function], Function]: ...


def compiled(function: Any = None, **options: Any) -> Any:
    """Return a function that is compiled when it is called; the options are ``numba.njit``'s."""
    if function is None:
        return partial(compiled, **options)
    common = {"nopython": True, "boundscheck": None, "nogil": True, "no_cfunc_wrapper": True}
    return Kernel(function, targetoptions=common | options)


def compile_for(function: Kernel, *arguments: Any) -> None:
    """Compile a kernel as others call it with arguments such as these."""
    function.get_call_template(tuple(map(typeof, arguments)), {})


def writable(kind: Any) -> Any:
    """Return the type of the same arrays without the mark of those that are read only."""
    if isinstance(kind, types.Array):
        return kind.copy(readonly=False)
    if isinstance(kind, types.NamedTuple):
        named: Any = type(kind)
        return named(list(map(writable, kind.types)), kind.instance_class)
    return kind


class KernelCache(NullCache):
    """Files of the specialisations of one kernel: see the module."""

    def __init__(self, owner: Kernel) -> None:
        self.owner = owner

    @contextmanager
    def turn(self, kinds: tuple[Any, ...]) -> Iterator[None]:
        """Wait while another process compiles the same."""
        path = self._path(kinds)
        if path.exists():
            yield
            return
        lock = self._lock(path)
        if lock is None:
            announce()
            yield
            return
        # Kernels wait in the order of their calls, so no two processes wait for each other.
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists() and announce():
                for call in hooks.beginning:
                    call()
            yield
            if path.exists():  # so no one waits for the lock any more
                Path(lock.name).unlink(missing_ok=True)

    def _lock(self, path: Path) -> IO[str] | None:
        """Return the open lock file of a specialisation; None if it cannot be written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.with_suffix(".lock").open("w")
        except OSError as error:
            _say_no_place(error)
            return None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a specialisation that is kept, None if there is none."""
        path = self._path(sig)
        # Of what numba imports to compile, kept code needs this, and more if it hashes texts.
        rtsys.initialize(target_context)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _say_no_place(error)
            return None
        digest, reduced = content[:_DIGEST], content[_DIGEST:]
        if _digest(path, reduced) != digest:  # damaged, or another kernel's
            return None
        if b"_numba_hashsecret_" in reduced:
            importlib.import_module("numba.cpython.hashing")
        try:
            *parts, kept = pickle.loads(reduced)  # noqa: S301
            if not all(map(_is_free, kept)):
                return None
            environments = [_environment(*each) for each in kept]
        except (ImportError, AttributeError):  # of a version with the same code in other modules
            return None
        parts[2] = _environment(*parts[2])
        (name, kind, code), *rest = parts
        if kind != "bitcode":
            rebuild: Any = CompileResult._rebuild  # noqa: SLF001
            return rebuild(target_context, *parts, environments)
        fndesc, environment, signature, _, lifted, _, reload_init = rest
        library = _new_bitcode(target_context, name)
        library.restore(llvmlite.binding.parse_bitcode(code), reload_init)
        return compile_result(
            target_context=target_context, library=library, fndesc=fndesc, entry_point=object(),
            environment=environment, signature=signature, lifted=lifted, objectmode=False,
            reload_init=reload_init, referenced_envs=environments,
        )  # fmt: skip

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a specialisation, unless it holds addresses of this process."""
        path = self._path(sig)
        if not path.parent.is_dir() or data.library.has_dynamic_globals:
            return
        # The third part is the kernel's own environment; the last, those of what is within it.
        *parts, environments = data._reduce()  # noqa: SLF001
        parts[2], *kept = (each.__reduce__()[1] for each in (parts[2], *environments))
        reduced = serialize.dumps((*parts, [parts[2], *kept]))
        try:
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as made:
                made.write(_digest(path, reduced) + reduced)
            Path(made.name).replace(path)
        except OSError as error:
            _say_no_place(error)

    def _path(self, kinds: Any) -> Path:
        """Return the file of a specialisation."""
        machine = cpu_target.target_context.codegen().magic_tuple()
        versions = sys.version_info[:2], numba.__version__, llvmlite.__version__, np.__version__
        settings = [getattr(config, name) for name in ("OPT", "LOOP_VECTORIZE")]
        bare = self.owner.targetoptions["no_cpython_wrapper"]
        parts = code_of(self.owner), [*map(str, kinds)], bare, machine, versions, settings, _FORMAT
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()
        return folder() / f"{self.owner.py_func.__name__}-{digest[:32]}.kernel"


def _digest(path: Path, content: bytes) -> bytes:
    return hashlib.sha256(path.name.encode() + content).digest()


def _is_free(kept: tuple[str, list[Any], str]) -> bool:
    """Return whether no other function of this process has the name of a kept environment.

    Those of a factory may, if they were compiled in several processes.
    """
    _, constants, name = kept
    known = lookup_environment(name)
    return known is None or list(map(repr, known.consts)) == list(map(repr, constants))


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """Return the constants with which a kept function makes Python's objects: errors and results.

    No module of numba is imported for it: that takes half a second, and nothing reads its globals.
    """
    known: Environment | None = lookup_environment(name)
    if known is not None:
        return known
    is_numba = module.partition(".")[0] == "numba"
    names = {"__name__": module} if is_numba else vars(importlib.import_module(module))
    made = Environment(names)
    made.consts[:] = constants
    made.env_name = name
    Environment._memo[name] = made  # noqa: SLF001
    return made


@cache
def folder() -> Path:
    """Return the folder of kernels, of bounded size."""
    place = cache_dir() / "kernels"
    found = [(each.stat(), each) for each in place.glob("*") if each.is_file()]
    total = sum(status.st_size for status, _ in found)
    for status, each in sorted(found, key=lambda pair: pair[0].st_mtime):
        if total > LIMIT:
            total -= status.st_size
            with suppress(OSError):  # another process has removed it, or this one may not
                each.unlink()
    return place


def _say_no_place(error: Exception) -> None:
    line = (
        "leaseboard: each process compiles its kernels again: %s: set LEASEBOARD_CACHE to a folder"
        " that can be written"
    )
    _say(line, error)


def _say(line: str, *values: object) -> bool:
    """Log a line, once in a process; it is on standard error unless the program has other logs."""
    if line in _said:
        return False
    _said.add(line)
    _LOGGER.warning(line, *values)
    return True


def is_kept(name: str) -> bool:
    """Return whether a specialisation of a kernel of this name is kept, of any version."""
    return any(folder().glob(f"{name}-*.kernel"))


def announce() -> bool:
    """Say that kernels are compiled now, which takes a while; return False if it was said."""
    return _say(_COMPILING)


def begin_quietly() -> None:
    """Compile without a line, and without a call of `hooks.beginning`, in this process."""
    _said.add(_COMPILING)


@cache
def code_of(owner: Kernel) -> str:
    """Return a digest of all code and all constants that are compiled into a kernel."""
    found: list[str] = []
    _add(owner, found)
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def _add(value: Any, found: list[str]) -> None:
    """Add lines that differ where machine code may, and not by where the code is."""
    function: Any = getattr(value, "py_func", getattr(value, "_defn", None))  # or an intrinsic's
    if function is not None:
        options = sorted(getattr(value, "targetoptions", {}).items())
        options = [(k, _plain(v)) for k, v in options if k != "no_cpython_wrapper"]
        line = repr(
            (
                value.__name__,
                options,
                _lines(function.__code__, function.__doc__),
                function.__defaults__,
            )
        )
        if line not in found:
            found.append(line)
            names = {*function.__code__.co_names}
            for name in sorted(names & {*function.__globals__}):
                each = function.__globals__[name]
                inner = vars(each) if isinstance(each, ModuleType) else {}
                for one in (each, *(inner[key] for key in sorted(names & {*inner}))):
                    found.append(name)
                    _add(one, found)
            for cell in function.__closure__ or ():
                _add(cell.cell_contents, found)
    elif isinstance(value, tuple | list):
        for each in value:
            _add(each, found)
    elif isinstance(value, np.ndarray):
        found.append(f"{value.dtype} {value.shape} {value.tobytes().hex()}")
    elif isinstance(value, np.generic | int | float | str | None):
        found.append(f"{type(value)} {value!r}")
    else:  # a type, a tuple with names, a function of a library
        named = getattr(value, "__qualname__", type(value).__qualname__)
        found.append(f"{named} {getattr(value, '_fields', '')}")


def _lines(code: CodeType, doc: str | None) -> list[Any]:
    """Return what a function does, without where it is and what it says of itself."""
    constants = [(type(one), _plain(one)) for one in code.co_consts if one != doc]
    return [code.co_code, constants, code.co_names, code.co_varnames]


def _plain(value: Any) -> Any:
    """Return what is the same in every process: a set has an order, code no address."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return _lines(value, None) if isinstance(value, CodeType) else value

"""Compile the kernels, as hatchling makes a wheel or an editable installation.

Each ``.pyx`` below ``algorithms/`` becomes an extension module, once for each kind of processor in
`VARIANTS`, in ``leaseboard/_kernels/VARIANT``, under the whole name that it is imported by;
``leaseboard/kernels.py`` chooses among them. No flag lets a compiler reorder or fuse arithmetic,
so all variants compute the same bits.

``python hatch_build.py`` compiles those whose sources have changed, in the checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
BUILT = ROOT / "leaseboard" / "_kernels"
VARIANTS = (
    {"x86-64-v2": "-march=x86-64-v2", "x86-64-v3": "-march=x86-64-v3"}
    if platform.machine() in {"x86_64", "AMD64"}
    else {"any": ""}
)
FLAGS = (
    "-shared -fPIC -O3 -fwrapv -ffp-contract=off -fno-math-errno -fno-trapping-math"
    " -fno-strict-aliasing -fvisibility=hidden -w -Wno-psabi"
)
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
UTILITIES = "leaseboard.algorithms.cython_utilities"
"""The module of what Cython itself brings for arrays, which all kernels share."""
_CIMPORT = re.compile(rb"^from (leaseboard[.\w]+) cimport (\w*)", re.MULTILINE)
DIRECTIVES = {
    "language_level": 3,
    "allow_none_for_extension_args": False,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "infer_types": True,
    "embedsignature": True,
}


def sources() -> dict[str, Path]:
    """Return the source of each kernel by its name when imported; `UTILITIES` has no file."""
    found = sorted((ROOT / "leaseboard" / "algorithms").rglob("*.pyx"))
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in found}
    return {UTILITIES: ROOT / "leaseboard" / "algorithms" / "cython_utilities.pyx", **names}


def digests() -> dict[str, str]:
    """Return what each kernel is compiled of: its source, what it declares, this file, tools."""
    tools = f"{SUFFIX} {version('cython')} {compiler()}"
    shared = Path(__file__).read_bytes() + tools.encode()
    found = {}
    for name, path in sources().items():
        read, todo = {}, [path, path.with_suffix(".pxd")]
        while todo:
            one = todo.pop()
            if one not in read and one.is_file():
                read[one] = one.read_bytes()
                todo += [
                    ROOT.joinpath(*at.decode().split(".")).with_suffix(".pxd")
                    for module, name in _CIMPORT.findall(read[one])
                    for at in (module, module + b"." + name)
                ]
        content = shared + b"".join(read[one] for one in sorted(read))
        found[name] = hashlib.sha256(content).hexdigest()
    return found


def to_c(name: str, path: Path, code: Path) -> None:
    """Write the C code of a kernel."""
    from Cython.Build.SharedModule import generate_shared_module
    from Cython.Compiler.Main import CompilationOptions, compile_single, default_options

    options = CompilationOptions(
        default_options,
        output_file=str(code),
        include_path=[str(ROOT)],
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=None if name == UTILITIES else UTILITIES,
    )
    if name == UTILITIES:
        options.shared_c_file_path, options.module_name = str(code), name
        generate_shared_module(options)
    elif compile_single(str(path), options, full_module_name=name).num_errors:
        raise SystemExit(f"{path}: Cython refuses it: see above")


def to_machine_code(name: str, code: Path) -> None:
    """Compile the C code of a kernel for each kind of processor."""
    for variant, processor in VARIANTS.items():
        target = BUILT / variant / (name + SUFFIX)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        command = [*compiler(), *shlex.split(f"{FLAGS} {processor}"), code.name, "-o", str(part)]
        command += ["-I", sysconfig.get_path("include"), "-lm"]
        subprocess.run(command, cwd=code.parent, check=True)  # the same file wherever it is made
        part.replace(target)  # a process that runs keeps the old file


def build() -> list[Path]:
    """Compile the kernels whose sources have changed; return all."""
    began, record = time.time(), BUILT / "digests.json"
    wanted, known = digests(), json.loads(record.read_text()) if record.exists() else {}
    BUILT.mkdir(parents=True, exist_ok=True)
    files = {name: [BUILT / v / (name + SUFFIX) for v in VARIANTS] for name in wanted}
    stale = [
        name for name, digest in wanted.items()
        if known.get(name) != digest or not all(path.exists() for path in files[name])
    ]  # fmt: skip
    if stale:
        check_compiler()
        places, made = sources(), []
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
            for name in stale:  # one after the other, beside the compiler
                code = Path(folder, name + ".c")
                to_c(name, places[name], code)
                made.append(pool.submit(to_machine_code, name, code))
            for compiled in made:
                compiled.result()
    record.write_text(json.dumps(wanted, indent=1))
    os.utime(record, (began, began))  # what has changed since is not compiled
    kept = {path for paths in files.values() for path in paths}
    for path in BUILT.rglob("leaseboard.*"):
        if path not in kept:
            path.unlink()
    return sorted(kept)


def compiler() -> list[str]:
    """Return the C compiler, as a command."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def check_compiler() -> None:
    """Say in one line what to install where a compiler or Python's headers are missing."""
    header = Path(sysconfig.get_path("include"), "Python.h")
    if shutil.which(compiler()[0]) is None or not header.exists():
        raise SystemExit(
            f"kernels need a C compiler ({compiler()[0]}) and {header}: apt-get install"
            " build-essential python3-dev"
        )


class Kernels(BuildHookInterface[Any]):
    """Build hook of pyproject.toml."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernels, and add them to a wheel."""
        made = build()
        if version != "editable":
            build_data["pure_python"], build_data["infer_tag"] = False, True
            build_data["force_include"].update(
                {str(path): str(path.relative_to(ROOT)) for path in made}
            )


if __name__ == "__main__":
    build()
    sys.exit()

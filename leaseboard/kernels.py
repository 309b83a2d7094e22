"""Where compiled kernels are found: those that were built for a processor such as this one.

They are in ``_kernels/VARIANT`` under their whole names, so each is one module with one name. In a
checkout, one that is older than its source is refused: ``make install`` compiles it again.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from sysconfig import get_config_var
from types import ModuleType

FOLDER = Path(__file__).with_name("_kernels")
_SUFFIX = str(get_config_var("EXT_SUFFIX"))
_V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
"""What Linux calls the instructions of x86-64-v3; with `abm` comes LZCNT."""


@cache
def variant() -> str:
    """Return the kind of processor whose kernels run here, of those that were built."""
    if not (FOLDER / "x86-64-v2").exists():
        return "any"
    with suppress(OSError):  # some sandboxes have no such file
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        if {*next((line for line in lines if line[:5] == "flags"), "").split()} >= _V3:
            return "x86-64-v3"
    return "x86-64-v2"


def _refuse_stale() -> None:
    """Raise ImportError where a kernel of this checkout is not compiled as its source is."""
    checkout, built = FOLDER.parents[1], FOLDER / "digests.json"
    if not (checkout / "hatch_build.py").exists() or not (checkout / "algorithms").is_dir():
        return
    if not built.exists():
        raise ImportError("the kernels are not compiled: run make install")
    for source in (checkout / "hatch_build.py", *(checkout / "algorithms").rglob("*.p[yx][xd]")):
        if source.stat().st_mtime > built.stat().st_mtime:
            raise ImportError(f"{source} has changed since it was compiled: run make install")


class KernelFinder:
    """Finder of compiled kernels for `sys.meta_path`."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a kernel is; None of any other module."""
        if not name.startswith("leaseboard.algorithms."):
            return None
        file = (self._folder or FOLDER / variant()) / (name + _SUFFIX)
        source = FOLDER.parents[1].joinpath(*name.split(".")[1:]).with_suffix(".pyx")
        if not file.exists() and not source.exists():
            return None
        if self._folder is None:
            _refuse_stale()
            self._folder = file.parent
        if not file.exists():
            raise ImportError(f"{source} is not compiled for this Python: run make install")
        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, str(file)))


sys.meta_path.insert(0, KernelFinder())

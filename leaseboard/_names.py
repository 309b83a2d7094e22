"""Whether Python finds our packages: a folder ``tasks`` of somebody's own can hide ours.

It is here because `leaseboard` is the one name of ours that nobody else's folder has.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Where our packages stand, beside this one."""


def check(*names: str) -> None:
    """Do nothing if each of the packages `names` is ours.

    Raises
    ------
    ImportError
        In one line that names what hides ours.
    """
    for name in names:
        spec = find_spec(name)
        if spec is None:
            raise ImportError(f"no package {name!r} beside {ROOT / 'leaseboard'}: install again")
        places = [spec.origin] if spec.origin else spec.submodule_search_locations or []
        found = Path(places[0]).resolve()
        if found != ROOT / name / "__init__.py":
            other = found.parent if found.name == "__init__.py" else found
            raise ImportError(
                f"{other} hides Leaseboard's package {name!r} in {ROOT}: rename it, or keep"
                f" {other.parent} off the front of Python's path, for example with python -P"
            )

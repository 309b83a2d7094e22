"""The wheel of the Leaseboard that runs, which a model brings where no index has it.

It is made of the files of the installation, which may be a checkout, and of the metadata of the
installed distribution. Equal files give equal bytes.
"""

import base64
import hashlib
import os
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

from leaseboard.algorithms.caches import cache_dir
from leaseboard.tasks.machine.paths import IMPORTED_FROM, shipped_conf

_TAG = "py3-none-any"
_WHEEL = f"Wheel-Version: 1.0\nGenerator: leaseboard\nRoot-Is-Purelib: true\nTag: {_TAG}\n"
_LEFT_OUT = {"__pycache__", "_conf"}


def wheel() -> Path | None:
    """Return the wheel, made once for each state of the code; None without an installation."""
    try:
        installed = metadata.distribution("leaseboard")
    except metadata.PackageNotFoundError:
        return None
    files = _files()
    about = f"leaseboard-{installed.version}.dist-info"
    texts = {
        f"{about}/{name}": installed.read_text(name) or ""
        for name in ("METADATA", "entry_points.txt")
    } | {f"{about}/WHEEL": _WHEEL}
    state = hashlib.sha256(repr(sorted(texts.items())).encode())
    for name, path in files.items():
        found = path.stat()
        state.update(f"{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    place = cache_dir() / "wheels" / state.hexdigest()[:16]
    made = place / f"leaseboard-{installed.version}-{_TAG}.whl"
    if not made.is_file():
        place.mkdir(parents=True, exist_ok=True)
        contents = {name: path.read_bytes() for name, path in files.items()}
        contents |= {name: text.encode() for name, text in texts.items()}
        with tempfile.NamedTemporaryFile(dir=place, delete=False) as part:
            _write(Path(part.name), contents, f"{about}/RECORD")
        Path(part.name).replace(made)  # of several processes each writes the same
    return made


def _files() -> dict[str, Path]:
    """Return the files of the package, by their names in the wheel, in order."""
    found = {}
    for top, name in ((IMPORTED_FROM / "leaseboard", ""), (shipped_conf(), "_conf/")):
        for folder, folders, files in os.walk(top, followlinks=True):
            folders[:] = sorted(set(folders) - _LEFT_OUT)
            for file in sorted(files):
                path = Path(folder) / file
                found[f"leaseboard/{name}{path.relative_to(top).as_posix()}"] = path
    return found


def _write(place: Path, contents: dict[str, bytes], record: str) -> None:
    lines = []
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            lines.append(f"{name},sha256={digest.decode()},{len(content)}\n")
        file.writestr(zipfile.ZipInfo(record), "".join([*lines, f"{record},,\n"]))

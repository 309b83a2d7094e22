"""Detached signatures of archives, by the keys of SSH.

Signed are the bytes of the manifest, which has the digest of every other member but the verdict,
so a verdict does not break a signature. The signature of ``runs.zip`` is ``runs.zip.sig``. Signers
are a file as `ssh-keygen` reads it: a line ``alice@example.org ssh-ed25519 AAAA...`` each.
"""

import json
import subprocess
from pathlib import Path

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive.bundle import ARCHIVE, Bundle
from leaseboard.tasks.archive.zipped import MANIFEST
from leaseboard.tasks.folder.results import RESULT, write_atomically
from leaseboard.tasks.report.site import SIGNED, signed

NAMESPACE = "leaseboard"
"""A signature for another purpose, such as a commit's, is none of an archive."""


def place_of(archive: Path) -> Path:
    """Return the file of the signature of an archive."""
    return archive.with_name(f"{archive.name}.sig")


def sign(archive: Path, key: Path) -> Path:
    """Write the signature of an archive by a private key; return its file."""
    made = _keygen("sign", "-f", str(key), said=_manifest(archive))
    if made is None:
        raise UsageError(f"--sign {str(key)!r}: ssh-keygen cannot use it: name a private key")
    write_atomically(place_of(archive), made.encode())
    return place_of(archive)


def signer_of(archive: Path, signers: Path) -> str:
    """Return who of `signers` signed the archive; UsageError if none did, or it was changed."""
    place, signature = place_of(archive), ["-s", str(place_of(archive)), "-f", str(signers)]
    if not signers.is_file():
        raise UsageError(f"--signers {str(signers)!r} does not exist: name a file of signers")
    if not place.is_file():
        raise UsageError(f"{archive} is not signed: {place} does not exist")
    for name in (_keygen("find-principals", *signature) or "").splitlines():
        if _keygen("verify", *signature, "-I", name, said=_manifest(archive)) is not None:
            return name
    raise UsageError(f"{place} is not a signature of {archive} by one of {signers}")


def remember(out: Path, bundle: Bundle, signer: str) -> None:
    """Note in a run folder who signed the results that came with an archive."""
    mine = {key: [signer, bundle.manifest.files[f"jobs/{key}/{RESULT}"].sha256]
            for key in bundle.results}  # fmt: skip
    write_atomically(out / SIGNED, json.dumps(signed(out) | mine).encode())


def _manifest(archive: Path) -> bytes:
    with ARCHIVE.opened(archive) as opened:
        return opened.read(MANIFEST)


def _keygen(what: str, *words: str, said: bytes = b"") -> str | None:
    """Return what ``ssh-keygen -Y`` prints; None if it refuses."""
    command = ["ssh-keygen", "-Y", what, "-n", NAMESPACE, *words]
    try:
        done = subprocess.run(command, input=said, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise UsageError("signatures need ssh-keygen: install OpenSSH's client") from error
    return None if done.returncode else done.stdout.decode()

"""Zip files that come from elsewhere: read by names, sizes and digests, never unpacked unseen."""

import hashlib
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leaseboard.algorithms.errors import UsageError, naming, short
from leaseboard.tasks.folder.checksums import digest_of
from leaseboard.tasks.jobs.job import first_fault
from leaseboard.tasks.machine import disk

MANIFEST = "manifest.json"
MOST_MEMBERS = 1_000_000
MOST_TOTAL = 64 << 30
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
Model = TypeVar("Model", bound=BaseModel)


class Member(BaseModel):
    """Size and digest of a file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
    size: Annotated[int, Field(ge=0)]


class Listing(BaseModel):
    """Manifest: the files of an archive, and the checksum of all that it says."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    files: dict[str, Member]
    checksum: str = ""

    @property
    def own_checksum(self) -> str:
        """The checksum that fits."""
        return digest_of(self.model_dump(mode="json", exclude={"checksum"}))


Manifest = TypeVar("Manifest", bound=Listing)


class Writer:
    """Writer of an archive: its members, and at last its manifest.

    - `most`: bytes of each file, by the end of its name.
    """

    def __init__(self, zipped: zipfile.ZipFile, most: Mapping[str, int]) -> None:
        self.files: dict[str, Member] = {}
        self._zipped, self._most = zipped, most

    def add(self, member: str, parts: Iterable[bytes]) -> None:
        """Write a member; UsageError if it is longer than a reader takes."""
        digest, size, most = hashlib.sha256(), 0, self._most[member.rpartition("/")[2]]
        with self._zipped.open(member, "w", force_zip64=True) as file:
            for part in parts:
                digest.update(part)
                size += len(part)
                if size > most:
                    raise UsageError(
                        f"{member} is longer than {disk.shown(most)}: shorten or remove it"
                    )
                file.write(part)
        self.files[member] = Member(sha256=digest.hexdigest(), size=size)

    def finish(self, manifest: Manifest) -> Manifest:
        """Write the manifest with its checksum, and return it."""
        done = manifest.model_copy(update={"checksum": manifest.own_checksum})
        self._zipped.writestr(MANIFEST, done.model_dump_json(indent=1))
        return done


@dataclass(frozen=True)
class ArchiveFormat:
    """Format of an archive.

    Attributes
    ----------
    member : Pattern
        Of the names that files may have.
    most : mapping of str to int
        Bytes of each file, unpacked, by the end of its name.
    made_by : str
        The command that writes such archives.
    unlisted : frozenset of str
        Files that the manifest does not list.
    """

    member: re.Pattern[str]
    most: Mapping[str, int]
    made_by: str
    unlisted: frozenset[str] = frozenset()

    @contextmanager
    def opened(self, path: Path) -> Iterator[zipfile.ZipFile]:
        """Open the archive; any error while it is read refuses it."""
        try:
            if disk.zip_members(path, MOST_MEMBERS) > MOST_MEMBERS:
                raise self.refused(path, f"it holds more than {MOST_MEMBERS} files")
            with zipfile.ZipFile(path) as archive:
                yield archive
        except FileNotFoundError as error:
            if error.filename != str(path):
                raise
            raise UsageError(
                f"{str(path)!r} does not exist: name files that `{self.made_by}` wrote"
            ) from error
        except (
            zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError
        ) as error:  # fmt: skip
            raise self.refused(path, str(error)) from error
        except OSError as error:
            if error.filename is not None:  # of another file than the archive
                raise
            raise self.refused(path, f"it leads nowhere ({error})") from error

    def checked(
        self, archive: zipfile.ZipFile, kind: type[Manifest], path: Path
    ) -> tuple[Manifest, set[str]]:
        """Return the manifest, and the names of all members; each has been checked."""
        members = self._members(archive, path)
        manifest = self.validated(kind, archive, MANIFEST, path)
        if manifest.checksum != manifest.own_checksum:
            raise self.refused(path, f"its {MANIFEST} was changed after it was written")
        if manifest.files.keys() != (listed := members - {MANIFEST} - self.unlisted):
            odd = min(manifest.files.keys() ^ listed)
            raise self.refused(path, f"{odd!r} is not both in the manifest and in the file")
        for name, known in manifest.files.items():
            self.check(archive, name, known, path)
        return manifest, members

    def check(
        self,
        archive: zipfile.ZipFile,
        name: str,
        known: Member,
        path: Path,
        file: BinaryIO | None = None,
    ) -> None:
        """Compare a member with the manifest, without holding it in memory; copy it to `file`."""
        if name not in archive.NameToInfo or archive.getinfo(name).file_size != known.size:
            raise self.refused(path, f"{name!r} has not the size that the manifest says")
        digest = hashlib.sha256()
        with archive.open(name) as source:
            while block := source.read(1 << 20):
                digest.update(block)
                if file is not None:
                    with naming(Path(file.name)):
                        file.write(block)
        if digest.hexdigest() != known.sha256:
            raise self.refused(path, f"{name!r} has not the digest that the manifest says")

    def validated(
        self, kind: type[Model], archive: zipfile.ZipFile, member: str, path: Path
    ) -> Model:
        """Return a member as `kind` reads it; UsageError if it cannot."""
        try:
            return kind.model_validate_json(archive.read(member))
        except ValidationError as error:
            raise UsageError(f"{path}: {member}: {first_fault(error)}") from error

    def refused(self, path: Path, why: str) -> UsageError:
        """Return the error for an archive that is not taken."""
        return UsageError(
            f"{str(path)!r} is refused: {short(why, 600)}; make it with `{self.made_by}`"
        )

    def _members(self, archive: zipfile.ZipFile, path: Path) -> set[str]:
        """Return the names in the zip file, if each is one that an archive may have."""
        names: dict[str, str] = {}
        total = 0
        for info in archive.infolist():
            name = info.orig_filename  # before zipfile cuts it at a NUL byte or changes slashes
            if not self.member.fullmatch(name):
                raise self.refused(path, f"{name[:80]!r} has no place in an archive")
            if stat.S_ISLNK(info.external_attr >> 16) or info.flag_bits & 1:
                raise self.refused(path, f"{name!r} is a link or encrypted")
            if name.casefold() in names:
                raise self.refused(path, f"{name!r} is in it twice")
            if info.compress_type not in _METHODS:
                raise self.refused(path, f"{name!r} is packed in another way than by deflate")
            most = self.most[name.rpartition("/")[2]]
            if info.file_size > most:
                raise self.refused(path, f"{name!r} is longer than {disk.shown(most)}")
            names[name.casefold()] = name
            total += info.file_size
            if total > MOST_TOTAL:
                raise self.refused(path, f"it holds more than {disk.shown(MOST_TOTAL)}")
        if MANIFEST not in names.values():
            raise self.refused(path, f"it has no {MANIFEST}")
        return set(names.values())

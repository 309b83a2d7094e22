"""The verdict on an archive, which goes into the archive, next to the manifest."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive import rerun
from leaseboard.tasks.archive.bundle import VERDICT, Bundle
from leaseboard.tasks.folder.checksums import digest_of
from leaseboard.tasks.folder.results import replacing
from leaseboard.tasks.jobs.job import Key, Moment, Name, Remark, Seed, first_fault

Outcome = Literal["agreed", "agreed in part", "refuted", "undecided"]


class Rerun(BaseModel):
    """Job that was run again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Key
    job: Remark
    outcome: rerun.Outcome
    reason: Remark = ""


class Covered(BaseModel):
    """Number of jobs of an algorithm that could be run again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ran: Annotated[int, Field(ge=0)]
    could_run: Annotated[int, Field(ge=0)]
    """Of them, those that could have been drawn."""
    skipped: Annotated[int, Field(ge=0)]


class BundleVerdict(BaseModel):
    """Findings of `verify`; the archive's ``verdict.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["leaseboard-verdict-2"] = "leaseboard-verdict-2"
    manifest: Name
    """The checksum of the manifest that was judged."""
    outcome: Outcome
    jobs: dict[str, int]
    """Number of jobs by status."""
    seed: Seed
    """Of the draw."""
    share: Annotated[float, Field(gt=0, le=1)]
    could_run: Annotated[int, Field(ge=0)]
    """Number of jobs that could have been drawn."""
    faults: list[Remark]
    """Contradictions of the archive with itself, or with the data."""
    again: list[Rerun]
    left: dict[str, int]
    """Number of other jobs, by the reason why they cannot be drawn."""
    unseen: dict[str, Remark]
    """Data that are not available here, with the reason."""
    covered: dict[Name, Covered]
    """By the name of the algorithm."""
    suite: Remark
    """Comparison with the shipped suite of its name."""
    stated: list[Remark]
    """What the suite's names mean, and other sources and licences of its data."""
    unverified: list[Name] = Field(
        default=["seconds", "memory", "hosts", "dates", "versions", "printed logs",
                 "what failed or skipped jobs say", "the suite's texts and published numbers"]
    )  # fmt: skip
    """What was not checked and is the sender's word."""
    versions: dict[Name, Name]
    host: Name
    created: Moment
    checksum: str = ""

    def with_checksum(self) -> BundleVerdict:
        """Return the verdict with its checksum."""
        return self.model_copy(update={"checksum": self._digest()})

    @property
    def whole(self) -> bool:
        """True if the checksum fits."""
        return self.checksum == self._digest()

    def _digest(self) -> str:
        return digest_of(self.model_dump(mode="json", exclude={"checksum"}))


def put(verdict: BundleVerdict, bundle: Path, out: Path) -> None:
    """Write the file `bundle` with `verdict` in it to `out`, which may be the same file."""
    with (
        replacing(out) as part,
        zipfile.ZipFile(bundle) as old,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for info in old.infolist():
            if info.filename != VERDICT:
                with old.open(info) as source, new.open(info.filename, "w") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
        new.writestr(VERDICT, verdict.model_dump_json(indent=1))


def verdict_of(bundle: Bundle) -> BundleVerdict | None:
    """Return the verdict in an archive, None if it has none.

    Raises UsageError if it was changed, or is about another manifest.
    """
    if bundle.verdict is None:
        return None
    try:
        found = BundleVerdict.model_validate_json(bundle.verdict)
    except ValidationError as error:
        raise UsageError(f"{bundle.path}: {VERDICT}: {first_fault(error)}") from error
    if not found.whole or found.manifest != bundle.manifest.checksum:
        raise UsageError(
            f"{str(bundle.path)!r}: its verdict was changed, or is about another archive:"
            " run `leaseboard results verify` again"
        )
    return found

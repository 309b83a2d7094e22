"""The verdict on a bundle, and how it gets into the bundle, beside the manifest."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leaseboard.algorithms.errors import UsageError, naming
from leaseboard.tasks.folder.seal import digest_of
from leaseboard.tasks.jobs.job import Key, Moment, Name, Remark, Seed, first_fault
from leaseboard.tasks.tend import rerun
from leaseboard.tasks.tend.bundle import VERDICT, Bundle

Outcome = Literal["agreed", "agreed in part", "refuted", "undecided"]


class Rerun(BaseModel):
    """A job that was run again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Key
    job: Remark
    outcome: rerun.Outcome
    reason: Remark = ""


class Covered(BaseModel):
    """How many jobs of an algorithm could be looked at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ran: Annotated[int, Field(ge=0)]
    could_run: Annotated[int, Field(ge=0)]
    """Of them, those that could have been drawn."""
    skipped: Annotated[int, Field(ge=0)]


class BundleVerdict(BaseModel):
    """What `verify` found; the bundle's ``verdict.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["leaseboard-verdict-2"] = "leaseboard-verdict-2"
    manifest: Name
    """The seal of the manifest that was judged."""
    outcome: Outcome
    jobs: dict[str, int]
    """How many jobs ended how."""
    seed: Seed
    """Of the draw."""
    share: Annotated[float, Field(gt=0, le=1)]
    could_run: Annotated[int, Field(ge=0)]
    """How many jobs could have been drawn."""
    faults: list[Remark]
    """In what the bundle contradicts itself, or the data."""
    again: list[Rerun]
    left: dict[str, int]
    """Why other jobs cannot be drawn, with how many."""
    unseen: dict[str, Remark]
    """Data that nobody could look at here, with the reason."""
    covered: dict[Name, Covered]
    """By what the board calls an algorithm."""
    suite: Remark
    """Whether the suite is the shipped one of its name."""
    stated: list[Remark]
    """What labels and names of the suite stand for, and other sources and licences of its data."""
    unverified: list[Name] = Field(
        default=["seconds", "memory", "hosts", "dates", "versions", "printed logs",
                 "what failed or skipped jobs say", "the suite's texts and published numbers"]
    )  # fmt: skip
    """What is taken on the sender's word."""
    versions: dict[Name, Name]
    host: Name
    created: Moment
    seal: str = ""

    def sealed(self) -> BundleVerdict:
        """The same with its seal."""
        return self.model_copy(update={"seal": self._digest()})

    @property
    def whole(self) -> bool:
        """Whether it is as it was sealed."""
        return self.seal == self._digest()

    def _digest(self) -> str:
        return digest_of(self.model_dump(mode="json", exclude={"seal"}))


def put(verdict: BundleVerdict, bundle: Path, out: Path) -> None:
    """Write the file `bundle` with `verdict` in it to `out`, which may be the same file."""
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    try:
        with (
            naming(out),
            zipfile.ZipFile(bundle) as old,
            zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as new,
        ):
            for info in old.infolist():
                if info.filename != VERDICT:
                    with old.open(info) as source, new.open(info.filename, "w") as copy:
                        shutil.copyfileobj(source, copy, 1 << 20)
            new.writestr(VERDICT, verdict.model_dump_json(indent=1))
        part.replace(out)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def verdict_of(bundle: Bundle) -> BundleVerdict | None:
    """The verdict in a bundle, None if it has none.

    Raises UsageError if it was changed, or is about another manifest.
    """
    if bundle.verdict is None:
        return None
    try:
        found = BundleVerdict.model_validate_json(bundle.verdict)
    except ValidationError as error:
        raise UsageError(f"{bundle.path}: {VERDICT}: {first_fault(error)}") from error
    if not found.whole or found.manifest != bundle.manifest.seal:
        raise UsageError(
            f"{str(bundle.path)!r}: its verdict was changed, or is about another bundle:"
            " run `leaseboard verify` again"
        )
    return found

"""Is a bundle to be believed? Its seals, its own contradictions, its data, and a few jobs again.

The verdict is sealed and goes into the bundle, beside the manifest that it is about.
"""

from __future__ import annotations

import math
import os
import platform
import random
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from algorithms.errors import UsageError, naming
from tasks.folder.seal import digest_of
from tasks.jobs.job import Key, Moment, Name, Remark, Seed, first_fault
from tasks.machine.environment import versions
from tasks.machine.paths import other_store
from tasks.tend.bundle import VERDICT, Bundle
from tasks.tend.claims import asked, faults, named, place
from tasks.tend.rerun import other_data, run_again, why_not

Outcome = Literal["agreed", "refuted", "undecided"]
MOST_FAULTS = 1000


class Rerun(BaseModel):
    """A job that was run again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Key
    job: Remark
    outcome: Outcome
    reason: Remark = ""


class BundleVerdict(BaseModel):
    """What `verify` found; the bundle's ``verdict.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["leaseboard-verdict-1"] = "leaseboard-verdict-1"
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


def judge(
    bundle: Bundle,
    *,
    share: float,
    seed: int,
    mirrors: tuple[Path, ...] = (),
    told: Callable[[str], None] = lambda _: None,
) -> BundleVerdict:
    """Look at a bundle that `tasks.tend.bundle.read` has taken, and run a share of it again.

    - `share`: of the jobs that can be run again; at least one is.
    - `seed`: of the draw: the same one draws the same jobs.
    - `told`: is told of each job that has been run again.
    """
    jobs = asked(bundle)
    wrong = faults(bundle)
    unseen: dict[str, str] = {}
    if not wrong:  # else it is refuted already, and is asked for nothing more
        wrong, unseen = other_data(bundle.results, mirrors)
    barred = {
        key: why_not(result, jobs.get(place(result))) or unseen.get(result.data, "")
        for key, result in bundle.results.items()
    }
    can = sorted(key for key, why in barred.items() if not why)
    again = []
    # What this machine recorded is not asked: it may be what the bundle was made from.
    with TemporaryDirectory() as folder, other_store(Path(folder) / "store.sqlite"):
        for key in [] if wrong else drawn(can, share, seed):
            result = bundle.results[key]
            came = run_again(bundle, key, jobs[place(result)], mirrors)
            again.append(Rerun(key=key, job=named(result), **came._asdict()))
            told(f"{came.outcome}: {named(result)}" + (f": {came.reason}" if came.reason else ""))
    return BundleVerdict(
        manifest=bundle.manifest.seal,
        outcome=_outcome(wrong, again),
        jobs=dict(sorted(Counter(r.status for r in bundle.results.values()).items())),
        seed=seed,
        share=share,
        could_run=len(can),
        faults=wrong[:MOST_FAULTS],
        again=again,
        left=dict(sorted(Counter(filter(None, barred.values())).items())),
        unseen=unseen,
        versions=versions(),
        host=platform.node(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    ).sealed()


def drawn(keys: list[str], share: float, seed: int) -> list[str]:
    """A random share of `keys`, at least one of them if there are any.

    Examples
    --------
    >>> drawn(["a", "b", "c"], 0.02, seed=1)
    ['a']
    >>> len(drawn([str(i) for i in range(200)], 0.02, seed=1))
    4
    """
    count = min(len(keys), max(1, math.ceil(share * len(keys))))
    return random.Random(seed).sample(keys, count)  # noqa: S311  (a draw that can be repeated)


def _outcome(wrong: list[str], again: list[Rerun]) -> Outcome:
    found = {one.outcome for one in again}
    if wrong or "refuted" in found:
        return "refuted"
    return "agreed" if found == {"agreed"} else "undecided"


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

"""The speed gate: the same jobs in the code of two commits, alternating in one session.

CPU seconds are not comparable between machines or days, so nothing is stored: both commits run
now, with the same interpreter and libraries, job by job, alternately.
"""

import dataclasses
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leaseboard.algorithms.errors import LeaseboardError, UsageError
from leaseboard.algorithms.user_files import file_of, is_reference
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.environments.kinds import KINDS
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.programs import files, is_untrusted
from leaseboard.tasks.machine.paths import IMPORTED_FROM
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.score.board import literal, markdown_table
from leaseboard.tasks.score.inference import Interval, geometric_mean

ROUNDS = 8
TOLERANCE = 0.1
"""Default: a tenth. Five to fifteen per cent is what CPU times of equal code differ by."""

SAMPLE_SECONDS, LEAST_SECONDS = 0.2, 0.002
"""A quick job is run again until a sample has so much CPU time, at most a hundred times."""

_CHILD = Path(__file__).with_name("child.py")
_RUNNER = Path("leaseboard/tasks/jobs/run.py")
"""Of Leaseboard's own tree."""


@dataclass(frozen=True, slots=True)
class Speed:
    """One scenario in both commits."""

    name: str
    data: str
    before: float
    after: float
    """Median CPU seconds in the other commit and in this tree."""
    ratio: Interval
    """`after` over `before`, of the medians; the interval is that of the geometric mean over
    the pairs of runs."""
    slower: bool
    """The ratio is beyond the tolerance and its interval excludes 1."""


def compare(
    jobs: Sequence[Job],
    commit: str,
    *,
    root: Path = IMPORTED_FROM,
    mirrors: Sequence[Path] = (),
    tolerance: float = TOLERANCE,
) -> tuple[list[Speed], list[str]]:
    """Run each of `jobs` `ROUNDS` times in the tree of `root` and in that of `commit`.

    Where `root` is another repository than Leaseboard's own, both run this Leaseboard with the
    files of `root` that the jobs name, such as an algorithm of a user's, from either tree. Data
    are those of now.

    The trees alternate, job by job, and change who begins; a sample that compiles and loads is
    run before and not counted.

    Raises UsageError if `root` is not a git checkout or does not know the commit.

    Returns
    -------
    list of Speed
        One for each job that both trees can run.
    list of str
        Why another one cannot be compared, in one line each.
    """
    found, incomparable = [], []
    own = (root / _RUNNER).is_file()
    with exported(root, commit) as other, ExitStack() as stack:
        trees = [
            stack.enter_context(
                _Tree(folder if own else IMPORTED_FROM, name, mirrors, (root, folder))
            )
            for folder, name in ((other, commit), (root, "this tree"))
        ]
        for job in counted(jobs, f"timing against {commit}", "jobs"):
            try:
                slowest = max(tree.run(job, times=1) for tree in trees)  # compiles and loads
                times = math.ceil(SAMPLE_SECONDS / max(slowest, LEAST_SECONDS))
                pairs = np.empty((ROUNDS, 2))  # CPU seconds of both trees
                for round_ in range(ROUNDS):
                    for side in (0, 1) if round_ % 2 else (1, 0):
                        pairs[round_, side] = trees[side].run(job, times)
                found.append(judge(job, pairs, tolerance))
            except LeaseboardError as error:
                incomparable.append(str(error))
            if is_untrusted(job):  # what its code did to its process must not slow the next
                for tree in trees:
                    tree.restart()
    return found, incomparable


def judge(job: Job, pairs: np.ndarray, tolerance: float) -> Speed:
    """Return the verdict on CPU seconds of shape (n_turns, 2): the other commit's, this tree's."""
    before, after = (statistics.median(column) for column in pairs.T.tolist())
    ratio = dataclasses.replace(geometric_mean(pairs[:, 1] / pairs[:, 0]), value=after / before)
    slower = ratio.value > 1 + tolerance and ratio.lower > 1
    return Speed(job.name, job.data, before, after, ratio, slower)


def timed(jobs: Sequence[Job]) -> list[Job]:
    """Return the first repetition of every job whose CPU time is spent again in every run."""
    return [
        job
        for job in jobs
        if job.repetition == 0
        and not KINDS[describe(job.algorithm, job.settings).environment].replayed
    ]


def markdown(found: Sequence[Speed], incomparable: Sequence[str], commit: str) -> str:
    """Return the comparison as a table for a pull request, and what `compare` could not do."""
    slower = sum(speed.slower for speed in found)
    rows = [
        {
            "verdict": "**slower**" if speed.slower else "passed",
            "algorithm": literal(speed.name),
            "data": literal(speed.data),
            "before, CPU s": f"{speed.before:.4g}",
            "after, CPU s": f"{speed.after:.4g}",
            "ratio [95 % interval]": f"{speed.ratio.value:.2f} [{speed.ratio.lower:.2f},"
            f" {speed.ratio.upper:.2f}]",
        }
        for speed in found
    ]
    rule = (
        f"Slower: medians differ by more than {TOLERANCE:.0%} and the interval excludes 1. Both"
        " commits ran in turns, just now."
    )
    table = markdown_table(rows, ("before, CPU s", "after, CPU s")) if rows else []
    others = [f"- not comparable: {reason}" for reason in incomparable]
    title = f"### Speed against {commit}: {slower} of {len(found)} scenarios slower"
    return "\n".join([title, "", *table, "", rule, *([""] if others else []), *others, ""])


@contextmanager
def exported(root: Path, commit: str) -> Iterator[Path]:
    """Yield the files of `commit` in a temporary folder of which the checkout knows nothing.

    A worktree would stay in the checkout's records when the process is killed.
    """
    digest = resolved(commit, root)
    with tempfile.TemporaryDirectory(prefix="leaseboard-") as folder:
        words = ("archive", "--format=tar", digest)
        files = _git(root, *words, rule=f"{commit!r} cannot be exported")
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(folder, filter="tar")  # keeps symbolic links, as zipfile does not
        yield Path(folder)


def resolved(commit: str, root: Path = IMPORTED_FROM) -> str:
    """Return the full name of `commit`; UsageError if the checkout `root` does not know it."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    found = _git(root, *words, rule=f"{commit!r} is not a commit of the checkout {root}")
    return found.decode().strip()


def _git(root: Path, *words: str, rule: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],  # noqa: S607  (whichever git the user has)
            check=True,
            capture_output=True,
        )
    except FileNotFoundError as error:
        raise UsageError("no git on the path: install it to compare two commits") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UsageError(f"{rule}: {said or 'name one that git log shows'}") from error
    return done.stdout


def repository(jobs: Sequence[Job]) -> Path:
    """Return the git repository here, whose commits `compare` runs.

    Raises UsageError outside of a repository, or if no job runs code of it.
    """
    words = ("rev-parse", "--show-toplevel")
    root = Path(_git(Path.cwd(), *words, rule="--speed-against needs a git repository here")
                .decode().strip())  # fmt: skip
    named = [file.resolve() for job in jobs for file in files(job)]
    if not (root / _RUNNER).is_file() and not any(file.is_relative_to(root) for file in named):
        raise UsageError(
            f"--speed-against compares commits of the repository {root}, and no job of the suite"
            " runs code of it: name an algorithm of yours as file.py:Class, or leave it out"
        )
    return root


def relocated(job: Job, old: Path, new: Path) -> Job:
    """Return `job` with the Python files that it names below `old` taken from `new`."""

    def moved(value: Any) -> Any:
        match value:
            case str() if is_reference(value):
                path, colon, name = value.rpartition(":") if file_of(value) else (value, "", "")
                place = Path(path).resolve()
                inside = place.is_relative_to(old.resolve())
                return (
                    f"{new / place.relative_to(old.resolve())}{colon}{name}" if inside else value
                )
            case Mapping():
                return {key: moved(each) for key, each in value.items()}
            case list() | tuple():
                return [moved(each) for each in value]
        return value

    return dataclasses.replace(
        job,
        algorithm=moved(job.algorithm),
        settings=moved(job.settings),
        environment=moved(job.environment),
    )


class _Tree(ExitStack):
    """Process that runs jobs in the code of one tree."""

    def __init__(
        self, folder: Path, name: str, mirrors: Sequence[Path], moved: tuple[Path, Path]
    ) -> None:
        super().__init__()
        self._name, self._moved = name, moved
        self._words = [sys.executable, "-P", str(_CHILD), *map(str, mirrors)]
        self._errors = self.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  (closed there)
        scratch = self.enter_context(tempfile.TemporaryDirectory(prefix="leaseboard-"))
        self._environment = os.environ | {"PYTHONPATH": str(folder), "TMPDIR": scratch}
        self._environment.pop("NUMBA_CACHE_DIR", None)  # each tree keeps kernels of its own
        self._process = self._start()
        self.callback(self._stop)

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env=self._environment, text=True,
        )  # fmt: skip

    def _stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def restart(self) -> None:
        """Continue in another process."""
        self._stop()
        self._process = self._start()

    def run(self, job: Job, times: int) -> float:
        """Return the mean CPU seconds of a job, run so many times."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        spent, where = 0.0, f"{job.name} on {job.data}"
        for _ in range(times):
            try:
                stdin.write(json.dumps(asdict(relocated(job, *self._moved))) + "\n")
                stdin.flush()
                answer = json.loads(stdout.readline())
            except (BrokenPipeError, json.JSONDecodeError) as error:
                self._process.wait()
                self._errors.seek(0)
                lines = self._errors.read().decode(errors="replace").strip().splitlines()
                last = lines[-1] if lines else "it ended without a message"
                raise LeaseboardError(f"{self._name} cannot run {where}: {last}") from error
            if answer["status"] != "ok":
                raise LeaseboardError(f"{self._name}: {where} ended as {answer['status']}")
            spent += answer["cpu_seconds"]
        return spent / times

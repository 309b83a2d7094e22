"""What a user's code does to its process reaches no other job."""

import dataclasses
from pathlib import Path

import pytest

from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs.job import Job, Limits
from leaseboard.tasks.jobs.suites.plan import plan
from leaseboard.tasks.pool.workers import WorkerPool

STREAM = "synthetic:fried?rows=200&seed=0"
HONEST = [
    Job(algorithm=name, data=STREAM, seed=1, environment_seed=1)
    for name in ("vanilla", "online-automl")
]

POISONS = {
    "score": "type(env).score = lambda self: Score(0.001, 'progressive_mse', 'min', {})",
    "constructor": "Score.__post_init__ = lambda self: object.__setattr__(self, 'value', 0.0)",
    "floats": "np.seterr(all='raise')",
    "recursion": "sys.setrecursionlimit(120)",
    "warnings": "warnings.simplefilter('error')",
    "locale": "locale.setlocale = None; time.tzset(); builtins.round = lambda *_: 7",
    "environment": "os.environ.update(OMP_NUM_THREADS='7', NUMBA_NUM_THREADS='7', HOME='/nowhere',"
                   " LEASEBOARD_CACHE='/proc/nowhere', LEASEBOARD_MIRROR='/nowhere')",
    "json": "json.dumps = lambda *_, **__: '{}'",
    "open": "io.open = builtins.open = None",
    "numpy": "np.mean = np.sum = np.float64 = None",
    "limits": "resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)); os.umask(0o777)",
    "signals": "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGTERM, signal.SIGCHLD)]",
    "modules": "[sys.modules.pop(n) for n in list(sys.modules)"
               " if n.startswith('leaseboard.tasks')]",
    "worker": "import leaseboard.tasks.pool.worker as w;"
              " w.run = w.plain = w.verdict = lambda *_: 1 / 0",
    "thread": "threading.Thread(target=lambda: [np.seterr(all='raise') for _ in iter(int, 1)],"
              " daemon=True).start()",
}  # fmt: skip
"""Statements that break honest jobs in the same process, or alter their scores."""

PREFACE = """
import builtins, io, json, locale, os, resource, signal, sys, threading, time, warnings
import numpy as np
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm, Score
"""
ALGORITHM = (
    PREFACE
    + """
@dataclass(frozen=True, kw_only=True)
class Poison(Algorithm):
    environment = "stream"
    how: str

    def run(self, env, seed):
        exec({poisons}[self.how])
        yield from env.record(np.zeros(env.budget, dtype=np.float32))
"""
)
ORACLE = (
    PREFACE
    + """
from leaseboard.algorithms.online_automl.oracle import InteractionOracle
Score.__post_init__ = lambda self: object.__setattr__(self, "value", 0.0)
class Bold(InteractionOracle):
    pass
"""
)
PIPELINES = (
    PREFACE
    + """
from sklearn.naive_bayes import GaussianNB
Score.__post_init__ = lambda self: object.__setattr__(self, "value", 0.0)
np.seterr(all="raise")
PIPELINES = [GaussianNB()]
"""
)
SPACE = """
title: Mine
source: me
arms:
  mine: {estimator: "own_learner:Mine"}
"""


def digest(reference):
    return loading.load(reference).digest


def untrusted(tmp_path, poisons=tuple(POISONS)):
    """Yield jobs that run a user's code: algorithms, an oracle, pipelines, a class of a space."""
    (tmp_path / "bad.py").write_text(ALGORITHM.format(poisons=POISONS))
    for how in poisons:
        yield Job(algorithm=f"{tmp_path / 'bad.py'}:Poison", data=STREAM, seed=1,
                  environment_seed=1, settings={"how": how})  # fmt: skip
    (tmp_path / "oracle.py").write_text(ORACLE)
    yield Job(algorithm="online-automl", data=STREAM, seed=2, environment_seed=1,
              settings={"tune": f"{tmp_path / 'oracle.py'}:Bold"})  # fmt: skip
    (tmp_path / "pipes.py").write_text(PIPELINES)
    yield Job(algorithm="full-run", data="sklearn:iris", seed=2, environment_seed=1,
              environment={"pipelines": str(tmp_path / "pipes.py"),
                           "initial_rows": 60})  # fmt: skip


def outcome(pool, job, folder):
    (entry,) = plan([job], lambda _: None, digest)
    folder.mkdir(parents=True)
    result = pool.run(job, entry.key, folder)
    return dataclasses.replace(
        result, started="", metrics={k: v for k, v in result.metrics.items() if "cpu" not in k},
        **{each.name: 0 for each in dataclasses.fields(result) if each.name.endswith("seconds")},
    )  # fmt: skip


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEBOARD_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow
def test_no_job_meets_what_an_untrusted_one_did(tmp_path, cache):
    with WorkerPool(1, Limits(wall_seconds=300)) as pool:
        clean = [outcome(pool, job, tmp_path / f"clean-{i}") for i, job in enumerate(HONEST)]
        assert [(r.status, r.reason) for r in clean] == [("ok", "")] * len(HONEST)
        for i, bad in enumerate(untrusted(tmp_path)):
            outcome(pool, bad, tmp_path / f"bad-{i}")
            after = [outcome(pool, job, tmp_path / f"{i}-{j}") for j, job in enumerate(HONEST[:1])]
            assert after == clean[:1], bad
        assert outcome(pool, HONEST[1], tmp_path / "last") == clean[1]


@pytest.mark.slow
def test_an_untrusted_job_meets_nothing_of_an_earlier_one(tmp_path, cache):
    """Not even one of the same file."""
    with WorkerPool(1, Limits(wall_seconds=300)) as pool:
        jobs = list(untrusted(tmp_path, ["floats", "recursion"]))[:3]
        before = [outcome(pool, job, tmp_path / f"before-{i}") for i, job in enumerate(jobs)]
        again = [outcome(pool, job, tmp_path / f"again-{i}") for i, job in enumerate(jobs)]

    assert again == before
    assert [r.status for r in before] == ["ok"] * len(jobs)


def own_work(folder, body):
    """Return a `work` of the pool that runs the fakes' and then `body`, which answers."""
    text = (
        "import dataclasses, json, os, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "import __main__ as worker\n"
        "from leaseboard.algorithms.user_files import import_file\n"
        "from standins import run_job as honest\n"
        "from leaseboard.tasks.jobs.job import plain\n"
        "def run_job(job, folder, **given):\n"
        "    result, _ = honest(job, folder, **given)\n"
        "    row = plain(result)\n"
    )
    (folder / "own_work.py").write_text(text + "".join(f"    {line}\n" for line in body))
    return f"{folder / 'own_work.py'}:run_job"


def untrusted_answer(tmp_path, *body):
    """Return what the pool makes of what the work of an untrusted job answers."""
    job = Job(algorithm="mine.py:Mine", data="well", seed=1, environment_seed=0, name="mine")
    (tmp_path / "job").mkdir()
    with WorkerPool(1, Limits(), work=own_work(tmp_path, body)) as pool:
        return pool.run(job, job.key("digest", "version"), tmp_path / "job")


LIES = {
    "nonsense": "{'result': {'status': 'ok'}}",
    "text": "'ok'",
    "infinite": "{'result': dict(row, score=float('inf'))}",
    "none": "{'result': dict(row, score=None)}",
    "status": "{'result': dict(row, status='splendid')}",
    "number": "{'result': 7}",
    "no ending": "{'status': 'weird', 'reason': ''}",
    "ok in words": "{'status': 'ok', 'reason': 'made up'}",
    "a limit": "{'status': 'timeout', 'reason': 'made up'}",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_false_answer_is_a_crash_and_nothing_else(tmp_path, lie):
    ended = untrusted_answer(
        tmp_path,
        f"answer = json.dumps({LIES[lie]})",
        "json.dumps = lambda *_, **__: answer",
        "worker.plain = dict",
        "return (), None",
    )

    assert (ended.status, ended.score) == ("crash", None)
    assert ended.reason == "the worker's answer is not understood"


def test_a_job_cannot_put_its_result_under_another_s_name(tmp_path):
    other = "algorithm='online-automl', name='online-automl', data='other', seed=9, repetition=9"
    ended = untrusted_answer(tmp_path, f"return dataclasses.replace(result, {other}), None")

    assert (ended.status, ended.score) == ("ok", 0.1)
    assert (ended.algorithm, ended.name, ended.data) == ("mine.py:Mine", "mine", "well")
    assert (ended.seed, ended.repetition) == (1, 0)


def test_a_worker_that_ran_a_file_without_our_knowledge_is_not_used_again(tmp_path):
    """The parent reads from the job what is untrusted; the worker says when that was not all."""
    mine = tmp_path / "mine.py"
    mine.write_text("import numpy as np\nnp.seterr(all='raise')\n")
    work = own_work(
        tmp_path,
        [
            "(folder / 'pid').write_text(str(os.getpid()))",
            f"job.data == 'sly' and import_file(Path({str(mine)!r}), 'thing')",
            "return result, None",
        ],
    )
    pids = []
    with WorkerPool(1, Limits(), work=work) as pool:
        for i, data in enumerate(("well", "sly", "well", "well")):
            job = Job(algorithm="vanilla", data=data, seed=1, environment_seed=0, name="v")
            (tmp_path / str(i)).mkdir()
            ended = pool.run(job, job.key("digest", "version"), tmp_path / str(i))
            assert (ended.status, ended.reason) == ("ok", "")
            pids.append((tmp_path / str(i) / "pid").read_text())

    assert pids[0] == pids[1] != pids[2] == pids[3]

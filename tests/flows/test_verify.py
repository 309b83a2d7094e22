"""``leaseboard verify`` by the command line: what it says, what it writes, and how it exits."""

import zipfile

import pytest

from tasks.folder import results
from tasks.jobs.run import run_job
from tasks.jobs.suites.suite import Suite
from tasks.tend import bundle, verify

SUITE = Suite(
    title="T", name="s", data=["synthetic:fried?rows=200&seed=0"], algorithms=["vanilla"]
)  # fmt: skip


@pytest.fixture
def made(tmp_path, environment):
    """A bundle of a run of one job."""
    out = tmp_path / "run"
    (job,) = SUITE.jobs()
    scratch = results.begin(out, "scratch")
    result, _ = run_job(job, scratch)
    scratch.rename(results.job_folder(out, result.key))
    results.finish(out, result)
    results.assemble(out, [result])
    (out / results.SUITE_FILE).write_text(SUITE.model_dump_json())
    bundle.export(out, tmp_path / "a.zip")
    return tmp_path / "a.zip"


def test_it_says_what_it_did_and_seals_the_verdict_into_the_bundle(call, made):
    code, out, err = call("verify", "a.zip", "--seed", "3", "--out", "b.zip")

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "agreed: vanilla on synthetic:fried?rows=200&seed=0, repetition 0",
        "jobs:    1 ok",
        "drawn:   1 of 1, with --seed 3",
        "verdict: agreed",
    ]
    assert bundle.read(made).verdict is None
    assert verify.verdict_of(bundle.read(made.with_name("b.zip"))).seed == 3
    assert call("verify", "a.zip")[0] == 0
    assert verify.verdict_of(bundle.read(made)).outcome == "agreed"


def test_what_is_refused_or_refuted_exits_with_1(call, made, tmp_path):
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("jobs/k/log.txt", b"more")
    code, _, err = call("verify", "a.zip")
    assert (code, "refused: " in err, "not both in the manifest" in err) == (1, True, True)

    (tmp_path / "run" / results.SUITE_FILE).unlink()
    bundle.export(tmp_path / "run", made)
    code, out, err = call("verify", "a.zip")
    assert (code, "verdict: refuted" in out) == (1, True)
    assert err == "refuted: it has no suite.json, so nobody can say which jobs there were\n"


def test_no_file_is_wrong_usage(call):
    assert call("verify", "absent.zip")[0] == 64

"""``leaseboard results verify``: what it prints, what it writes, and how it exits."""

import zipfile

import pytest

from leaseboard.tasks.archive import bundle
from leaseboard.tasks.archive.verdict import verdict_of
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.run import failed, run_job
from leaseboard.tasks.jobs.suites.suite import Suite

SUITE = Suite(
    title="T", name="s", data=["synthetic:fried?rows=200&seed=0"], algorithms=["vanilla"]
)  # fmt: skip


@pytest.fixture
def made(tmp_path, environment):
    """Return the archive of a run of one job."""
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


def test_it_says_what_it_did_and_adds_a_verdict_with_a_checksum_to_the_archive(call, made):
    code, out, err = call("results", "verify", "a.zip", "--seed", "3", "--output", "b.zip")

    verdict = verdict_of(bundle.read(made.with_name("b.zip")))
    assert (code, err) == (0, "")
    assert {"seconds", "memory", "hosts", "dates", "versions"} < set(verdict.unverified)
    assert out.splitlines() == [
        "agreed: vanilla on synthetic:fried?rows=200&seed=0, repetition 0",
        "jobs:    1 ok",
        "could be drawn: vanilla 1 of 1",
        "suite:   none of its name or title is shipped",
        "drawn:   1 of 1, with --seed 3",
        f"verdict: agreed; on the sender's word: {', '.join(verdict.unverified)}",
    ]
    assert bundle.read(made).verdict is None
    assert verdict.seed == 3
    assert call("results", "verify", "a.zip")[0] == 0
    assert verdict_of(bundle.read(made)).outcome == "agreed"


def test_what_is_refused_or_refuted_exits_with_1(call, made, tmp_path):
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("jobs/k/log.txt", b"more")
    code, _, err = call("results", "verify", "a.zip")
    assert (code, "refused: " in err, "not both in the manifest" in err) == (1, True, True)

    (tmp_path / "run" / results.SUITE_FILE).unlink()
    bundle.export(tmp_path / "run", made)
    code, out, err = call("results", "verify", "a.zip")
    assert (code, "verdict: refuted" in out) == (1, True)
    assert err == "refuted: it has no suite.json, so no one can say which jobs there were\n"


def test_an_incomplete_check_exits_with_3_and_merge_reports_it(call, made, tmp_path):
    suite = SUITE.model_copy(update={"repetitions": 2})
    _, job = suite.jobs()
    results.begin(tmp_path / "run", "scratch").rename(
        results.job_folder(tmp_path / "run", key := job.key("", job.data))
    )
    results.finish(tmp_path / "run", crashed := failed(job, "crash", "it went wrong", key=key))
    (fine,) = bundle.read(made).results.values()
    results.assemble(tmp_path / "run", [fine, crashed])
    (tmp_path / "run" / results.SUITE_FILE).write_text(suite.model_dump_json())
    bundle.export(tmp_path / "run", made)
    code, out, _ = call("results", "verify", "a.zip")

    assert code == 3
    assert "never drawn, 1 jobs: crash: that it failed is the sender's word" in out
    assert "could be drawn: vanilla 1 of 2" in out
    assert "verdict: agreed in part;" in out
    out = call(
        "results", "merge", "a.zip", "--run-dir", "both", "--tracking-uri", "sqlite:///m.db"
    )[1]
    assert "verdict: a.zip: agreed in part, by an unsigned note" in out


def test_no_file_is_wrong_usage(call):
    assert call("results", "verify", "absent.zip")[0] == 64

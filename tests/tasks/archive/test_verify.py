"""Verified archives: honest ones agree, forged ones are refused or refuted."""

import gzip
import json
import shutil
import sqlite3

import pytest

from leaseboard.algorithms.errors import DataUnavailableError, UsageError
from leaseboard.tasks.archive import bundle, rerun, verify
from leaseboard.tasks.archive.merge import merge
from leaseboard.tasks.archive.verdict import put, verdict_of
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.suites.suite import Contender
from leaseboard.tasks.machine import paths
from tests.tasks.archive.forging import BY_SECONDS, FAILED, SUITE, Forger, faults, judged, ran


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Return the archive of a real run, one job of which is a timeout."""
    return ran(tmp_path_factory.mktemp("run"), SUITE)


@pytest.fixture
def forger(honest, tmp_path):
    return Forger(honest, tmp_path / "forged.zip")


def test_an_honest_archive_agrees_and_holds_the_verdict(honest, tmp_path):
    path = tmp_path / "b.zip"
    shutil.copy(honest, path)
    verdict = judged(path, share=0.02)
    put(verdict, path, path)
    again = bundle.read(path)

    assert (verdict.outcome, verdict.faults, verdict.unseen) == ("agreed in part", [], {})
    assert (len(verdict.again), verdict.could_run, verdict.seed) == (3, 3, 7)
    assert verdict.jobs == {"ok": 3, "timeout": 1}
    assert list(verdict.left.values()) == [1]
    assert verdict_of(again) == verdict
    assert again.results == bundle.read(honest).results
    put(judged(path), path, path)
    assert len(verdict_of(bundle.read(path)).again) == 3
    assert verdict_of(bundle.read(honest)) is None


def test_halves_of_two_machines_agree_when_they_are_merged(tmp_path):
    halves = []
    for name in ("vanilla", "running-mean"):
        half = {"algorithms": [Contender(algorithm=name)], "repetitions": 1}
        halves.append(bundle.read(ran(tmp_path / name, SUITE.model_copy(update=half))))
    (tmp_path / "both").mkdir()
    merge(halves, tmp_path / "both")
    bundle.export(tmp_path / "both", tmp_path / "both.zip")

    verdict = judged(tmp_path / "both.zip")
    assert (verdict.outcome, len(verdict.again)) == ("agreed", 2)


def test_a_verdict_that_was_changed_or_is_of_another_archive_is_seen(honest, tmp_path):
    verdict = judged(honest, share=0.02)
    for other in (
        verdict.model_copy(update={"outcome": "refuted"}),
        verdict.model_copy(update={"manifest": "x"}).with_checksum(),
    ):
        put(other, honest, tmp_path / "b.zip")
        with pytest.raises(UsageError, match="its verdict was changed, or is about another"):
            verdict_of(bundle.read(tmp_path / "b.zip"))


def test_a_changed_result_or_checksum_is_refused(forger):
    forger.result(key := forger.key(), checked=False, score=0.001)
    with pytest.raises(UsageError, match=r"is refused: .*not the (size|digest)"):
        bundle.read(forger.write(again=False))
    with pytest.raises(UsageError, match="was changed after it was written"):
        bundle.read(forger.write())
    forger.result(key, checked=False, checksum="0" * 64)
    with pytest.raises(UsageError, match="was changed after it was written"):
        bundle.read(forger.write())
    forger.result(key)
    forger.manifest["checksum"] = "0" * 64
    with pytest.raises(UsageError, match=r"its manifest.json was changed after"):
        bundle.read(forger.write(again=False))


def test_a_changed_score_under_new_checksums_contradicts_its_events(forger):
    forger.result(forger.key(), score=0.001)
    (fault,) = faults(forger.write())

    assert fault.startswith("vanilla on synthetic:fried?rows=300&seed=0, repetition 0: score is")
    assert "its event log says" in fault
    assert judged(forger.target).outcome == "refuted"


def test_other_fields_of_a_result_are_compared_with_the_events(forger, honest):
    for name, value in (("metrics", {"mae": 0.1}), ("champion", {"x": 1}), ("complete", False)):
        other = Forger(honest, forger.target)
        other.result(other.key(), **{name: value})
        assert name in faults(other.write())[0]


def test_a_score_forged_in_result_and_events_is_refuted_when_it_is_drawn(forger):
    key = forger.key()
    forger.event(key, "Finished", score=0.001)
    forger.result(key, score=0.001)
    assert faults(forger.write()) == []
    verdict = judged(forger.target)

    assert verdict.outcome == "refuted"
    (refuted,) = [one for one in verdict.again if one.outcome == "refuted"]
    assert refuted.key == key
    assert refuted.reason.startswith("score is 0.001, run again it is")


def test_a_changed_event_is_refused_and_under_new_checksums_refuted(forger):
    key = forger.key()
    name = f"jobs/{key}/{results.EVENTS}"
    honest_log = forger.files[name]
    forger.files[name] = gzip.compress(gzip.decompress(honest_log) + b"\n")
    with pytest.raises(UsageError, match="is not the log of its result"):
        bundle.read(forger.write())
    forger.files[name] = honest_log
    forger.event(key, "Measured", value=0.25)
    verdict = judged(forger.write())

    (refuted,) = [one for one in verdict.again if one.outcome == "refuted"]
    assert refuted.key == key
    assert refuted.reason.startswith("event ")
    assert verdict.outcome == "refuted"


def test_a_swapped_digest_of_data_is_not_what_the_key_was_made_of(forger):
    forger.result(forger.key(), digest="f" * 64)
    (fault,) = faults(forger.write())

    assert "is not of this job, with the data ffff" in fault


def test_a_swapped_digest_under_a_new_key_is_not_that_of_the_data(forger):
    key, job = forger.key(), SUITE.jobs()[0]
    version = json.loads(forger.files[f"jobs/{key}/{results.RESULT}"])["version"]
    forger.result(key, digest="f" * 64)
    forger.rename(key, job.key("f" * 64, version))
    assert faults(forger.write()) == []
    verdict = judged(forger.target)

    assert verdict.outcome == "refuted"
    assert "made on data of the digest ffff" in verdict.faults[0]
    assert verdict.again == []


def test_a_deleted_failure_is_refused_and_its_suite_still_asks_for_it(forger):
    key = forger.key(*FAILED)
    forger.drop(key)
    with pytest.raises(UsageError, match=f"job {key} is not in the file, its manifest says timeo"):
        bundle.read(forger.write())
    del forger.manifest["outcomes"][key]
    (fault,) = faults(forger.write())

    assert fault.startswith("paper on synthetic:fried?rows=300&seed=0, repetition 1: its suite")
    assert judged(forger.target).outcome == "refuted"


def test_a_failure_that_is_called_otherwise_in_the_manifest_is_refused(forger):
    forger.manifest["outcomes"][forger.key(*FAILED)] = "ok"
    with pytest.raises(UsageError, match="is timeout, its manifest says ok"):
        bundle.read(forger.write())


def test_an_archive_without_its_suite_is_refuted(forger):
    del forger.files[results.SUITE_FILE]
    assert faults(forger.write()) == [
        "it has no suite.json, so no one can say which jobs there were"
    ]


def test_data_that_are_not_here_leave_it_undecided(honest, monkeypatch):
    def absent(reference, mirrors):
        raise DataUnavailableError(f"{reference} is not here")

    monkeypatch.setattr("leaseboard.tasks.fetch.loading.load", absent)
    verdict = judged(honest)

    assert (verdict.outcome, verdict.could_run, verdict.again) == ("undecided", 0, [])
    assert list(verdict.unseen) == ["synthetic:fried?rows=300&seed=0"]


def test_what_other_packages_made_and_differs_is_undecided(forger):
    key = forger.key()
    forger.event(key, "Finished", score=0.001)
    forger.result(key, score=0.001)
    forger.manifest["versions"]["numpy"] = "1.0"
    verdict = judged(forger.write())

    (other,) = [one for one in verdict.again if one.outcome == "undecided"]
    assert "it was made with numpy 1.0, here" in other.reason
    assert verdict.outcome == "undecided"


def test_a_log_that_was_cut_off_is_another_log():
    whole = gzip.compress(b'{"at": 1, "cpu_seconds": 2}\n{"at": 2}\n' * 50, mtime=0)
    found = rerun.other_event(whole[:-20], whole)

    assert "the end of a log that was cut off" in found
    assert rerun.other_event(whole, b"").endswith("run again it is missing")
    assert rerun.other_event(whole, whole) == ""


def test_trials_that_this_machine_recorded_are_not_what_it_judges_by(tmp_path, monkeypatch):
    place = tmp_path / "store.sqlite"
    monkeypatch.setenv("LEASEBOARD_STORE", str(place))
    suite = BY_SECONDS.model_copy(update={"algorithms": [Contender(algorithm="full-run")]})
    made = ran(tmp_path / "run", suite)
    with sqlite3.connect(place) as recorded:  # what is recorded here is what was forged
        (kept,) = recorded.execute("SELECT count(*) FROM leaseboard_records").fetchone()
        recorded.execute("UPDATE leaseboard_records SET record = 'null'")
    assert kept
    assert judged(made).outcome == "agreed"
    assert paths.store_place() == str(place)


def test_what_seconds_decided_otherwise_is_undecided_and_no_lie(tmp_path):
    forger = Forger(ran(tmp_path / "run", BY_SECONDS), tmp_path / "forged.zip")
    events = forger.events(key := forger.key("abc"))
    events.remove(next(event for event in events if event["event"] == "BoundsUpdated"))
    forger.log(key, events)
    verdict = judged(forger.write())
    assert (verdict.outcome, verdict.faults) == ("undecided", [])
    assert verdict.again[0].reason.startswith(rerun.BY_SECONDS)


def test_what_was_measured_is_refuted_though_seconds_decide(tmp_path):
    honest = ran(tmp_path / "run", BY_SECONDS)
    for kind, change, said in (
        ("ProbeFinished", {"test_accuracy": 0.99}, "test_accuracy is 0.99, run again it is"),
        ("ProbeFinished", {"status": "crash"}, "status is 'crash', run again it is 'ok'"),
        ("Finished", {"score": 0.99}, "score is 0.99, its champion, trained in full here, has 0"),
    ):
        forger = Forger(honest, tmp_path / "forged.zip")
        forger.event(key := forger.key("abc"), kind, **change)
        if kind == "Finished":
            forger.result(key, **change)
        (again,) = judged(forger.write()).again
        assert again.outcome == "refuted"
        assert said in again.reason


def test_the_same_seed_draws_the_same_jobs():
    keys = [str(i) for i in range(300)]
    assert verify.drawn(keys, 0.02, 5) == verify.drawn(keys, 0.02, 5)
    assert verify.drawn(keys, 0.02, 5) != verify.drawn(keys, 0.02, 6)
    assert sorted(verify.drawn(keys, 1.0, 5)) == sorted(keys)
    assert verify.drawn([], 1.0, 5) == []


def test_many_jobs_of_one_algorithm_do_not_hide_those_of_another():
    def cell(key):
        return "many" if int(key) < 500 else key

    keys = [str(i) for i in range(506)]
    for seed in range(20):
        assert {cell(key) for key in verify.drawn(keys, 0.001, seed, cell)} == {
            "many", *map(str, range(500, 506))
        }  # fmt: skip


def test_an_archive_with_half_of_its_jobs_forged_is_hardly_ever_agreed():
    keys = [str(i) for i in range(200)]
    missed = sum(all(int(key) % 2 for key in verify.drawn(keys, 0.001, s)) for s in range(2000))
    assert 0 < missed <= 32  # of 2000: 15.6 are expected of a draw of seven, 200 - 100 - 7 of each

"""Archives: what comes out is what went in, and what others made up does not come in."""

import contextlib
import hashlib
import json
import math
import re
import stat
import tracemalloc
import zipfile

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import Measured
from leaseboard.algorithms.log_format import read_log, write_log
from leaseboard.tasks.archive import bundle
from leaseboard.tasks.archive.merge import merge
from leaseboard.tasks.folder import checksums, results
from leaseboard.tasks.jobs.suites.suite import Suite


@pytest.fixture
def run(tmp_path, put_job):
    out = tmp_path / "run"
    put_job(out, "k1", metrics={"test": math.nan}, settings={"b": [1, 2]})
    put_job(out, "k2", "crash", reason="why", score=None, repetition=1)
    suite = Suite(title="T", name="s", data=["d"], algorithms=["vanilla"])
    (out / results.SUITE_FILE).write_text(suite.model_dump_json())
    return out


@pytest.fixture
def made(run, tmp_path):
    bundle.export(run, tmp_path / "a.zip")
    return tmp_path / "a.zip"


def rewritten(path, change, **special):
    """Return the archive with its members changed by hand and the manifest unchanged."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(special.get("infos", {}).get(name, name), content)
    return path


def forged(content, **change):
    """Return a ``result.json`` with other fields and a matching checksum, or the given one."""
    fields = json.loads(content) | change
    del fields["checksum"]
    return json.dumps(fields | {"checksum": checksums.digest_of(fields)} | change).encode()


def test_what_went_in_comes_out(run, made, tmp_path):
    found = bundle.read(made)
    before = {result.key: result for result in results.read_results(run)}

    assert found.results.keys() == before.keys() == {"k1", "k2"}
    assert found.results["k2"] == before["k2"]
    assert math.isnan(found.results["k1"].metrics["test"])
    assert found.results["k1"].settings == {"b": [1, 2]}
    assert found.suite.name == found.manifest.suite == "s"
    assert found.manifest.versions["python"]
    (tmp_path / "new").mkdir()
    found.extract(["k1"], tmp_path / "new")
    for file in (tmp_path / "new" / "k1").iterdir():
        assert file.read_bytes() == (results.job_folder(run, "k1") / file.name).read_bytes()
    assert sorted(file.name for file in (tmp_path / "new" / "k1").iterdir()) == [
        results.EVENTS, results.LOG, results.RESULT,
    ]  # fmt: skip


def test_it_holds_the_table_of_configurations(made):
    with zipfile.ZipFile(made) as archive:
        table = json.loads(archive.read("jobs/k1/configurations.json"))

    row = dict(zip(table["columns"], table["data"][0], strict=False))
    assert (row["configuration"], row["outcome"]) == (0, "pending")


def test_only_what_the_leaderboard_shows_is_exported(run, tmp_path):
    results.assemble(run, [result for result in results.read_results(run) if result.key == "k1"])
    bundle.export(run, tmp_path / "b.zip")

    assert bundle.read(tmp_path / "b.zip").results.keys() == {"k1"}


def test_an_empty_run_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(UsageError, match="holds no results"):
        bundle.export(tmp_path, tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []


def with_member(made, name, method=zipfile.ZIP_STORED, mode=0):
    """Return the archive with another member of that name, or with it in place of its own."""
    info = zipfile.ZipInfo("placeholder")
    info.filename = info.orig_filename = name
    info.compress_type, info.external_attr = method, mode << 16
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr(info, b"x")
    return made


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_of_another_name_or_kind_is_refused(made):
    whole, log = made.read_bytes(), "jobs/k3/log.txt"
    odd = ["/etc/passwd", "../x", "jobs/../../x/result.json", "jobs/k1/model.pkl",
           "jobs/k1/../log.txt", "jobs\\k1\\log.txt", "jobs/k1/log.txt\0.zip", "jobs//log.txt",
           "suite.json/", "JOBS/K1/LOG.TXT", "Suite.json"]  # fmt: skip
    for named, why in (
        *(((name,), "has no place in an archive") for name in odd),
        (("jobs/k1/log.txt",), "is in it twice"),
        (("jobs/K1/log.txt",), "is in it twice"),
        ((log, zipfile.ZIP_BZIP2), "is packed in another way than by deflate"),
        ((log, zipfile.ZIP_LZMA), "is packed in another way than by deflate"),
        ((log, zipfile.ZIP_STORED, stat.S_IFLNK | 0o777), "is a link"),
    ):
        made.write_bytes(whole)
        with pytest.raises(UsageError, match=why):
            bundle.read(with_member(made, *named))


def test_an_archive_that_was_changed_is_refused(made):
    whole = made.read_bytes()
    for change, message in (
        (lambda files: files.update({"jobs/k1/log.txt": b"tail\n"}), "not the digest"),
        (lambda files: files.update({"jobs/k1/log.txt": b"longer"}), "not the size"),
        (lambda files: files.update({"jobs/k3/log.txt": b""}), "not both in the manifest"),
        (lambda files: files.pop("jobs/k1/log.txt"), "not both in the manifest"),
        (lambda files: files.pop("manifest.json"), "has no manifest.json"),
        (lambda files: files.update({"manifest.json": b"{}"}), "files is required"),
    ):
        made.write_bytes(whole)
        with pytest.raises(UsageError, match=message):
            bundle.read(rewritten(made, change))


def test_what_changed_since_it_was_read_is_not_written(made, tmp_path):
    whole, found = made.read_bytes(), bundle.read(made)
    for number, change in enumerate((
        lambda files: files.update({"jobs/k1/log.txt": b"tail\n"}),
        lambda files: files.update({"jobs/k1/result.json": b"{}"}),
        lambda files: files.pop("jobs/k1/events.jsonl.gz"),
    )):  # fmt: skip
        made.write_bytes(whole)
        rewritten(made, change)
        (tmp_path / str(number)).mkdir()
        with pytest.raises(UsageError, match=r"'jobs/k1/.* has not the (digest|size)"):
            found.extract(["k1"], tmp_path / str(number))


def test_all_jobs_are_written_in_one_reading(run, made, tmp_path, monkeypatch):
    """Opening lists all members: once a job, that is the square of their number."""
    found, opened, open_zip = bundle.read(made), [], zipfile.ZipFile.__init__
    monkeypatch.setattr(
        zipfile.ZipFile, "__init__", lambda *some, **more: (opened.append(some),
                                                            open_zip(*some, **more))[1],
    )  # fmt: skip
    (tmp_path / "merged").mkdir()
    merge([found], tmp_path / "merged")

    assert len(results.read_results(tmp_path / "merged")) == 2
    assert len(opened) == 1


def test_a_result_of_another_kind_is_refused(run, tmp_path):
    chosen = results.read_results(run)
    path = results.job_folder(run, "k1") / results.RESULT
    whole = path.read_bytes()
    for change, message in (
        ({"status": "fine"}, "status must be one of ok, .*"),
        ({"name": ["x"]}, "name must be a text"),
        ({"key": "k9"}, "is the result of another job"),
        ({"colour": "red"}, "colour is unknown"),
        ({"log": {"size": 1, "sha256": ""}}, "is not the log of its result"),
        ({"checksum": ""}, "was changed after it was written"),
    ):
        path.write_bytes(forged(whole, **change))
        bundle.export(run, tmp_path / "b.zip", chosen)
        with pytest.raises(UsageError, match=message):
            bundle.read(tmp_path / "b.zip")


def test_what_is_not_a_zip_file_is_one_line(made, tmp_path):
    (tmp_path / "b.zip").write_bytes(b"no zip")
    (tmp_path / "c.zip").write_bytes(made.read_bytes()[:300])
    for name in ("b.zip", "c.zip"):
        with pytest.raises(UsageError, match="is refused: File is not a zip file"):
            bundle.read(tmp_path / name)
    with pytest.raises(UsageError, match="does not exist"):
        bundle.read(tmp_path / "d.zip")


def test_damaged_bytes_are_refused(made):
    content = bytearray(made.read_bytes())
    with zipfile.ZipFile(made) as archive:
        start = archive.getinfo("jobs/k1/events.jsonl.gz").header_offset
    content[start + 70 : start + 90] = b"\0" * 20
    made.write_bytes(content)

    with pytest.raises(UsageError, match="is refused"):
        bundle.read(made)


def records_of(content):
    """Return where each entry of the directory begins, and then its end."""
    return [found.start() for found in re.finditer(b"PK(\1\2|\5\6)", content)]


UTF8 = (9, 0x08)
"""The byte of an entry that says its name is UTF-8."""


@settings(
    max_examples=150,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(0, {UTF8[0]: UTF8[1], 46: 0xFF})
@example(-1, {17: 0xFF})  # a place of the directory from which all members lie before the file
@given(
    st.integers(-1, 8),
    st.dictionaries(
        st.integers(0, 21) | st.integers(22, 60),
        st.sampled_from([0, UTF8[1], 0x7F, 0x80, 0xFF]),
        min_size=1, max_size=8,
    ),
)  # fmt: skip
def test_a_directory_of_other_bytes_is_refused_or_of_no_matter(made, number, change):
    whole, found = made.read_bytes(), repr(bundle.read(made))  # where NaN equals NaN
    content, at = bytearray(whole), records_of(whole)[number]
    for place, byte in change.items():
        content[min(at + place, len(content) - 1)] = byte
    made.write_bytes(content)
    with contextlib.suppress(UsageError):
        assert repr(bundle.read(made)) == found
    made.write_bytes(whole)


def lying(path, member, **fields):
    """Return the archive with other numbers in its own directory than the member has."""
    places = {"compress_size": 20, "file_size": 24}
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\1\2")
    while (length := int.from_bytes(content[at + 28 : at + 30], "little")) and (
        content[at + 46 : at + 46 + length] != member.encode()
    ):
        at = content.index(b"PK\1\2", at + 46)
    for name, value in fields.items():
        place = at + places[name]
        content[place : place + 4] = value.to_bytes(4, "little")
    path.write_bytes(content)
    return path


def test_a_member_that_says_to_be_too_long_is_refused_unread(made):
    with pytest.raises(UsageError, match=r"'jobs/k1/log.txt' is longer than 256\.0 MB"):
        bundle.read(lying(made, "jobs/k1/log.txt", file_size=300 << 20))


def test_a_member_that_is_longer_than_it_says_is_not_read_to_its_end(made):
    zeros = 64 << 20

    def longer(files):
        files["jobs/k1/log.txt"] = b"\0" * zeros
        known = json.loads(files["manifest.json"])
        known["files"]["jobs/k1/log.txt"] = {
            "size": 5, "sha256": hashlib.sha256(b"\0" * 5).hexdigest(),
        }  # fmt: skip
        files["manifest.json"] = json.dumps(known).encode()

    with zipfile.ZipFile(made) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    longer(files)
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    lying(made, "jobs/k1/log.txt", file_size=5)
    del files
    tracemalloc.start()
    with pytest.raises(UsageError, match="is refused"):
        bundle.read(made)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < zeros / 4


def with_log(run, key, change):
    """Return the run with another event log of a job, under a checksum that fits it."""
    folder = results.job_folder(run, key)
    events = change(list(read_log(folder / results.EVENTS)))
    write_log(folder / results.EVENTS, events)
    results.write_result(folder, checksums.load_result((folder / results.RESULT).read_bytes())[0])
    return folder


ODD_LOGS = {
    "no start": lambda events: events[1:],
    "an order that time forbids": lambda events: [*events[:2], events[-1], *events[2:]],
    "over its budget": lambda events: [*events[:2], Measured(at=5, value=0.5)],
    "of another type": lambda events: [*events[:2], Measured(at=1, value="half")],
}


def test_a_log_that_no_run_can_have_written_is_left_out_and_refused(run, tmp_path, monkeypatch):
    file, odd_log = tmp_path / "b.zip", bundle._odd_log
    for key in ("k1", "k2"):
        log = results.job_folder(run, key) / results.EVENTS
        whole = log.read_bytes()
        for change in ODD_LOGS.values():
            with_log(run, key, change)
            monkeypatch.setattr(bundle, "_odd_log", odd_log)
            ((left, why),) = bundle.export(run, file).left_out.items()
            assert left == key
            assert "events.jsonl.gz is not the log of a run: line " in why
            assert bundle.read(file).results.keys() == {"k1", "k2"} - {key}

            monkeypatch.setattr(bundle, "_odd_log", lambda *_: "")  # as a forger would
            bundle.export(run, file)
            with pytest.raises(UsageError, match=rf"jobs/{key}/events.jsonl.gz, line \d+: "):
                bundle.read(file)
            log.write_bytes(whole)
            with_log(run, key, lambda events: events)


def test_a_run_of_odd_logs_alone_makes_no_archive(run, tmp_path):
    for key in ("k1", "k2"):
        with_log(run, key, lambda events: events[1:])
    with pytest.raises(UsageError, match=r"each job is left out: .*the first event"):
        bundle.export(run, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()

"""Any forged archive is refused whole, or its content can be used."""

import gzip
import hashlib
import json
import re
import shutil
import stat
import tempfile
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.events import (
    BoundsUpdated,
    ChampionChanged,
    ConfigurationAdmitted,
    Finished,
    LeaseGranted,
    Measured,
    Started,
)
from leaseboard.algorithms.log_format import write_log
from leaseboard.flows.commands.archive import merge
from leaseboard.tasks.archive import bundle
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.folder import checksums, results
from leaseboard.tasks.folder.results import shown_at
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.plan import plan
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.terminal import shown
from leaseboard.tasks.report import build
from leaseboard.tasks.score.frame import as_frame
from tests.flows.suites import reusable

SUITE = Suite(
    title="T",
    name="s",
    data=["synthetic:fried?rows=60&seed=0"],
    algorithms=["vanilla", "online-automl"],
)
LOG = [
    Started(at=0, algorithm="a", environment="stream", unit="examples", budget=60, capacity=2,
            seed=1,
            settings={"b": 3}),
    ConfigurationAdmitted(at=0, configuration=0, parameters={"rate": 0.5}),
    ConfigurationAdmitted(at=0, configuration=1, parent=0, parameters={"rate": 0.1}),
    LeaseGranted(at=0, configuration=0, amount=60, slot=0),
    ChampionChanged(at=0, configuration=0, previous=None),
    LeaseGranted(at=0, configuration=1, amount=20, slot=1),
    Measured(at=10, value=0.7),
    BoundsUpdated(at=20, configuration=1, value=0.3, lower=0.2, upper=0.4, units=20),
    Measured(at=60, value=0.5),
    Finished(at=60, reason="budget spent", score=0.5, metric="mse", direction="min"),
]  # fmt: skip


def read_digest(reference):
    return loading.load(reference).digest


@pytest.fixture(scope="module")
def honest(tmp_path_factory, environment):
    """Return the archive of a run of two jobs under their real keys: one is ok, one a crash."""
    out = tmp_path_factory.mktemp("honest")
    for entry in plan(SUITE.jobs(), lambda _: None, read_digest):
        ok, job = entry.job.name == "vanilla", entry.job
        write_log(results.begin(out, entry.key) / results.EVENTS, LOG if ok else LOG[:-2])
        (results.job_folder(out, entry.key) / results.LOG).write_text("said\n")
        made = Result(
            key=entry.key, algorithm=job.algorithm, name=job.name, data=job.data,
            digest=entry.digest, seed=job.seed, environment_seed=job.environment_seed,
            repetition=job.repetition, status="ok" if ok else "crash", metric="mse",
            score=0.5 if ok else None, metrics={"test": 0.6}, version=entry.version,
            unit="examples", units=60.0, budget=60.0, environment="stream", champion={"rate": 0.5},
            settings={"b": [1, None]},
            started="2026-01-01T00:00:00+00:00", host="here", events=results.EVENTS,
        )  # fmt: skip
        results.finish(out, made)
    (out / results.SUITE_FILE).write_text(SUITE.model_dump_json())
    bundle.export(out, out / "honest.zip")
    return out / "honest.zip"


@pytest.fixture(scope="module")
def store(tmp_path_factory, empty_store):
    place = tmp_path_factory.mktemp("mlruns") / "mlflow.db"
    shutil.copy(empty_store, place)
    return f"sqlite:///{place}"


@pytest.fixture(scope="module")
def merged(honest, store, tmp_path_factory):
    """Return a run folder of the honest archive."""
    out = tmp_path_factory.mktemp("merged") / "m"
    assert merge([honest], out, tracking_uri=store) == 0
    return out


class Forgery:
    """Members of an archive, to be changed; what depends on them is fixed when written."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.manifest = json.loads(self.files.pop(bundle.MANIFEST))
        for derived in ("files", "outcomes", "checksum"):
            self.manifest.pop(derived)
        self.known, self.twice, self.infos = {}, [], {}
        self.broken = lambda content: content

    def named(self, end):
        return sorted(name for name in self.files if name.endswith(end))

    def change_result(self, name, change):
        fields = json.loads(self.files[name])
        change(fields)
        fields.pop("checksum", None)
        self.files[name] = json.dumps(fields | {"checksum": checksums.digest_of(fields)}).encode()

    def change_log(self, name, change):
        lines = gzip.decompress(self.files[name]).splitlines()
        self.files[name] = gzip.compress(b"\n".join(change(lines)) + b"\n", mtime=0)
        found = {"size": len(self.files[name]), "sha256": digest(self.files[name])}
        next_to = name.replace(results.EVENTS, results.RESULT)
        if next_to in self.files:
            self.change_result(next_to, lambda fields: fields.update(log=found))

    def write(self, path):
        self.manifest.setdefault("files", {
            name: {"sha256": digest(content), "size": len(content)} | self.known.get(name, {})
            for name, content in self.files.items()
        })  # fmt: skip
        self.manifest.setdefault("outcomes", {
            name.split("/")[1]: status_of(self.files[name])
            for name in self.named(results.RESULT)
        })  # fmt: skip
        self.manifest.setdefault("checksum", checksums.digest_of(self.manifest))
        files = [*self.files.items(), *self.twice]
        files.append((bundle.MANIFEST, json.dumps(self.manifest).encode()))
        with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names twice
            for name, content in files:
                info = zipfile.ZipInfo("placeholder")
                info.filename = info.orig_filename = name
                for attribute, value in self.infos.get(name, {}).items():
                    setattr(info, attribute, value)
                archive.writestr(info, content)
        path.write_bytes(self.broken(path.read_bytes()))


def status_of(content):
    """Return the status that a result gives, however odd the rest of it."""
    found = re.search(rb'"status": "(\w+)"', content)
    return found[1].decode() if found else "ok"


def digest(content):
    return hashlib.sha256(content).hexdigest()


TEXTS = st.sampled_from(
    ["", "x" * 6000, "\x1b[2J", "a\nb", "\0", "\u202e", "\ud800", "é漢", "../x", "/etc", "<b>&\"'",
     "ok", "sideways", "NaN", "{{ x }}", "[red]x[/red]", "openml", "9999-99-99", "-1"],
)  # fmt: skip
NUMBERS = st.sampled_from(
    [0, -1, 1, 10**30, -(10**30), 2**31, 2**63, 1e308, -1e308, 1e-320, float("nan"), float("inf"),
     0.5, True, None],
)  # fmt: skip
VALUES = (
    TEXTS
    | NUMBERS
    | st.lists(TEXTS | NUMBERS, max_size=3)
    | st.dictionaries(TEXTS, TEXTS | NUMBERS, max_size=3)
)
NAMES = st.sampled_from(
    ["/etc/passwd", "../x", "jobs/../../x/result.json", "C:\\x", "jobs\\k\\log.txt", "", "jobs/",
     "jobs/k/log.txt\0", "JOBS/k/LOG.TXT", "SUITE.JSON", "jobs/é/log.txt", "jobs/k/model.pkl",
     "jobs/other/result.json", "jobs/other/log.txt"],
)  # fmt: skip


@st.composite
def edits(draw, mapping):
    """Return a change of one value of a mapping, of one inside it, or of its keys."""
    name = draw(st.sampled_from([*sorted(mapping), ""])) or draw(TEXTS)
    inner = mapping.get(name)
    if isinstance(inner, dict) and inner and draw(st.booleans()):
        return {**mapping, name: draw(edits(inner))}
    if isinstance(inner, list) and inner and draw(st.booleans()):
        return {**mapping, name: [draw(VALUES), *inner[1:]]}
    if name in mapping and draw(st.integers(0, 4)) == 0:
        return {key: value for key, value in mapping.items() if key != name}
    return {**mapping, name: draw(VALUES)}


def field(draw, forgery):
    name = draw(st.sampled_from(forgery.named(results.RESULT)))
    forgery.change_result(name, lambda fields: fields.update(draw(edits(fields))))


def manifest(draw, forgery):
    forgery.manifest = draw(edits(forgery.manifest))


def entry(draw, forgery):
    forgery.known[draw(st.sampled_from(sorted(forgery.files)))] = draw(
        st.fixed_dictionaries({"size": VALUES} | draw(st.sampled_from([{}, {"sha256": VALUES}])))
    )


def suite(draw, forgery):
    changed = draw(edits(json.loads(forgery.files[results.SUITE_FILE])))
    forgery.files[results.SUITE_FILE] = json.dumps(changed).encode()


def event(draw, forgery):
    def change(lines):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["drop", "swap", "twice", "edit", "edit", "edit", "cut"])):
            case "drop":
                del lines[at]
            case "swap":
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case "twice":
                lines.insert(at, lines[at])
            case "edit":
                lines[at] = json.dumps(draw(edits(json.loads(lines[at])))).encode()
            case "cut":
                del lines[at:]
        return lines

    forgery.change_log(draw(st.sampled_from(forgery.named(results.EVENTS))), change)


def flipped(draw, content):
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 8))):
        changed[draw(st.integers(0, len(changed) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(changed)


def member_bytes(draw, forgery):
    name = draw(st.sampled_from(sorted(forgery.files)))
    if forgery.files[name]:
        forgery.files[name] = flipped(draw, forgery.files[name])


def file_bytes(draw, forgery):
    how = draw(st.sampled_from(["flip", "cut", "append"]))
    tail = draw(st.binary(min_size=1, max_size=60))
    share = draw(st.floats(0, 1))
    forgery.broken = {
        "flip": lambda content: flipped(draw, content),
        "cut": lambda content: content[: int(len(content) * share)],
        "append": lambda content: content + tail,
    }[how]


def name(draw, forgery):
    old, new = draw(st.sampled_from(sorted(forgery.files))), draw(NAMES)
    if draw(st.booleans()):
        forgery.files[new] = forgery.files.pop(old)
    else:
        forgery.files[new] = forgery.files[old]


def twice(draw, forgery):
    old = draw(st.sampled_from(sorted(forgery.files)))
    forgery.twice.append((draw(st.sampled_from([old, old.upper()])), forgery.files[old]))


def packing(draw, forgery):
    forgery.infos[draw(st.sampled_from(sorted(forgery.files)))] = draw(
        st.sampled_from(
            [{"compress_type": kind} for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA,
                                                  zipfile.ZIP_DEFLATED)]
            + [{"external_attr": (kind | 0o777) << 16} for kind in (stat.S_IFLNK, stat.S_IFDIR,
                                                                    stat.S_IFIFO)]
            + [{"extra": b"\1\0\x10\0" + b"\xff" * 16}, {"comment": b"\x1b[2J"},
               {"date_time": (1980, 0, 0, 0, 0, 0)}]
        )
    )  # fmt: skip


def sizes(draw, forgery):
    """Return another size in the file's directory than the member has."""
    said = draw(st.sampled_from([0, 1, 2**31, 2**32 - 2])).to_bytes(4, "little")

    def lie(content):
        at = content.find(b"PK\1\2") + draw(st.sampled_from([20, 24]))
        return content[:at] + said + content[at + 4 :]

    forgery.broken = lie


def directory(draw, forgery):
    """Return other bytes in the file's directory or its end."""
    signature = draw(st.sampled_from([b"PK\1\2", b"PK\5\6"]))
    places = draw(st.dictionaries(st.integers(4, 60), st.integers(0, 255), min_size=1, max_size=4))

    def change(content):
        changed, at = bytearray(content), content.find(signature)
        for place, byte in places.items():
            changed[min(at + place, len(changed) - 1)] = byte
        return bytes(changed)

    forgery.broken = change


CHANGES = [
    field, field, manifest, entry, suite, suite, event, event, member_bytes, file_bytes, name,
    twice, packing, sizes, directory,
]  # fmt: skip


def tree(place):
    """Return every file below a folder with its bytes; None if the folder is missing."""
    if not place.exists():
        return None
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else None
        for path in place.rglob("*")
    }


def refused(forged, out, store):
    """Return why an archive is not merged, None if it is."""
    try:
        merge([forged], out, tracking_uri=store)
    except LeaseboardError as error:
        return str(error)
    return None


def works(out):
    """Read, report and plan what was merged."""
    assert results.damaged(out) == []
    frame = as_frame(shown_at(out))
    suite = build.suite_of(out)
    build.build(out, suite)
    assert (out / "report.html").stat().st_size > 100_000
    assert len(frame) == len(results.read_results(out))
    for planned in plan(SUITE.jobs(), lambda key: reusable(out, key), read_digest):
        assert planned.earlier is None or planned.earlier.status == "ok"


def test_the_honest_one_counts_as_done(merged):
    works(merged)
    planned = plan(SUITE.jobs(), lambda key: reusable(merged, key), read_digest)
    assert [entry.done for entry in planned] == [True, False]


@settings(
    max_examples=30,
    phases=[Phase.generate],  # files are slow to shrink with
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data(), st.booleans())
def test_any_other_is_refused_whole_or_can_be_worked_with(
    honest, merged, store, capsys, data, there
):
    forgery = Forgery(honest)
    for change in data.draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=2)):
        change(data.draw, forgery)
    with tempfile.TemporaryDirectory() as folder:
        forged, out = Path(folder) / "forged.zip", Path(folder) / "runs" / "m"
        forgery.write(forged)
        if there:
            shutil.copytree(merged, out)
        before = tree(Path(folder))
        refusal = refused(forged, out, store)
        if refusal is None:
            works(out)
        else:
            assert refusal == shown(refusal.replace("\n", "?").replace("\t", "?"))
            assert tree(Path(folder)) == before
        said = capsys.readouterr()
        assert "MLflow" not in said.err

"""Archives of real runs, and a forger who computes every checksum again."""

import dataclasses
import gzip
import hashlib
import io
import json
import zipfile

from leaseboard.algorithms.configurations import configurations, table
from leaseboard.tasks.archive import bundle, claims, verify
from leaseboard.tasks.folder import checksums, results
from leaseboard.tasks.folder.event_logs import read_partial_log
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.pool.attempts import run_one

SUITE = Suite(
    title="T",
    name="s",
    data=["synthetic:fried?rows=300&seed=0"],
    algorithms=["vanilla", {"algorithm": "chacha-literal", "name": "paper"}],
    repetitions=2,
)
BY_SECONDS = Suite(
    title="T",
    name="s",
    data=["synthetic:separated?rows=4000&seed=0"],
    algorithms=["abc"],
    environment={"configurations": 3},
)
FAILED = ("paper", 1)
"""Label and repetition of the job that is a timeout."""


def ran(out, suite):
    """Return the archive of a real run of `suite` in the folder `out`."""
    made = []
    for job in suite.jobs():
        scratch = results.begin(out, "scratch")
        result = run_one(job, scratch, here=True).result
        scratch.rename(results.job_folder(out, result.key))
        if (job.name, job.repetition) == FAILED:
            result = dataclasses.replace(
                result, status="timeout", score=None, reason="stopped after 1 s"
            )
        results.finish(out, result)
        made.append(result)
    results.assemble(out, made)
    (out / results.SUITE_FILE).write_text(suite.model_dump_json())
    bundle.export(out, out / "honest.zip")
    return out / "honest.zip"


class Forger:
    """Members of an archive, whose checksums fit, unless `checked` is False."""

    def __init__(self, path, target):
        with zipfile.ZipFile(path) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.manifest = json.loads(self.files.pop(bundle.MANIFEST))
        self.target = target

    def key(self, label="vanilla", repetition=0):
        for key in self.manifest["outcomes"]:
            fields = json.loads(self.files[f"jobs/{key}/result.json"])
            if (fields["name"], fields["repetition"]) == (label, repetition):
                return key
        raise KeyError(label)

    def result(self, of, *, checked=True, **change):
        name = f"jobs/{of}/{results.RESULT}"
        fields = json.loads(self.files[name]) | change
        if checked:
            del fields["checksum"]
            fields["checksum"] = checksums.digest_of(fields)
        self.files[name] = json.dumps(fields).encode()

    def event(self, key, kind, **change):
        events = self.events(key)
        next(event for event in reversed(events) if event["event"] == kind).update(change)
        self.log(key, events)

    def events(self, key):
        log = gzip.decompress(self.files[f"jobs/{key}/{results.EVENTS}"])
        return [json.loads(line) for line in log.splitlines()]

    def log(self, key, events):
        name = f"jobs/{key}/{results.EVENTS}"
        lines = "".join(json.dumps(event) + "\n" for event in events)
        self.files[name] = packed = gzip.compress(lines.encode(), mtime=0)
        self.result(key, log={"size": len(packed), "sha256": digest(packed)})
        try:
            made = table(configurations(read_partial_log(io.BytesIO(packed))))
        except (TypeError, ValueError, LookupError):
            return  # of a log that will be refused
        self.files[f"jobs/{key}/{bundle.CONFIGURATIONS}"] = json.dumps(made).encode()

    def rename(self, key, other):
        for name in [name for name in self.files if f"/{key}/" in name]:
            self.files[name.replace(key, other)] = self.files.pop(name)
        self.manifest["outcomes"][other] = self.manifest["outcomes"].pop(key)
        self.result(other, key=other)

    def copy(self, key, other):
        for name in [name for name in self.files if f"/{key}/" in name]:
            self.files[name.replace(key, other)] = self.files[name]
        self.manifest["outcomes"][other] = self.manifest["outcomes"][key]
        self.result(other, key=other)

    def drop(self, key):
        for name in [name for name in self.files if f"/{key}/" in name]:
            del self.files[name]

    def write(self, *, again=True):
        if again:
            self.manifest["files"] = {
                name: {"sha256": digest(content), "size": len(content)}
                for name, content in self.files.items()
            }
            self.manifest.pop("checksum")
            self.manifest["checksum"] = checksums.digest_of(self.manifest)
        with zipfile.ZipFile(self.target, "w") as archive:
            for name, content in self.files.items():
                archive.writestr(name, content)
            archive.writestr(bundle.MANIFEST, json.dumps(self.manifest))
        return self.target


def digest(content):
    return hashlib.sha256(content).hexdigest()


def judged(path, share=1.0):
    return verify.judge(bundle.read(path), share=share, seed=7)


def faults(path):
    return claims.faults(bundle.read(path))

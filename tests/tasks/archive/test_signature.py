"""Signatures: of unchanged archives, by a key that is known."""

import json
import subprocess
import zipfile

import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.archive import bundle, signature
from leaseboard.tasks.archive.merge import merge
from leaseboard.tasks.report import site


@pytest.fixture
def keys(tmp_path):
    """Return a private key, and a file with its owner as the only signer."""
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"alice@example.org {path.with_suffix('.pub').read_text()}")
    return path, signers


@pytest.fixture
def archive(tmp_path, put_job):
    """Return an archive of one job."""
    put_job(tmp_path / "run", key="k1")
    bundle.export(tmp_path / "run", tmp_path / "a.zip")
    return tmp_path / "a.zip"


def test_the_signer_is_named_also_with_a_verdict(keys, archive):
    key, signers = keys
    assert signature.sign(archive, key).name == "a.zip.sig"
    assert signature.signer_of(archive, signers) == "alice@example.org"

    with zipfile.ZipFile(archive, "a") as zipped:
        zipped.writestr(bundle.VERDICT, "{}")

    assert signature.signer_of(archive, signers) == "alice@example.org"


def test_an_archive_that_was_changed_is_refused(keys, archive, put_job, tmp_path):
    key, signers = keys
    signature.sign(archive, key)
    put_job(tmp_path / "run", key="k1", score=0.0)  # forged, with checksums that fit
    bundle.export(tmp_path / "run", archive)

    bundle.read(archive)
    with pytest.raises(UsageError, match=r"a.zip.sig is not a signature of .*a.zip by one of"):
        signature.signer_of(archive, signers)


@pytest.mark.parametrize("purpose", ["other key", "other purpose", "nothing", "no signers"])
def test_other_signatures_are_refused(keys, archive, tmp_path, purpose):
    key, signers = keys
    place = signature.place_of(archive)
    if purpose == "other key":
        signers.write_text(signers.read_text().replace("AAAAI", "AAAAC", 1))
        signature.sign(archive, key)
    if purpose == "other purpose":
        with zipfile.ZipFile(archive) as zipped:
            said = zipped.read(bundle.MANIFEST)
        words = ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", str(key)]
        place.write_bytes(
            subprocess.run(words, input=said, capture_output=True, check=True).stdout
        )
    if purpose == "no signers":
        signers.unlink()
    with pytest.raises(UsageError, match=r"is not a signature|is not signed|does not exist"):
        signature.signer_of(archive, signers)


def test_what_is_no_private_key_signs_nothing(keys, archive):
    with pytest.raises(UsageError, match="ssh-keygen cannot use it"):
        signature.sign(archive, keys[1])
    assert not signature.place_of(archive).exists()


def test_the_site_names_the_signer_of_unchanged_results(archive, tmp_path):
    merged = tmp_path / "merged"
    merged.mkdir()
    found = bundle.read(archive)
    merge([found], merged)
    signature.remember(merged, found, "alice@example.org")

    def about():
        record = site.publish([merged], tmp_path / "site").new[0]
        return dict(record.about).get("Signed by", "")

    assert about() == "alice@example.org (jobs: 1)"
    known = json.loads((merged / site.SIGNED).read_text())
    (merged / site.SIGNED).write_text(json.dumps({"k1": [known["k1"][0], "0" * 64]}))
    assert about() == ""  # the result is another one since

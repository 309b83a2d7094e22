import struct
import tracemalloc
import zipfile

import pytest

from leaseboard.tasks.archive import bundle, zipped
from leaseboard.tasks.machine.disk import zip_members


@pytest.fixture
def made(tmp_path):
    def make(count, **how):
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for number in range(count):
                archive.writestr(f"file-{number}", b"", **how)
        return path

    return make


@pytest.mark.parametrize("count", [0, 1, 5, 300])
@pytest.mark.parametrize("longer_form_above", [100, 65_535])
def test_the_count_is_that_of_zipfile(made, count, longer_form_above, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", longer_form_above)
    assert zip_members(made(count), 10**6) == count


def test_counting_stops_where_there_are_too_many(made):
    assert zip_members(made(100), 7) == 8


def test_a_directory_of_millions_is_refused_without_being_held(tmp_path, monkeypatch):
    monkeypatch.setattr(zipped, "MOST_MEMBERS", 20_000)
    one = struct.pack("<4s42x", b"PK\1\2")
    size = 100_000 * len(one)
    # The count may say anything: zipfile goes by the size.
    end = struct.pack("<4s4xHHLLH", b"PK\5\6", 1, 1, size, 0, 0)
    (tmp_path / "a.zip").write_bytes(one * 100_000 + end)
    tracemalloc.start()
    with pytest.raises(bundle.UsageError, match="it holds more than 20000 files"):
        bundle.read(tmp_path / "a.zip")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < 1 << 20


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\5\6", b"PK\5\6" + b"\0" * 17, b"PK\5\6" + b"\0" * 16 + b"\1\0x",
     struct.pack("<4s4xHHLLH", b"PK\5\6", 1, 1, 500, 0, 0),
     b"\0" * 56 + struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1) + b"PK\5\6" + b"\0" * 18],
)  # fmt: skip
def test_content_without_a_directory_is_not_a_zip_file(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)

    with pytest.raises(zipfile.BadZipFile):
        zip_members(tmp_path / "a.zip", 9)

from leaseboard.tasks.machine import disk


def test_links_and_absent_files_use_nothing(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * 1000)
    (tmp_path / "big").write_bytes(b"x" * 50_000)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "big")
    link = (tmp_path / "a" / "link").lstat().st_size

    assert disk.used(tmp_path / "a") == 1000 + link
    assert disk.used(tmp_path / "big") == 50_000
    assert disk.used(tmp_path / "absent") == 0

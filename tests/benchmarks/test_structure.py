"""The command that counts a checkout's structure counts what it says."""

from benchmarks import structure


def test_modules_with_one_importer_are_counted(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/used.py").write_text("def f():\n    return 1\n")
    (tmp_path / "tasks/user.py").write_text(
        "from leaseboard.tasks.used import f\n\n\n"
        "def _once():\n    return f()\n\n\n"
        "def _twice():\n    a = 1\n    return a\n\n\n"
        "RESULT = _once() + _twice() + _twice()\n"
    )

    assert structure.static(tmp_path) == {
        "modules": 2,
        "modules with one importer": 1,
        "median function body": 1,
    }

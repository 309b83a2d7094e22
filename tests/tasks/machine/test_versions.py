import importlib
from functools import partial
from importlib import metadata
from importlib.metadata import version

import pytest

from leaseboard.algorithms import registry
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import identify
from leaseboard.tasks.machine import versions
from leaseboard.tasks.machine.versions import code_and_libraries, recorded_key

MINE = '''"""Mine."""
from pydantic.dataclasses import dataclass
from leaseboard.algorithms.base import Algorithm

@dataclass(frozen=True, kw_only=True)
class Mine(Algorithm):
    """Does nothing."""
    environment = "stream"
    depth: int = 3

    def run(self, env, seed):
        # a comment
        yield from ()
'''


def forget():
    """Clear what is cached for a process's life."""
    for function in (versions.our_code, versions.installed):
        function.cache_clear()


@pytest.fixture(autouse=True)
def forgotten():
    forget()
    yield
    forget()


def version_of(tmp_path, text):
    forget()
    (tmp_path / "mine.py").write_text(text)
    return code_and_libraries([tmp_path / "mine.py"])[0]


def test_code_counts(tmp_path):
    before = version_of(tmp_path, MINE)
    assert version_of(tmp_path, MINE.replace("int = 3", "int = 4")) != before
    assert version_of(tmp_path, MINE) == before


@pytest.mark.parametrize(
    ("edited", "counts"),
    [("algorithms/a.pyx", True), ("tasks/evaluate/b.py", True), ("tasks/report/c.py", False)],
)
def test_our_code_counts_where_it_can_make_a_value(tmp_path, monkeypatch, edited, counts):
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    for name in ("algorithms/a.pyx", "tasks/evaluate/b.py", "tasks/report/c.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x = 1")
    before = versions.our_code()
    (tmp_path / edited).write_text("x = 2")
    forget()

    assert (versions.our_code() != before) == counts


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("import a.b as x, c\n", {"a", "c"}),
        ("from a import (\n    b,  # one\n    c as d,\n)\n", {"a"}),
        ("try: import a\nexcept ImportError: import b", {"a", "b"}),
        ("def f():\n    from a.b import c", {"a"}),
        ("from . import b\nfrom .c import d\n", set()),
        ("import", set()),
    ],
)
def test_imports_are_seen_anywhere_in_a_file(text, modules):
    assert versions._imported(text.encode()) == modules


def test_a_folder_without_an_init_is_read_as_one_with_it(tmp_path):
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "util.py").write_text("f = 1")
    (tmp_path / "statistics").mkdir()
    (tmp_path / "mine.py").write_text("import statistics\nfrom helpers.util import f")

    files, _ = versions.reached([tmp_path / "mine.py"])

    assert files == {tmp_path / "mine.py", tmp_path / "helpers" / "util.py"}


def test_another_version_of_a_library_is_another_job_of_what_computes_with_it(
    tmp_path, monkeypatch
):
    (tmp_path / "mine.py").write_text(f"import rich\n{MINE}")
    names = "online-automl", f"{tmp_path / 'mine.py'}:Mine"
    jobs = {name: Job(name, "synthetic:fried", 0, 0) for name in names}

    def keys():
        forget()
        return [job.key("digest", identify(job, registry.algorithm_class(name).environment)[1])
                for name, job in jobs.items()]  # fmt: skip

    def newer(library, name):
        return real(name) + "!" * (name == library)

    before, real = keys(), metadata.version
    for library, changed in (
        ("numpy", [True, True]),
        ("rich", [False, True]),
        ("mlflow", [False, False]),
    ):
        monkeypatch.setattr(metadata, "version", partial(newer, library))
        assert [a != b for a, b in zip(before, keys(), strict=True)] == changed, library


HELPERS = {
    "helper.py": "import further",
    "further.py": "FACTOR = 1",
    "bundled/__init__.py": "from .deep import x",
    "bundled/deep.py": "x = 1",
    "elsewhere/on_path.py": "x = 1",
}


@pytest.mark.parametrize("edited", HELPERS)
def test_what_a_users_file_imports_counts_too(tmp_path, monkeypatch, edited):
    """Next to it, through others, in packages, from PYTHONPATH; also of a setting's file."""
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    text = MINE.replace("# a comment", "import on_path") + "import helper, bundled, absent, json"
    for name, said in HELPERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(said)
    mine = tmp_path / "mine.py"
    mine.write_text(text)

    def versions_now():
        importlib.invalidate_caches()
        return code_and_libraries([mine])[0]

    before = versions_now()
    (tmp_path / edited).write_text(HELPERS[edited] + "\nEDITED = True")
    (tmp_path / "unused.py").write_text("never imported")
    after = versions_now()
    assert before != after == versions_now()


def test_a_learner_of_ones_own_counts_by_its_code_and_others_by_their_version(
    tmp_path, monkeypatch
):
    def key(*classes):
        forget()
        importlib.invalidate_caches()
        return recorded_key(classes)

    package = tmp_path / "my_learners"
    monkeypatch.syspath_prepend(tmp_path)
    absent = key("my_learners.net:Net")
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "net.py").write_text("class Net: depth = 1")
    first = key("my_learners.net:Net")
    (package / "net.py").write_text("class Net: depth = 2")

    assert len({str(each) for each in (absent, first, key("my_learners.net:Net"))}) == 3
    assert f"rich {version('rich')}" in key("rich.text:Text")["libraries"]
    assert key("__main__:Net") != key("__main__:Net")
    assert key() == key("sklearn.svm:SVC")

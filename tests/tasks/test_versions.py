import pytest

from tasks import versions
from tasks.versions import code_version

MINE = '''"""Mine."""
from pydantic.dataclasses import dataclass
from algorithms.base import Algorithm

@dataclass(frozen=True, kw_only=True)
class Mine(Algorithm):
    """Does nothing."""
    bench = "stream"
    depth: int = 3

    def run(self, bench, seed):
        # a comment
        yield from ()
'''


@pytest.fixture(autouse=True)
def forget():
    """What is cached for a process's life is not, for a test's."""
    for function in (versions._tree, versions._imports, versions._meaning):
        function.cache_clear()


def version_of(tmp_path, text):
    forgotten = (versions._tree, versions._imports, versions._meaning)
    for function in forgotten:
        function.cache_clear()
    (tmp_path / "mine.py").write_text(text)
    return code_version(f"{tmp_path / 'mine.py'}:Mine")


def test_comments_docstrings_and_layout_do_not_count(tmp_path):
    before = version_of(tmp_path, MINE)

    assert version_of(tmp_path, MINE.replace("# a comment", "# another")) == before
    assert version_of(tmp_path, MINE.replace("Does nothing.", "Does less.")) == before
    assert version_of(tmp_path, MINE.replace("depth: int = 3", "depth: int  =  3")) == before


def test_code_counts(tmp_path):
    before = version_of(tmp_path, MINE)

    assert version_of(tmp_path, MINE.replace("depth: int = 3", "depth: int = 4")) != before


def test_what_an_algorithm_imports_counts_and_reading_data_does_not():
    start = ("algorithms/chacha/chacha.py", "tasks/benches/stream.py")
    sources = versions._reachable([versions._ROOT / name for name in start])
    names = {str(path.relative_to(versions._ROOT)) for path in sources}

    assert {"algorithms/online/kernel.py", "algorithms/chacha/published/bounds.py"} <= names
    assert any(name.startswith("tasks/preprocess") for name in names)
    assert not any(name.startswith("tasks/fetch") for name in names)
    assert not any(name.startswith("algorithms/apple/") for name in names)


def test_algorithms_have_versions_of_their_own():
    assert code_version("chacha") != code_version("apple")
    assert code_version("chacha") == code_version("chacha-aggressive")

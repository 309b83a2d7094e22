"""The chain: data are loaded and prepared once a run, and nobody changes what all jobs share."""

import pytest

from flows.benchmark import Asked, benchmark
from flows.dispatch import Place, dispatch
from tasks.fetch import kept
from tasks.jobs import prepared
from tasks.suites.suite import Suite

DATA = [f"synthetic:fried?rows={rows}&seed=0" for rows in (200, 210, 220)]
SPOILER = '''
import re
from algorithms.chacha.baselines import Vanilla

class Spoiler(Vanilla):
    """Writes where it must not."""

    def run(self, bench, seed):
        maps = open("/proc/self/maps").read()
        for path in set(re.findall(r"/\\S+arrays\\.bin", maps)):
            with open(path, "r+b") as file:
                file.write(b"spoilt")
        yield from super().run(bench, seed)
'''


def run(tmp_path, workers=2, **asked):
    suite = Suite(**{"title": "t", "name": "t", "data": DATA} | asked)
    out = tmp_path / "out"
    place = Place("t", out, workers, suite.limits, local=True)
    wanted = Asked(suite, out, boarded=False)
    return dispatch(place, suite.jobs(), lambda steps: benchmark(wanted, steps))


def counted(monkeypatch, module, name):
    calls = []
    real = getattr(module, name)

    def count(*args, **kwargs):
        calls.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, count)
    return calls


def test_data_are_loaded_once_and_prepared_once_whatever_the_jobs(tmp_path, monkeypatch):
    loads = counted(monkeypatch, kept, "load")
    parts = counted(monkeypatch, prepared.benches, "parts")
    outcome = run(tmp_path, algorithms=["vanilla", "random-configs"], repetitions=3)

    assert [row.status for row in outcome.results] == ["ok"] * 18
    assert sorted(reference for (reference,) in loads) == sorted(DATA)
    assert len(parts) == len(DATA)
    assert not list((tmp_path / "out").glob(".data-*"))


def test_a_file_that_is_gone_once_it_was_fetched_is_missed_by_no_job(tmp_path, monkeypatch):
    path = tmp_path / "mine.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{i % 5}.5\n" for i in range(90)))
    real = kept.load

    def load_and_remove(reference, **given):
        data = real(reference, **given)
        path.unlink()
        return data

    monkeypatch.setattr(kept, "load", load_and_remove)
    outcome = run(tmp_path, data=[str(path)], algorithms=["vanilla"], repetitions=3)

    assert [row.status for row in outcome.results] == ["ok"] * 3


@pytest.mark.parametrize("workers", [1, 2])
def test_who_writes_into_what_all_share_is_found_out(tmp_path, workers):
    (tmp_path / "spoiler.py").write_text(SPOILER)
    outcome = run(
        tmp_path,
        workers,
        data=DATA[:1],
        algorithms=[f"{tmp_path / 'spoiler.py'}:Spoiler", "vanilla"],
    )

    assert [row.status for row in outcome.results] == ["crash"] * 2
    assert all("were changed while they ran" in row.reason for row in outcome.results)
    again = run(tmp_path, workers, data=DATA[:1], algorithms=["vanilla"])
    assert [row.status for row in again.results] == ["ok"]

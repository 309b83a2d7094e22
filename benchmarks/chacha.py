"""Microseconds of CPU an example of every way to run ChaCha, paired, in one process.

``python -m benchmarks.chacha DATA [--mirror FOLDER] [--out FILE]`` prints the ratios.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.timing import Timing, Way, measure, table, write
from leaseboard.algorithms import registry
from leaseboard.algorithms.base import Algorithm, play
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.online_automl.streaming import OnlineAutoMLRegressor
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.preprocess.encoding import StreamOptions, as_stream

REFERENCE = "kernel b=5"
WIDTHS = (5, 10, 50)
RULES = "chacha"
SINGLE_ROWS = 10_000


def run(stream: Stream, folder: Path, *, repeats: int = 5) -> list[Timing]:
    """Measure every way on `stream`; slow ways take only its first rows.

    Parameters
    ----------
    stream : Stream
    folder : Path
        For VW's text and cache files.
    repeats : int
    """
    ways = [
        *(played(f"kernel b={b}", stream, registry.build(RULES, {"b": b})) for b in WIDTHS),
        _one_by_one("kernel b=5, one call at a time", stream, algorithm=RULES, b=5),
        _default(stream),
        _one_by_one("kernel, default settings, one call at a time", head(stream, SINGLE_ROWS)),
        *(_cache_pass(stream, folder, n_models) for n_models in (1, 5)),
    ]
    for b in WIDTHS:
        algorithm = registry.build(RULES, {"b": b})
        algorithm.prepare(StreamEnvironment(stream))
    return measure(ways, repeats)


def head(stream: Stream, rows: int) -> Stream:
    """Return the first `rows` examples."""
    return replace(stream, features=stream.features[:rows], labels=stream.labels[:rows])


def played(name: str, stream: Stream, algorithm: Algorithm) -> Way:
    """Run the algorithm over the stream and return its score."""

    def work() -> float:
        env = StreamEnvironment(stream)
        for _ in play(name, algorithm, env, seed=2345):
            pass
        return env.score().value

    return Way(name, len(stream.labels), work)


def _default(stream: Stream) -> Way:
    algorithm = registry.build("online-automl")
    algorithm.prepare(StreamEnvironment(stream))
    return played("kernel, default settings", stream, algorithm)


def _one_by_one(name: str, stream: Stream, **settings: Any) -> Way:
    """Run `predict_one`, then `learn_one` of every example, a dict, as River's models are run."""
    names = [f"x{column}" for column in range(stream.features.shape[1])]
    examples: list[dict[Hashable, Any]] = [
        dict(zip(names, row, strict=True)) for row in stream.features.tolist()
    ]
    labels = stream.labels.tolist()

    def work() -> float:
        model = OnlineAutoMLRegressor(seed=2345, **settings)
        total = 0.0
        for x, y in zip(examples, labels, strict=True):
            total += (model.predict_one(x) - y) ** 2
            model.learn_one(x, y)
        return total / len(labels)

    return Way(name, len(labels), work)


def _cache_pass(stream: Stream, folder: Path, n_models: int) -> Way:
    """Run VW's own C++ loop over its binary cache without any output, for so many models."""
    text, cache = folder / "stream.vw", folder / "stream.cache"
    text.write_text("".join(f"{line}\n" for line in vw_lines(stream)))

    def work() -> None:
        from vowpalwabbit import Workspace

        options = ["--quiet", "--data", str(text), "--cache_file", str(cache)]
        Workspace(arg_list=options).finish()

    work()  # writes the cache
    return Way(
        f"VW's C++ pass over a cache, times {n_models}", len(stream.labels), work, scale=n_models
    )


def vw_lines(stream: Stream) -> Iterator[str]:
    """Yield the stream in VW's text format as ChaCha's authors did: features with six decimals."""
    schema = stream.schema
    for row, label in zip(stream.features.tolist(), stream.labels.tolist(), strict=True):
        groups = (
            " ".join([name, *(f"{column}:{row[column]:.6f}" for column in columns)])
            for name, columns in zip(schema.namespaces, schema.columns, strict=True)
        )
        yield f"{label!r} |{'|'.join(groups)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of the module."""
    parser = argparse.ArgumentParser(description="CPU time an example of ways to run ChaCha")
    parser.add_argument("data", nargs="?", default="synthetic:fried?rows=40768&seed=0")
    parser.add_argument("--mirror", type=Path, action="append", default=[])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    stream = as_stream(
        loading.load(given.data, mirrors=tuple(given.mirror)), StreamOptions(log_target="code")
    )
    with tempfile.TemporaryDirectory() as folder:
        timings = run(stream, Path(folder), repeats=given.repeats)
    print(table(timings, REFERENCE))
    if given.out:
        write(timings, given.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Targets of fuzzing: files of models."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd

from tests.fuzz.mutations import json_member, of_array, of_zip

FRAME = pd.DataFrame({
    "a": np.linspace(-1, 1, 40).round(3), "shop": ["x", "y"] * 20,
    "day": pd.date_range("2026-01-01", periods=40), "y": np.arange(40.0) % 7,
})  # fmt: skip


def model_seeds() -> Iterator[bytes]:
    """Yield a model of each kind, small."""
    from leaseboard.tasks.live.snapshot import Snapshot
    from leaseboard.tasks.models.columns import Column
    from leaseboard.tasks.models.recipe import Recipe
    from leaseboard.tasks.models.stream_model import StreamModel

    classes = FRAME.assign(y=np.where(FRAME["y"] > 3, "up", "down"))
    many = FRAME.assign(y=FRAME["y"].map("class {:g}".format))
    for frame, how in (
        (FRAME, {"settings": {"b": 2}}), (FRAME, {"algorithm": "chacha-literal"}),
        (classes, {"settings": {"b": 2}}), (many, {"settings": {"b": 1}}),
    ):  # fmt: skip
        stream = StreamModel.for_table(frame, **how)
        stream.learn_table(frame)
        yield stream.dump()
    rows = FRAME[["a", "shop"]].to_dict("records")
    for name, task, labels in (
        ("last-label", "regression", FRAME["y"]), ("running-mean", "classification", classes["y"])
    ):  # fmt: skip
        naive = Recipe("y", task, "online-automl", {}).new(name)  # type: ignore[arg-type]
        naive.learn(rows, list(labels), [])
        yield naive.dump()
    stream = StreamModel.for_table(FRAME.drop(columns="day"), settings={"b": 1})
    stream.learn_table(FRAME.drop(columns="day"))
    columns = [Column(name="a", kind="number"), Column(name="shop", kind="text")]
    yield Snapshot(columns, stream).dump()
    for algorithm, settings in (
        ("apple", {}),
        ("average", {"max_trials": 2, "arms": ["decision_tree", "lda"], "space": "fast"}),
    ):
        made = Recipe("y", "classification", algorithm, settings)
        yield made.train(FRAME[["a", "shop"]], list(classes["y"])).dump()


def of_model(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a model's file with other values or arrays, also in a file within."""

    def change(rng: Random, files: dict[str, bytes]) -> None:
        name = rng.choice(["values.npy", *files])
        content = files.get(name, b"")
        if name == "values.npy":
            array = np.load(io.BytesIO(content)) if content else np.zeros(0, np.uint8)
            text = json_member(rng, array.tobytes())
            file = io.BytesIO()
            np.save(file, np.frombuffer(text, np.uint8))
            files[name] = file.getvalue()
            return
        try:
            array = np.load(io.BytesIO(content), allow_pickle=False)
            inner = array.tobytes() if array.dtype == np.uint8 else b""
        except (ValueError, EOFError, OSError):
            inner = b""
        if inner.startswith(b"PK") and rng.random() < 0.9:  # a model or estimator within
            how = of_model if b"values.npy" in inner else of_skops
            file = io.BytesIO()
            np.save(file, np.frombuffer(how(rng, [inner]), np.uint8))
            files[name] = file.getvalue()
        else:
            files[name] = of_array(rng, content)

    return of_zip(rng, rng.choice(seeds), seeds, change)


def of_skops(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a file of skops with another schema or another array."""

    def change(rng: Random, files: dict[str, bytes]) -> None:
        name = rng.choice(list(files)) if files else "schema.json"
        content = files.get(name, b"")
        if name.endswith(".json"):
            files[name] = json_member(rng, content)
        else:
            files[name] = of_array(rng, content)

    return of_zip(rng, rng.choice(seeds), seeds, change)


def model_file(content: bytes, folder: Path) -> None:
    """Load a model; one that loads predicts, learns, and is the same from its own file."""
    from leaseboard.tasks.models.model import load_file

    path = folder / "it.model"
    path.write_bytes(content)
    model = load_file(path)
    model.dump()
    rows = FRAME[["a", "shop"]].head(5)
    if any(each.name == "day" for each in model.columns):
        rows = FRAME.drop(columns="y").head(5)
    model.predict(rows)
    model.predict_proba(rows)
    model.predict_rows(rows[["a", "shop"]].to_dict("records"))
    if hasattr(model, "learn_table"):
        model.learn_table(FRAME.head(12))
        model.dump()

"""Parcels: a data set as bytes, for workers on other machines, which keep it by its digest."""

from __future__ import annotations

from algorithms.errors import DataError
from tasks.fetch import cache, named, references
from tasks.fetch.dataset import Dataset
from tasks.fetch.references import Reference

SECTION = named.SENT
MADE_ANYWHERE = ("synthetic", "sklearn")
"""Sources whose data every machine has; they are named, not sent."""

Parcel = dict[str, bytes]
"""The files of a cache entry, by name."""


def address(reference: str, digest: str) -> str:
    """What a worker calls the data of `reference`: the same, or the digest of what is sent."""
    resolved = _resolved(reference)
    return str(resolved) if resolved.source in MADE_ANYWHERE else digest


def pack(dataset: Dataset) -> Parcel | None:
    """The files of `dataset`, None where a worker makes the data for itself.

    Raises
    ------
    DataError
        A column holds values that no parquet file can, such as text among numbers.
    """
    import pyarrow as pa

    if _resolved(dataset.reference).source in MADE_ANYWHERE:
        return None
    frame = dataset.features.set_axis(dataset.features.columns.map(str), axis=1)
    target = str(dataset.target.name)
    with cache.scratch(SECTION) as folder:
        try:
            cache.write(
                folder,
                frame.assign(**{target: dataset.target}),
                id=dataset.digest,
                name=dataset.name,
                task=dataset.task,
                target=target,
                licence=dataset.licence,
                source=dataset.source,
            )
        except pa.ArrowException as error:
            raise DataError(f"{dataset.reference}: cannot be sent to a worker: {error}") from error
        return {name: (folder / name).read_bytes() for name in (cache.DATA, cache.ENTRY)}


def unpack(digest: str, parcel: Parcel) -> None:
    """Keep a parcel in this machine's cache, unless it is there."""
    if cache.find(SECTION, digest) is not None:
        return
    with cache.scratch(SECTION) as folder:
        (folder / "new").mkdir()
        for name, content in parcel.items():
            (folder / "new" / name).write_bytes(content)
        cache.publish(folder / "new", SECTION, digest)


def _resolved(reference: str) -> Reference:
    return named.resolve(references.parse(reference))

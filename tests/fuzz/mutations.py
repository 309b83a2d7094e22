"""Mutations of valid content: of bytes, texts, JSON values, arrays, and members of zip files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

NUMBERS = (
    "0", "-0", "-1", "1", "2", "1e308", "-1e308", "1e400", "1e-400", "nan", "inf", "-Infinity",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "4294967296", "1" * 400,
    "1" * 5000, "0x10", "1_000", "٣", "1,5", "1.5.5", "NaN", "0.1", "1e5", "65536", "1000000007",
)  # fmt: skip
TEXTS = (
    "", " ", "\0", "\ufeff", "\r", "\n", "\r\n", '"', "'", ",", ";", "\t", "|", "\\", "%", "#",
    "?", "{", "}", "[", "]", ":", "- ", "&a ", "*a", "!!binary ", "\u2028", "\u202e",
    "\x1b[31m", "é", "😀", "\ud7ff", "null", "true", "false", "yes", "None", "../../outside",
    "/tmp/outside", "file:x.csv", "<script>alert(1)</script>", "mine.py:Class", "os.system",
    "$array", "$scalar", "$float", "__class__", "2026-02-30", "2026-01-01T00:00:00+25:00",
    "9999-12-31", "0001-01-01", "1677-01-01", "P1D", "1e9d",
    "!!python/object/apply:os.system ['touch ran']", "["*3000, "{'a':"*200, "a"*70_000,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 255, 10**6, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**400,
    0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), [], {},
    [None], [[]], [1.5] * 3, {"$array": "a0"}, {"$tuple": []}, {"$scalar": ["<f8", "x"]},
    {"$set": [[1]]}, {"$dict": 3}, {"$bytes": "a1"},
)  # fmt: skip
_WORDS = (b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x80")
KINDS = ("<f8", "<f4", "<i8", "<i4", "|u1", "|b1", "<u8", "<f2", "<M8[ns]", "|S3", "<U2", "<c16")


def of_bytes(
    rng: Random, content: bytes, others: Sequence[bytes], tokens: Sequence[bytes]
) -> bytes:
    """Return the content with one to six changes of its bytes."""
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(made) + 1)
        to = min(len(made), at + rng.choice((1, 2, 4, 8, 50, 1000)))
        kind = rng.randrange(9)
        if kind == 0 and made:
            made[min(at, len(made) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del made[at:to]
        elif kind == 2:
            del made[at:]
        elif kind == 3:
            made[at:at] = made[at:to] * rng.choice((1, 2, 30))
        elif kind == 4:
            made[at:to] = rng.randbytes(to - at)
        elif kind == 5:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            made[at:to] = other[begin : begin + rng.choice((1, 10, 100, 10_000))]
        elif kind == 6:
            made[at : at + 4] = rng.choice(
                (b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f", b"\0\0\0\x80")
            )
        else:
            made[at : rng.choice((at, to))] = rng.choice(tokens)
    return bytes(made)


def of_text(
    rng: Random, content: bytes, others: Sequence[bytes], tokens: Sequence[bytes]
) -> bytes:
    """Return the content with changes of its lines, words and numbers."""
    lines = content.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        kind = rng.randrange(8)
        if kind == 0:
            del lines[at : at + rng.choice((1, 1, 3))]
        elif kind == 1:
            lines[at:at] = [lines[rng.randrange(len(lines))]] * rng.choice((1, 1, 2, 40))
        elif kind == 2:
            other = rng.choice(others).split(b"\n")
            lines[at : at + rng.choice((0, 1))] = [rng.choice(other)]
        elif kind == 3:
            return of_bytes(rng, b"\n".join(lines), others, tokens)
        else:
            mark = rng.choice((b",", b" ", b":", b";", b"\t", b"/", b"="))
            words = lines[at].split(mark)
            place = rng.randrange(len(words))
            words[place] = rng.choice((rng.choice(tokens), words[place] + rng.choice(tokens), b""))
            if rng.random() < 0.1:
                del words[place]
            lines[at] = mark.join(words)
        lines = lines or [b""]
    return b"\n".join(lines)


TOKENS = [each.encode("utf-8", "surrogatepass") for each in (*NUMBERS, *TEXTS)]


def of_value(rng: Random, value: Any) -> Any:
    """Return a JSON value of which one place, at any depth, is another."""
    if isinstance(value, dict | list) and value and rng.random() < 0.93:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(keys)
        made: Any = value.copy()
        kind = rng.randrange(14)
        if kind == 0:
            del made[key]
        elif kind == 1:
            made[key], made[rng.choice(keys)] = made[rng.choice(keys)], made[key]
        elif kind == 2 and isinstance(made, dict):
            made[rng.choice(TEXTS)] = made[key]
        elif kind == 2:
            made[key:key] = [made[key]] * rng.choice((1, 2, 100))
        elif kind == 3 and isinstance(made, dict):
            made[rng.choice(TEXTS)] = made.pop(key)
        else:
            made[key] = of_value(rng, value[key])
        return made
    kind = rng.randrange(6)
    if kind == 0 and isinstance(value, int | float) and not isinstance(value, bool):
        return rng.choice((value + 1, value - 1, -value, value * 2, value * 1000, float(value)))
    if kind == 1 and isinstance(value, str):
        return rng.choice((value + rng.choice(TEXTS), value[:-1], value.upper(), value * 3))
    if kind == 2:
        return rng.choice(TEXTS)
    if kind == 3:
        for _ in range(rng.choice((2, 60, 400))):
            value = [value]
        return value
    return rng.choice(VALUES)


def of_array(rng: Random, content: bytes) -> bytes:
    """Return a ``.npy`` member whose values, shape or type are others."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
        file = io.BytesIO()
        with np.errstate(all="ignore"):
            np.save(file, _other_array(rng, array), allow_pickle=False)
    except (ValueError, TypeError, EOFError, OSError):
        return content
    return file.getvalue()


def _other_array(rng: Random, array: Any) -> Any:
    kind = rng.randrange(8)
    if kind == 0 and array.size:
        return array.reshape(-1)[: rng.randrange(array.size + 1)]
    if kind == 1:
        return np.concatenate([array.reshape(-1)] * 2)
    if kind == 2:
        return array.astype(rng.choice(KINDS[:9]), casting="unsafe")
    if kind == 3 and array.ndim:
        return array.reshape(rng.choice(((-1,), (1, -1), (-1, 1), array.T.shape)))
    made = array.copy()
    flat = made.reshape(-1)
    if made.dtype.names:
        flat = flat[rng.choice(made.dtype.names)]
    for _ in range(rng.choice((1, 1, 3)) if flat.size else 0):
        at = rng.randrange(flat.size)
        if flat.dtype.kind == "f":
            flat[at] = rng.choice((np.nan, np.inf, -1.0, 0.0, 1e30, -1e300, 1e-320))
        elif flat.dtype.kind in "iu":
            high = int(np.iinfo(flat.dtype).max)
            flat[at] = rng.choice((0, 1, high, high // 2, int(flat[at]) // 2, 77)) % (high + 1)
            if flat.dtype.kind == "i" and rng.random() < 0.3:
                flat[at] = rng.choice((-1, -high))
        elif flat.dtype.kind == "b":
            flat[at] = not flat[at]
    return made


def members(content: bytes) -> dict[str, bytes]:
    """Return the files in a zip file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip file of these files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return made.getvalue()


def of_zip(
    rng: Random,
    content: bytes,
    others: Sequence[bytes],
    change: Callable[[Random, dict[str, bytes]], None],
) -> bytes:
    """Return a zip file of which one member, its name, its packing or its bytes are others.

    - `change`: changes a member in the way of the format.
    """
    try:
        files = members(content) if rng.random() < 0.92 else {}
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        files = {}
    if not files:
        return of_bytes(rng, content, others, TOKENS)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        change(rng, files)
    kind = rng.randrange(40)
    name = rng.choice(list(files)) if files else "x"
    if kind == 0:
        files[rng.choice(("../outside", "/tmp/outside", "a\0b", "x" * 300, name + "/", ""))] = b"x"
    elif kind == 1:
        files.pop(name, None)
    elif kind == 2:
        files[name] = b"\0" * rng.choice((10**5, 3 * 10**7))
    elif kind == 3:
        files[name] = of_bytes(rng, files.get(name, b""), others, TOKENS)
    packed = zipfile.ZIP_DEFLATED if kind in (2, 4) else zipfile.ZIP_STORED
    made = zipped(files, packed)
    if kind == 5:  # many entries of the directory for one member
        end = made.rfind(b"PK\5\6")
        start = int.from_bytes(made[end + 16 : end + 20], "little")
        entries = made[start:end] * 50
        count = (int.from_bytes(made[end + 8 : end + 10], "little") * 50 % 65536).to_bytes(
            2, "little"
        )
        tail = (
            made[end : end + 8] + count * 2 + len(entries).to_bytes(4, "little") + made[end + 16 :]
        )
        made = made[:start] + entries + tail
    return made


def json_member(rng: Random, content: bytes) -> bytes:
    """Return JSON text with another value somewhere."""
    try:
        return json.dumps(of_value(rng, json.loads(content))).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return content

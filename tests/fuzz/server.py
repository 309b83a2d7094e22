"""Target of fuzzing: requests to the server."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutations import json_member
from tests.fuzz.target import WrongError, texts

JSON = "content-type: application/json"
ROW = '{"order": "a-1", "day": "2026-01-02", "price": 1.25, "rain": true, "shop": "x"}'
REQUESTS = tuple(each.encode() for each in (
    (f"POST /invocations\n{JSON}\n\n"
    f'{{"dataframe_records": [{ROW}], "params": {{"level": 0.9, "probabilities": true}}}}'),
    (f"POST /invocations\n{JSON}\n\n"
    '{"dataframe_split": {"columns": ["order", "day", "price", "rain", "shop"], "index": [0],'
    ' "data": [["a-2", "2026-01-02", 1, false, "y"]]}}'),
    (f"POST /invocations\n{JSON}\n\n"
    '{"instances": [["a-3", "2026-01-02", 1, false, "y"]]}'),
    (f"POST /invocations\n{JSON}\n\n"
    '{"inputs": {"order": ["a-4"], "day": ["2026-01-02"], "price": [1], "rain": [true],'
    ' "shop": [null]}}'),
    ("POST /invocations\ncontent-type: text/csv\n\n"
    "order,day,price,rain,shop\na-5,2026-01-02,1,true,x\n"),
    (f"POST /labels\n{JSON}\n\n"
    '[{"id": "a-1", "label": 1.5}]'),
    "GET /metrics\n\n", "GET /health\n\n",
))  # fmt: skip


def of_request(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a request with another value of its JSON, or another head."""
    content = rng.choice(seeds)
    head, _, body = content.partition(b"\n\n")
    if body[:1] in b"[{" and rng.random() < 0.7:
        for _ in range(rng.choice((1, 1, 2))):
            body = json_member(rng, body)
        return head + b"\n\n" + body
    return texts("content-length: 5", "POST /labels", "/%2e%2e/invocations")(rng, seeds)


@cache
def served() -> Any:
    """Return the application of a live model that has learned a day."""
    from leaseboard.tasks.live.rows import features_of
    from leaseboard.tasks.live.snapshot import Snapshot
    from leaseboard.tasks.models.stream_model import StreamModel
    from leaseboard.tasks.serve.admission import Admission
    from leaseboard.tasks.serve.app import application
    from leaseboard.tasks.serve.champion import Champion, Follower
    from leaseboard.tasks.serve.service import PredictionService
    from tests.tasks.live.shops import Shop

    home = Path(tempfile.mkdtemp(prefix="fuzz-serve-"))
    shop = Shop(home, b=1)
    contract = shop.contract()
    shop.live.settings.contract.write_text(contract.to_yaml())
    model = StreamModel.new("revenue", "regression", "online-automl", {"b": 1})
    frame = shop.rows(0).drop(columns="order")
    model.learn_table(frame)
    snapshot = Snapshot(features_of(contract, shop.live.settings.data), model)
    said: list[str] = []
    follower = Follower(f"sqlite:///{home}/none.db", shop.live.settings, said.append)
    follower.champion = Champion(snapshot, "sales", "1", "1", "d" * 16, 0.0)
    follower._thread.run = lambda: None  # type: ignore[method-assign]
    service = PredictionService(
        shop.live.settings.data,
        follower,
        shop.live.state,
        lambda: datetime(2026, 2, 1, tzinfo=UTC),
    )
    return application(service, Admission("")), said, asyncio.new_event_loop()


ANSWERS = {200, 202, 400, 403, 404, 405, 413, 415}


def request(content: bytes, folder: Path) -> None:
    """Send a request to the application; a refusal is one line of JSON, never a fault of ours."""
    from leaseboard.algorithms.errors import DataError

    app, said, loop = served()
    head, _, body = content.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, path = first.partition(b" ")
    headers = [(b"host", b"127.0.0.1")]
    for line in lines:
        name, _, value = line.partition(b":")
        headers.append((name.strip().lower(), value.strip()))
    raw, _, query = path.partition(b"?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": method.decode("latin-1").upper(), "path": raw.decode("utf-8", "replace"),
        "raw_path": raw, "query_string": query, "headers": headers, "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80), "root_path": "",
    }  # fmt: skip
    parts = [
        {"type": "http.request", "body": body[:100], "more_body": True},
        {"type": "http.request", "body": body[100:], "more_body": False},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0) if parts else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    loop.run_until_complete(app(scope, receive, send))
    status = sent[0]["status"]
    answer = b"".join(each.get("body", b"") for each in sent[1:])
    if status not in ANSWERS:
        raise WrongError(f"status {status}: {answer[:300]!r}; {said[-1:]}")
    if dict(sent[0]["headers"]).get(b"content-type", b"").startswith(b"application/json"):
        found = json.loads(answer, parse_constant=_no_constant)
        if status >= 400:
            raise DataError(found["error"])


def _no_constant(name: str) -> None:
    raise WrongError(f"{name} in an answer is not JSON")

"""The load on the server: what is asked, when, and what counts as failed."""

from __future__ import annotations

import asyncio
import json

from benchmarks.serving import LoadTest, ask


def test_each_question_is_asked_when_it_is_due_and_failures_are_counted():
    asked, talks = [], []

    async def answer(reader, writer):
        talks.append(asyncio.current_task())
        while head := await reader.readline():
            length = 0
            while (line := await reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length"):
                    length = int(line.partition(b":")[2])
            assert head.startswith(b"POST /invocations")
            asked.append(
                json.loads(await reader.readexactly(length))["dataframe_records"][0]["id"]
            )
            status = 503 if asked[-1] == "asked-3" else 200
            reported = {"snapshot": {"digest": "1"}, "predictions": [1.5], "ids": [asked[-1]]}
            body = json.dumps(reported).encode()
            writer.write(
                f"HTTP/1.1 {status} x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
            )
        writer.close()
        await writer.wait_closed()

    async def run():
        measured = LoadTest()
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            await ask(server.sockets[0].getsockname()[1], 1000, 0.05, measured)
            await asyncio.gather(*talks)
        return measured

    measured = asyncio.run(run())
    assert sorted(asked) == sorted(f"asked-{i}" for i in range(50))
    assert measured.failed == 1
    assert measured.ids == {*asked} - {"asked-3"}
    assert measured.versions == {"1"}
    assert len(measured.seconds) == 50

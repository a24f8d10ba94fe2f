"""A closed loop of callers in a process of its own: each sends its next question when the last is answered.

`python -m tests.bench.load URL CALLERS SECONDS [BATCH] [MORE]` prints answers per second, then latencies in ms as JSON.
MORE: further fields of every question, as JSON.
"""

import asyncio
import json
import sys
import time

import aiohttp

from tests.bench.questions import questions
from tests.bench.timing import percentile

MODEL = "nkb"  # model to measure if MORE names no other


async def measure(
    url: str, callers: int, seconds: float, batch: int, fields: dict[str, str]
) -> dict[str, float]:
    texts = questions(512)
    latencies: list[float] = []
    deadline = time.perf_counter() + seconds

    async def caller(session: aiohttp.ClientSession, place: int) -> int:
        n_answered = 0
        while time.perf_counter() < deadline:
            batch_questions = [
                {"question": texts[(place + n_answered + n) % len(texts)], "model": MODEL, **fields}
                for n in range(batch)
            ]
            body: dict[str, object] = (
                {"questions": batch_questions} if batch > 1 else dict(batch_questions[0])
            )
            if url.endswith("/chat/completions"):
                body["messages"] = [{"role": "user", "content": body.pop("question")}]
            start = time.perf_counter()
            async with session.post(url, json=body) as response:
                await response.read()
                if response.status != 200:
                    raise RuntimeError(f"{url} answered {response.status}")
            latencies.append(1e3 * (time.perf_counter() - start))
            n_answered += batch
        return n_answered

    connector = aiohttp.TCPConnector(limit=callers)
    async with aiohttp.ClientSession(connector=connector) as session:
        start = time.perf_counter()
        counts = await asyncio.gather(*(caller(session, 37 * place) for place in range(callers)))
        elapsed_s = time.perf_counter() - start
    return {
        "per_second": sum(counts) / elapsed_s,
        "p50_ms": percentile(latencies, 0.5),
        "p99_ms": percentile(latencies, 0.99),
    }


def main() -> None:
    url, callers, seconds, *rest = sys.argv[1:]
    batch = int(rest[0]) if rest else 1
    fields = json.loads(rest[1]) if len(rest) > 1 else {}
    print(json.dumps(asyncio.run(measure(url, int(callers), float(seconds), batch, fields))))


if __name__ == "__main__":
    main()

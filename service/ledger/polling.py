"""Several servers are asked the same at once, so that one which is frozen delays nobody for long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any, TypeVar

from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as SlowReply

from service.concurrency import cancel_and_wait

T = TypeVar("T")


async def polled(
    asking: Sequence[Coroutine[Any, Any, T]], limit_s: float, said: Callable[[T], Hashable]
) -> list[T]:
    """At least one answer, and no more than it takes until most of those that were asked say the same.

    What one of them failed with when none answers, or TimeoutError of redis-py.
    """
    answers: list[T] = []
    error: Exception = SlowReply(f"none of its nodes answered within {limit_s:g} s")
    tasks = [asyncio.create_task(one) for one in asking]
    try:
        async with asyncio.timeout(limit_s):
            for answer in asyncio.as_completed(tasks):
                try:
                    answers.append(await answer)
                except (RedisError, OSError) as failed:
                    error = failed
                if _most(answers, said) > len(tasks) / 2:
                    break
    except TimeoutError:
        pass
    finally:
        await cancel_and_wait(tasks)
    if not answers:
        raise error
    return answers


def _most(answers: Sequence[T], said: Callable[[T], Hashable]) -> int:
    return max(Counter(map(said, answers)).values(), default=0)

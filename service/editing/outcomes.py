"""No exception crosses a Ray handle: what a method raises becomes its outcome."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from service.errors import ErrataError, Internal
from service.replicas.outcome import Outcome

log = logging.getLogger(__name__)

P = ParamSpec("P")
Self = TypeVar("Self")
Method = Callable[Concatenate[Self, P], Awaitable[Outcome]]


def outcome(method: Method[Self, P]) -> Method[Self, P]:
    """What nobody foresaw is logged whole and told in short."""

    @wraps(method)
    async def answered(editor: Self, /, *args: P.args, **named: P.kwargs) -> Outcome:
        try:
            return await method(editor, *args, **named)
        except ErrataError as error:
            return Outcome.of(error, None)
        except Exception as error:
            log.exception("%s failed", method.__name__)
            detail = f"the editor failed in a way it should not ({type(error).__name__}); the log says more"
            return Outcome.of(Internal(detail), None)

    return answered

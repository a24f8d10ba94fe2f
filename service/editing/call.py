"""The call of the editor: a type with a field for each argument, which names the type of the reply.

A route makes a call, the ingress sends it, and the editor gives it to the function that is registered for its type, so
that mypy compares question, argument and reply.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast, dataclass_transform, get_args

from pydantic import BaseModel

from service.outcome import Outcome

if TYPE_CHECKING:
    from service.editing.editor import Editor

READ_S = 30.0
ATTEMPTS = 5  # attempts of a call; its own deaths are two, and others may end the process that it waits for

R = TypeVar("R", bound=BaseModel)
Handler = Callable[["Editor", Any], Awaitable[BaseModel | Outcome]]


@dataclass_transform(frozen_default=True)
class Call(Generic[R]):
    """A call that returns R; a receipt comes as an Outcome, whose status says more."""

    limit_s: ClassVar[float]  # time limit of each attempt
    attempts: ClassVar[int]  # more than one only if calling twice does no harm
    old_work: ClassVar[int]  # short questions that a call about a version costs its caller
    writes: ClassVar[bool]

    def __init_subclass__(
        cls, limit_s: float = READ_S, attempts: int = ATTEMPTS, old_work: int = 1, writes: bool = False
    ) -> None:
        cls.limit_s, cls.attempts, cls.old_work, cls.writes = limit_s, attempts, old_work, writes
        dataclass(frozen=True)(cls)

    @classmethod
    def handler(
        cls, function: Callable[[Editor, Self], Awaitable[R | Outcome]]
    ) -> Callable[[Editor, Self], Awaitable[R | Outcome]]:
        """Register the function that the editor runs."""
        HANDLERS[cls] = function
        return function

    @classmethod
    def reply(cls) -> type[R]:
        return cast(type[R], get_args(cls.__orig_bases__[0])[0])  # type: ignore[attr-defined]

    @classmethod
    def function_name(cls) -> str:
        return re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def work(self) -> int:
        return 1 if getattr(self, "version", None) is None else self.old_work

    @property
    def is_write(self) -> bool:
        """Return whether a change may have been made although the call failed."""
        return self.writes


HANDLERS: dict[type[Call[Any]], Handler] = {}

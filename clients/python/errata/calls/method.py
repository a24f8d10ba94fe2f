"""A method written once: of `Calls` it describes a call, and of a client it sends that and returns the value."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, get_args, get_type_hints, overload

from errata.request import Call, T_co

P = ParamSpec("P")


class Builder:
    """The base of methods that describe calls; `last_version` is the newest that their client knows."""

    @property
    def last_version(self) -> int | None:
        return None


class Blocking:
    """A client whose methods wait."""


class Asynchronous:
    """A client whose methods are awaited."""


class Method(Generic[P, T_co]):
    def __init__(self, build: Callable[Concatenate[Any, P], Call[T_co]]) -> None:
        self._build: Callable[..., Call[T_co]] = build
        self._methods: dict[type[Any], Callable[..., Any]] = {}

    @overload
    def __get__(self, client: Blocking, kind: type[Any]) -> Callable[P, T_co]: ...

    @overload
    def __get__(self, client: Asynchronous, kind: type[Any]) -> Callable[P, Coroutine[Any, Any, T_co]]: ...

    @overload
    def __get__(self, client: Builder, kind: type[Any]) -> Callable[P, Call[T_co]]: ...

    @overload
    def __get__(self, client: None, kind: type[Any]) -> Callable[Concatenate[Any, P], Call[T_co]]: ...

    def __get__(self, client: Any, kind: type[Any]) -> Callable[..., Any]:
        method = self._methods.get(kind) or self._methods.setdefault(kind, self._make(kind))
        return method if client is None else MethodType(method, client)

    def _make(self, kind: type[Any]) -> Callable[..., Any]:
        """Make the function of a class when it is first used, since most are never."""

        def send(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> T_co:
            value: T_co = client.send(self._build(client.calls, *args, **kwargs)).value
            return value

        async def send_async(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> T_co:
            value: T_co = (await client.send(self._build(client.calls, *args, **kwargs))).value
            return value

        if not issubclass(kind, Blocking | Asynchronous):
            return self._build
        [returns] = get_args(get_type_hints(self._build)["return"])
        method: Callable[..., Any] = send if issubclass(kind, Blocking) else send_async
        show(method, self._build, returns)
        return method


def show(method: Any, build: Callable[..., Any], returns: Any) -> None:
    """Let help() show the parameters and the type of the result."""
    update_wrapper(method, build)
    method.__signature__ = inspect.signature(build).replace(return_annotation=returns)

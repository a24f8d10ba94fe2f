"""The guards of routes: a dependency that runs before the body is read, so that refused requests cost nothing."""

# `from __future__ import annotations` is left out: FastAPI cannot resolve the annotations of a callable object.
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from service.access.access import Gate
from service.access.caller import ANONYMOUS, Caller, Scope, source_of
from service.http.byte_budget import BUDGET
from service.scheduling.turns import Asker
from service.scheduling.work import check_work


@dataclass(frozen=True)
class Account:
    """The account of an admitted request: its caller, or the network of its address."""

    gate: Gate
    caller: Caller
    source: str
    request: str
    authorization: str | None = field(default=None, repr=False)

    @property
    def asker(self) -> Asker:
        """Return the caller whose questions take turns with those of others."""
        name = self.source if self.caller is ANONYMOUS else f"{self.caller.by} {self.caller.name}"
        return Asker(name, self.request)

    async def confirm(self) -> None:
        """Raise Unauthorized if the key of a long request was revoked meanwhile. A token may end with its time."""
        if self.caller.by == "key":
            await self.gate.authenticator.authenticate(self.authorization)

    async def charge(self, work: int, n_paid: int = 1) -> None:
        """Count the work of the request beyond `n_paid`, which is counted already; raise TooLarge or TooMany."""
        check_work(work)
        if work > n_paid:
            await self.gate.charge(self.caller, self.source, work - n_paid)


@dataclass(frozen=True)
class Guard:
    """A dependency that lets in callers with one scope, or, if `scope` is None, every caller with a key."""

    gate: Gate
    scope: Scope | None

    async def __call__(self, request: Request) -> AsyncIterator[None]:
        source = get_source(request)
        authorization = request.headers.get("authorization")
        caller = await self.gate.admit(authorization, source, self.scope)
        request.state.caller = caller
        if self.scope is not None:
            caller.check(self.scope)
        account = Account(self.gate, caller, source, request.state.request_id, authorization)
        request.state.account = account
        async with self.gate.hold(caller, source):
            with BUDGET.open(account.asker.caller) as request.state.hold_bytes:
                yield


def get_source(request: Request) -> str:
    """Return the network that a request comes from; a trusted proxy names it."""
    return source_of(request.client.host) if request.client else "nowhere"


def get_caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


async def get_account(request: Request) -> Account:  # FastAPI would run a plain function in a thread
    account: Account = request.state.account
    return account


RequestAccount = Annotated[Account, Depends(get_account)]

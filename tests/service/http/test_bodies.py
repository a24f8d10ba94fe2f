"""Every call that takes a body has a row in the README, which says who sends it, what bounds it, where it is done."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.routing import Mount

from service.mcp.server import METADATA, PATH

README = Path(__file__).parents[3] / "service/http/README.md"
CALL = re.compile(r"`(POST|PUT|PATCH) (/[^`]*)`")
APPLICATIONS = {
    ("*", PATH),
    ("*", METADATA),
}  # the protocol's own, which takes POST, and a page of it that reads nothing
BODIES = {"POST", "PUT", "PATCH"}  # a DELETE of the service reads none


def walk(routes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield method and path of what takes a body; "*" for an application that takes whatever comes."""
    for route in routes:
        router = getattr(route, "original_router", None)
        if router is not None:
            yield from walk(router.routes)
        elif isinstance(route, Mount) and route.routes:
            yield from ((method, route.path + path) for method, path in walk(route.routes))
        elif not isinstance(route, Mount) or type(route.app).__name__ != "StaticFiles":
            methods = getattr(route, "methods", None)
            yield from (
                (method, route.path) for method in (["*"] if methods is None else BODIES & set(methods))
            )


def read_rows() -> list[str]:
    section = README.read_text().partition("## What takes a body\n")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| `")]


async def test_every_call_that_takes_a_body_has_a_row(app: FastAPI) -> None:
    calls = [call for row in read_rows() for call in CALL.findall(row)]
    bodies = set(walk(app.router.routes))
    assert bodies >= APPLICATIONS
    assert sorted(calls) == sorted({*bodies - APPLICATIONS, ("POST", PATH)})


def test_a_row_says_who_sends_it_what_bounds_it_and_where_it_is_done() -> None:
    for row in read_rows():
        assert [bool(cell.strip()) for cell in row.strip("|").split("|")] == [True] * 4, row


async def test_a_call_that_is_added_anywhere_needs_a_row(app: FastAPI) -> None:
    before = set(walk(app.router.routes))
    app.add_api_route("/v1/new", lambda: None, methods=["PATCH"])
    app.mount("/other", FastAPI())
    assert set(walk(app.router.routes)) - before == {("PATCH", "/v1/new")}
    app.mount("/third", lambda scope, receive, send: None)
    assert ("*", "/third") in set(walk(app.router.routes))

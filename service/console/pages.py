"""A page: the routes as its reader sees them, and the pages where a route refuses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import quote, urlsplit

from errata.wire import Scope
from errata.wire.wording import name_fields
from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from service.console.session import PATH, TOKEN, is_own, read_form, read_key, read_token, set_cookie
from service.console.templates import ENVIRONMENT, LABELS
from service.errors import ErrataError, Forbidden, LedgerUnavailable, NotReady
from service.http.auth import get_source
from service.http.byte_budget import BUDGET
from service.local_routes import JSON, KeyNeeded, LocalRoutes, RouteRefusal

STATIC = Path(__file__).parent / "static"
SIGN_IN, START = f"{PATH}/sign-in", f"{PATH}/ask"
NEEDS_RESENDING = (
    "This form is from a session that has ended. Nothing was changed and nothing is lost: send it again."
)
KEY_NEEDED = "This needs a key that is valid here."
SECRETS = ("token", "key")  # fields of a form that a page never shows again
AWAY = (
    "The store of this service does not answer. "
    "Asking and reading go on from its last state; changes wait until it is back."
)
NUMBER = re.compile(r"\d{1,15}")  # more digits may be no int
MAX_LIST = 100  # items of a list that are passed on, of which the routes take fewer
NO_CHANGES = "No change can be made now: {}."
STILL_HERE = "What you wrote is still here: send it again when the service takes it."

Upload = tuple[str, bytes]
Complete = Callable[[dict[str, str], Upload | None], None]


class Page:
    """One page for one reader.

    Attributes:
        state: The state of the service, as load balancers hear it.
        reader: The name of the reader's key; "" while it is not known.
        may: The scopes of that key; all while they are not known, since the routes check them anyway.
        trouble: A sentence for the top of the page while the service cannot do all; else "".
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.api = LocalRoutes.of(request, read_key(request))
        self.state: JSON = {}
        self.trouble = self.reader = ""
        self.may: Sequence[str] = get_args(Scope)

    @classmethod
    async def open(cls, request: Request) -> Page:
        """Return a page that knows whether the service can do all."""
        page = cls(request)
        page.state = await page.try_get("/readyz")
        if code := page.state.get("degraded"):
            page.trouble = AWAY if code == LedgerUnavailable.code else NO_CHANGES.format(code)
        page.trouble = page.trouble or page.state.get("missing", "")
        with suppress(KeyNeeded):  # a page that needs a key says so itself
            key = await page.try_get("/admin/keys/self")
            page.reader, page.may = key.get("name", ""), key.get("scopes", page.may)
        return page

    async def try_get(self, path: str, query: Mapping[str, str | int] = {}) -> JSON:
        """Read a part of the page; `missing` says why where a route refuses it now, or to this reader."""
        try:
            return await self.api.get(path, query)
        except KeyNeeded:
            raise
        except RouteRefusal as refusal:
            return {"missing": " ".join(self.describe(refusal)), "code": refusal.code}

    def describe(self, refusal: RouteRefusal) -> Sequence[str]:
        """Return a refusal as sentences, one for each wrong field, and let the page tell of a service in trouble."""
        problem = refusal.problem
        faults = [
            f"{fault.get('pointer') or fault.get('parameter')}: {fault['detail']}"
            for fault in problem.get("errors", ())
        ]
        detail = str(problem.get("detail", "The service gave no reason."))
        if refusal.status == NotReady.status:
            self.trouble = AWAY if refusal.code == LedgerUnavailable.code else self.trouble
            keeps_form = self.request.method == "POST" and self.request.url.path != SIGN_IN
            return [detail, STILL_HERE] if keeps_form else [detail]
        return [name_fields(sentence, LABELS) for sentence in faults or [detail]]

    async def render(self, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        """Return a template as a page, whose forms carry this browser's token; its size may be that of a form."""
        token = read_token(self.request)
        content = await asyncio.to_thread(
            ENVIRONMENT.get_template(template).render,
            token=token,
            place=self.request.url.path,
            here=_place(self.request),
            is_signed_in=read_key(self.request) is not None,
            trouble=self.trouble,
            reader=self.reader,
            may=self.may,
            **values,
        )
        response = HTMLResponse(content, status)
        if self.request.cookies.get(TOKEN) != token:
            set_cookie(response, self.request, TOKEN, token)
        return response

    async def refuse(self, refusal: RouteRefusal) -> Response:
        """Return the page that says why something was not done.

        A form of an ended session, and one that the service cannot take now, may be sent again from there.
        """
        is_early = refusal.status == NotReady.status
        fields = _form_of(self.request) if is_early or isinstance(refusal, FormExpired) else {}
        values = {
            "to": _place(self.request),
            "fields": fields,
            "mistakes": self.describe(refusal),
            "code": refusal.code,
            "is_early": is_early and self.request.method == "GET",
        }
        return await self.render("refusal.html", values, refusal.status)

    @property
    def upload(self) -> Upload | None:
        """Return the name and the bytes of the form's file, after the form was read."""
        return getattr(self.request.state, "upload", None)

    async def check(self, scope: Scope) -> None:
        """Raise RouteRefusal unless the reader's key has a scope, as before work on a file."""
        key = await self.api.get("/admin/keys/self")
        if scope not in key["scopes"]:
            detail = f"{key['name']!r} lacks the scope {scope!r}: use a key that has it"
            raise RouteRefusal(403, {"code": Forbidden.code, "detail": detail})

    async def read_form(self, complete: Complete | None = None) -> dict[str, str]:
        """Read the form of a page of this browser.

        Args:
            complete: Adds the form's file as it is to its fields, so that it outlives the session. The file is a
                stranger's still, so that nothing of it is parsed.

        Raises:
            FormExpired: It is a form of another session, such as one that has ended.
            RouteRefusal: It cannot be read.
        """
        try:
            form = await read_form(self.request)
            if complete is not None:
                complete(form, self.upload)
        except ErrataError as error:
            raise RouteRefusal(error.status, {"code": error.code, "detail": error.detail}) from error
        if not is_own(self.request, form):
            raise FormExpired(403, {"code": Forbidden.code, "detail": NEEDS_RESENDING})
        return form


class FormExpired(RouteRefusal):
    """A form that this browser's session did not hand out; its reader may send it once more."""


async def open_page(request: Request) -> AsyncIterator[Page]:
    """Return the page of a request, whose form counts among the bytes that its address makes the service hold."""
    with BUDGET.open(get_source(request)) as request.state.hold_bytes:
        yield await Page.open(request)


ConsolePage = Annotated[Page, Depends(open_page)]


def redirect(path: str) -> Response:
    """Send the browser to a page by GET, so that a reload repeats nothing."""
    return RedirectResponse(path, 303)


def own_path(path: str) -> str:
    """Return a path of the console; another place is replaced by the first page."""
    parts = urlsplit(path)
    is_own = not parts.scheme and not parts.netloc and parts.path.startswith(f"{PATH}/")
    return path if is_own and "\\" not in path and parts.path != SIGN_IN else START


def read_number(text: str) -> int | str:
    """Return a number; other texts stay, so that the route names the mistake."""
    return int(text) if NUMBER.fullmatch(text) else text


def read_count(text: str) -> int:
    """Return a number; 0 for other texts."""
    return int(text) if NUMBER.fullmatch(text) else 0


def lines_of(text: str) -> list[str]:
    """Return the lines with a text, up to a number that the routes refuse."""
    return [*islice(filter(None, map(str.strip, StringIO(text))), MAX_LIST)]


def install_refusals(app: FastAPI) -> None:
    """Answer what a page cannot do with a page: to sign in first, or a sentence."""

    @app.exception_handler(KeyNeeded)
    async def sign_in(request: Request, refusal: KeyNeeded) -> Response:
        fields = _form_of(request)
        if not fields and request.method == "GET":
            return redirect(f"{SIGN_IN}?to={quote(_place(request), '')}")
        values = {"to": _place(request), "fields": fields, "mistakes": [KEY_NEEDED]}
        return await (await Page.open(request)).render("sign_in.html", values, 401)

    @app.exception_handler(RouteRefusal)
    async def refuse(request: Request, refusal: RouteRefusal) -> Response:
        return await (await Page.open(request)).refuse(refusal)


def _form_of(request: Request) -> dict[str, str]:
    form: dict[str, str] = getattr(request.state, "form", {})
    return {name: value for name, value in form.items() if name not in SECRETS}


def _place(request: Request) -> str:
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")

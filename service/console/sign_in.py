"""Signing in, with a key or a token of the issuer, and out."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response

from service.console.pages import SIGN_IN, ConsolePage, redirect
from service.console.session import KEY, PATH, set_cookie
from service.local_routes import KeyNeeded, LocalRoutes, RouteRefusal

START = f"{PATH}/ask"
UNKNOWN = "This key is not known here, or it has ended."


def build_router() -> APIRouter:
    router = APIRouter()

    @router.get(SIGN_IN)
    async def show(page: ConsolePage, to: str = START) -> Response:
        return page.render("sign_in.html", {"to": own_path(to), "fields": {}, "mistakes": []})

    @router.post(SIGN_IN)
    async def sign_in(page: ConsolePage, request: Request) -> Response:
        form = await page.read_form()
        to, key = own_path(form.get("to", "")), form.get("key", "")
        fields = {
            name.removeprefix("field."): value for name, value in form.items() if name.startswith("field.")
        }
        try:
            await LocalRoutes.of(request, key or None).get("/admin/keys/self")
        except RouteRefusal as refusal:
            mistakes = [UNKNOWN] if isinstance(refusal, KeyNeeded) else page.describe(refusal)
            values = {"to": to, "fields": fields, "mistakes": mistakes}
            return page.render("sign_in.html", values, refusal.status)
        # A form that was written before the session ended is sent on by a press of a button.
        response = page.render("go_on.html", {"to": to, "fields": fields}) if fields else redirect(to)
        set_cookie(response, request, KEY, key)
        return response

    @router.post(f"{PATH}/sign-out")
    async def sign_out(page: ConsolePage, request: Request) -> Response:
        await page.read_form()
        response = redirect(SIGN_IN)
        set_cookie(response, request, KEY, "")
        return response

    return router


def own_path(path: str) -> str:
    """Return a path of the console; another place is replaced by the first page."""
    parts = urlsplit(path)
    is_own = not parts.scheme and not parts.netloc and parts.path.startswith(f"{PATH}/")
    return path if is_own and "\\" not in path and parts.path != SIGN_IN else START

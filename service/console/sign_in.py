"""The pages for signing in and out with a key or a token."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.console.pages import SIGN_IN, START, ConsolePage, own_path, redirect
from service.console.session import KEY, PATH, set_cookie
from service.local_routes import KeyNeeded, LocalRoutes, RouteRefusal

MAX_KEY = 16_000  # characters of a key or a token
UNKNOWN = "This key is not known here, or it has ended."


def build_sign_in_router() -> APIRouter:
    router = APIRouter()

    @router.get(SIGN_IN)
    async def show(page: ConsolePage, to: str = START) -> Response:
        return await page.render("sign_in.html", {"to": own_path(to), "fields": {}, "mistakes": []})

    @router.post(SIGN_IN)
    async def sign_in(page: ConsolePage, request: Request) -> Response:
        form = await page.read_form()
        to, key = own_path(form.get("to", "")), form.get("key", "")[:MAX_KEY]  # a longer one is unknown
        fields = {
            name.removeprefix("field."): value for name, value in form.items() if name.startswith("field.")
        }
        try:
            await LocalRoutes.of(request, key or None).get("/admin/keys/self")
        except RouteRefusal as refusal:
            mistakes = [UNKNOWN] if isinstance(refusal, KeyNeeded) else page.describe(refusal)
            values = {"to": to, "fields": fields, "mistakes": mistakes}
            return await page.render("sign_in.html", values, refusal.status)
        # A form that was written before the session ended is sent on by a press of a button.
        response = await page.render("go_on.html", {"to": to, "fields": fields}) if fields else redirect(to)
        set_cookie(response, request, KEY, key)
        return response

    @router.post(f"{PATH}/sign-out")
    async def sign_out(page: ConsolePage, request: Request) -> Response:
        await page.read_form()
        response = redirect(SIGN_IN)
        set_cookie(response, request, KEY, "")
        return response

    return router

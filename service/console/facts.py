"""Facts: things by their names, one thing with its facts and the versions that changed them, and documents."""

from __future__ import annotations

from collections import Counter
from urllib.parse import quote

from fastapi import APIRouter, Response

from service.console.pages import ConsolePage, Page
from service.console.session import PATH
from service.local_routes import JSON, RouteRefusal

FACTS = f"{PATH}/facts"
MAX_NEIGHBOURS = 24  # things of the picture, to which facts lead
MAX_THINGS = 50  # things of one search


def build_router() -> APIRouter:
    router = APIRouter()

    @router.get(FACTS)
    async def search(page: ConsolePage, q: str = "", version: str = "") -> Response:
        """List the things that a name begins, and the documents."""
        q, version = q.strip(), version.strip()
        query: dict[str, str | int] = {"q": q, "limit": MAX_THINGS, "version": version}
        things = (await page.api.get("/v1/entities", query))["entities"] if q else []
        documents = await _list_documents(page, version)
        return await page.render(
            "facts.html", {"q": q, "version": version, "things": things, "documents": documents}
        )

    @router.get(f"{FACTS}/{{id:path}}")
    async def show(page: ConsolePage, id: str, version: str = "", fresh: str = "") -> Response:
        """Show one thing; forms change a fact of the newest version."""
        version = version.strip()
        thing = await page.api.get(f"/v1/entities/{quote(id, '')}", {"version": version})
        facts, past = thing["facts"], thing["removed_facts"]
        versions = {fact["added_in"] for fact in [*facts, *past]} | {fact["removed_in"] for fact in past}
        return await page.render(
            "thing.html",
            {
                "thing": thing,
                "version": version,
                "fresh": fresh,
                "times": Counter(fact["relation"] for fact in thing["facts"]),
                "changed_in": sorted(versions - {0}, reverse=True),
                "neighbours": [fact for fact in thing["facts"] if fact["object_id"]][:MAX_NEIGHBOURS],
            },
        )

    @router.get(f"{PATH}/documents/{{id}}")
    async def read(page: ConsolePage, id: str, version: str = "", fresh: str = "") -> Response:
        """Show the text of one document; a form changes that of the newest version."""
        version = version.strip()
        document = await page.api.get(f"/v1/documents/{quote(id, '')}", {"version": version})
        return await page.render("document.html", {"document": document, "version": version, "fresh": fresh})

    return router


async def _list_documents(page: Page, version: str) -> list[JSON] | None:
    try:
        documents: list[JSON] = (await page.api.get("/v1/documents", {"version": version}))["documents"]
    except RouteRefusal as refusal:
        if refusal.code != "unknown_model":
            raise
        return None
    return documents

"""Ask: one question to every system side by side, and what each answer rests on."""

from __future__ import annotations

from fastapi import APIRouter, Response

from service.console.pages import ConsolePage, read_number
from service.console.session import PATH
from service.local_routes import RouteRefusal

AUTO = "auto"  # the surest of all systems
NO_NUMBER = "A version is a whole number: the history lists them."


def build_asking_router() -> APIRouter:
    router = APIRouter()

    @router.get(f"{PATH}/ask")
    async def ask(page: ConsolePage, question: str = "", version: str = "", model: str = "") -> Response:
        """Show the answers to a question, if there is one; `version` asks as of then, `model` an upstream's, too."""
        cards = (await page.api.get("/v1/models"))["data"]
        models = [card["id"] for card in cards if "upstream" not in card["details"]]
        upstream_models = [card["id"] for card in cards if "upstream" in card["details"]]
        question = question.strip()
        fields = {"question": question, "version": version.strip()}
        values = {**fields, "model": model, "upstream_models": upstream_models}
        if not question:
            return await page.render("ask.html", {**values, "rows": [], "mistakes": []})
        pin = {"version": read_number(fields["version"])} if fields["version"] else {}
        if isinstance(pin.get("version"), str):
            return await page.render("ask.html", {**values, "rows": [], "mistakes": [NO_NUMBER]}, 422)
        systems = sorted(models, key=AUTO.__ne__)  # which leads the list where there are several systems
        systems += [model] if model in upstream_models else []
        questions = [{"question": question, "model": system, **pin} for system in systems]
        results = (await page.api.post("/v1/answers/batch", {"questions": questions}))["results"]
        mistakes = {result["problem"]["detail"] if result["problem"] else "" for result in results}
        if len(mistakes) == 1 and mistakes != {""}:  # all systems refuse it for one reason
            return await page.render("ask.html", {**values, "rows": [], "mistakes": mistakes}, 422)
        rows = list(zip(systems, results, strict=True))
        return await page.render("ask.html", {**values, "rows": rows, "mistakes": []})

    @router.get(f"{PATH}/why")
    async def why(page: ConsolePage, question: str = "", model: str = "", version: str = "") -> Response:
        """Show the edits and facts behind an answer, and the edits that are near the question."""
        pin = {"question": question, "version": version}
        report = await page.api.get("/admin/why", {**pin, "model": model})
        try:
            scope = await page.api.get("/admin/scope", pin)
        except RouteRefusal as refusal:  # a system that has no edits of questions
            if refusal.status != 422:
                raise
            scope = {"candidates": []}
        return await page.render("why.html", {"question": question, "why": report, "scope": scope})

    return router

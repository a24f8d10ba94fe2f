"""The tools and resources, written once: the service serves them at /mcp, and `errata mcp` over stdio.

They call routes and shorten what comes back. Errors of routes are errors of tools, with the same sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Protocol, get_args
from urllib.parse import quote

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from pydantic import Field, ValidationError

from errata.problems import describe_invalid

JSON = dict[str, Any]
INSTRUCTIONS = (
    "Errata answers questions from models whose knowledge people correct. `ask` for an answer and `why` for its "
    "grounds. A wrong answer is corrected by `propose_correction`: a person approves it before it is live."
)
REPLY = (
    "answer",
    "reason_text",
    "score",
    "model",
    "version",
    "as_of",
    "edited_in",
    "facts",
    "place",
    "nearby_edit",
    "away",
    "upstream",
)

Question = Annotated[str, Field(description="A question in words.", max_length=10_000)]
Model = Annotated[
    str | None, Field(description="A system that /v1/models lists; by default the surest answers.")
]
Context = str | list[str] | None
Version = Annotated[int | None, Field(description="A version of the ledger; by default the newest.", ge=0)]
AsOf = Annotated[
    str | None, Field(description="The day on which the facts are current, as 2027-06-01; by default today.")
]


class Routes(Protocol):
    """The routes of a service, as a caller sees them."""

    async def get(self, path: str, query: Mapping[str, str | int] = ...) -> JSON:
        """Read a route."""

    async def post(self, path: str, body: Mapping[str, object]) -> JSON:
        """Send a body to a route."""


class Tools:
    """The tools and resources on the routes of a caller.

    Args:
        routes: Returns the routes as the caller of the present request sees them.
        refusal: Error of a route that refuses; its text is a sentence for the caller.
    """

    def __init__(self, routes: Callable[[], Routes], refusal: type[Exception]) -> None:
        self._routes, self._refusal = routes, refusal

    async def ask(
        self,
        question: Question,
        model: Model = None,
        context: Context = None,
        version: Version = None,
        as_of: AsOf = None,
    ) -> JSON:
        """Answer a question, or say that no system is sure. A context is a text, or several, that have the answer."""
        fields = {
            "question": question,
            "model": model,
            "context": context,
            "version": version,
            "as_of": as_of,
        }
        reply = await self._send("/v1/answers", _without_none(fields))
        return {name: reply.get(name) for name in REPLY}

    async def why(
        self, question: Question, model: Model = None, version: Version = None, as_of: AsOf = None
    ) -> JSON:
        """Tell which corrections and facts an answer rests on, who made them, and the answer without them."""
        fields = {"question": question, "model": model, "version": version, "as_of": as_of}
        return await self._read("/admin/why", _without_none(fields))

    async def find_facts(self, name: Annotated[str, Field(description="A name or its beginning.")]) -> JSON:
        """Find things of the knowledge graph by name, and the facts of the first of them."""
        entities = (await self._read("/v1/entities", {"q": name, "limit": 10}))["entities"]
        return {"entities": entities, "first": await self.entity(entities[0]["id"]) if entities else None}

    async def worklist(self, limit: Annotated[int, Field(ge=1, le=200)] = 20) -> JSON:
        """List questions that were declined or nearly answered, the most asked first."""
        return await self._read("/admin/gaps", {"limit": limit})

    async def propose_correction(
        self,
        question: str | None = None,
        answer: str | None = None,
        wordings: Annotated[list[str] | None, Field(description="The question in other words.")] = None,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        message: Annotated[str, Field(description="Why, for the person who approves it.")] = "",
    ) -> JSON:
        """Propose the right answer to a question, or a fact (subject, relation, object), with its measured effect.

        Nothing is live before a person approves it.
        """
        item: JSON = {"subject": subject, "relation": relation, "object": object}
        if question is not None:
            item = {"question": question, "answer": answer, "paraphrases": wordings or []}
        return await self._send("/admin/proposals", {"edits": [_without_none(item)], "message": message})

    async def history(
        self, limit: Annotated[int, Field(ge=1, le=200)] = 20, text: str = "", author: str = ""
    ) -> JSON:
        """List the newest commits, those with a text or of an author."""
        filters = {name: value for name, value in (("grep", text), ("author", author)) if value}
        return await self._read("/admin/versions", {"limit": limit, **filters})

    async def entity(self, id: str) -> JSON:
        """Return a thing of the graph with its facts."""
        return await self._read(f"/v1/entities/{quote(id, '')}")

    async def version(self, version: str) -> JSON:
        """Return a commit with its edits and its report."""
        return await self._read(f"/admin/versions/{quote(version, '')}")

    async def _read(self, path: str, query: Mapping[str, str | int] = MappingProxyType({})) -> JSON:
        try:
            return await self._routes().get(path, query)
        except self._refusal as error:
            raise ResourceError(str(error)) from error  # which tools may raise, too

    async def _send(self, path: str, body: Mapping[str, object]) -> JSON:
        try:
            return await self._routes().post(path, body)
        except self._refusal as error:
            raise ResourceError(str(error)) from error  # which tools may raise, too


class ToolServer(MCPServer):
    """Names wrong arguments in the words of the service's other refusals."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; raise ToolError with a sentence."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(describe_invalid(error.__cause__)) from error.__cause__
            raise


class TextArguments(FuncMetadata):
    """The arguments of a tool, of which a text arrives as it was sent."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Read texts as JSON where no text may stand; the SDK does so wherever another type may stand, too."""
        fields = self.arg_model.model_fields
        texts = {
            name: value
            for name, value in data.items()
            if isinstance(value, str) and name in fields and str in get_args(fields[name].annotation)
        }
        return super().pre_parse_json(data) | texts


def list_tools(tools: Tools) -> list[Tool]:
    """Return the tools for a server."""
    functions = (
        tools.ask,
        tools.why,
        tools.find_facts,
        tools.worklist,
        tools.propose_correction,
        tools.history,
    )
    plain_tools = [Tool.from_function(function) for function in functions]
    return [
        tool.model_copy(update={"fn_metadata": TextArguments(**dict(tool.fn_metadata))})
        for tool in plain_tools
    ]


def add_resources(server: MCPServer, tools: Tools) -> None:
    """Give a server the resources."""
    server.resource("errata://entity/{id}", mime_type="application/json")(tools.entity)
    server.resource("errata://version/{version}", mime_type="application/json")(tools.version)


def _without_none(fields: Mapping[str, Any]) -> JSON:
    return {name: value for name, value in fields.items() if value is not None}

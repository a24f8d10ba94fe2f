"""The templates of the pages, and the filters that write times, edits and rows in them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from errata.wire import ImportedTriple
from errata.wire.wording import name_fields
from jinja2 import Environment, PackageLoader, StrictUndefined

from service.console.session import PATH
from service.local_routes import JSON

LABELS = {  # Labels of the forms, by fields
    "set": "“is the only one”",
    "add": "“is one more”",
    "create": "“It is new”",
    "replaces": "“It takes the place of versions”",
    "counterexamples": "“Questions that it is not about”",
    "model": "“System”",
}
MAX_ROWS = 20  # facts of an import that its page shows

ENVIRONMENT = Environment(
    loader=PackageLoader("service.console"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write_time(text: str) -> str:
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M}"


def write_words(edit: dict[str, Any]) -> str:
    """Return an edit in one line: its question, or the fact of an edit of the graph, and whether it takes that away."""
    notes = edit.get("notes", {})
    fact = " ".join(str(notes[name]) for name in ("subject", "relation", "object") if notes.get(name))
    descriptions = (notes.get(name) for name in ("define", "summary", "source"))
    words = str(edit.get("question") or fact or next(filter(None, descriptions), "a change of the memory"))
    return f"{words} (taken away)" if notes.get("act") == "remove" else words


def write_item(edit: dict[str, Any]) -> str:
    if "question" in edit:
        return f"{edit['question']} → {edit.get('answer', '')}"
    names = ("act", "subject", "relation", "object", "define", "memory", "kind")
    return " ".join(str(edit[name]) for name in names if edit.get(name))


def read_rows(notes: JSON) -> list[ImportedTriple]:
    return [ImportedTriple.model_validate(row) for row in notes.get("rows", ())[:MAX_ROWS]]


def write_hits(edit: dict[str, Any]) -> str:
    """Return how often an edit answered users and when last; "" while that cannot be read."""
    hits = edit.get("hits")
    if not hits or not hits["count"]:
        return "" if hits is None else "no answer rests on it yet"
    count = f"{hits['count']:,} answer{'s' if hits['count'] > 1 else ''}"
    return f"gave {count}, the last on {write_time(hits['last'])}"


def link_correction(edit: dict[str, Any]) -> str:
    """Return the address of the form that corrects an edit, filled with what the edit says."""
    notes = edit["notes"]
    fields = {name: notes.get(name, "") for name in ("subject", "relation", "object")} | {"kind": "fact"}
    if not notes.get("subject"):
        fields = {"question": edit["question"], "answer": edit["answer"]}
    return f"{PATH}/correct?{urlencode(fields)}"


ENVIRONMENT.filters.update(
    rows=read_rows,
    time=write_time,
    words=write_words,
    item=write_item,
    hits=write_hits,
    correct=link_correction,
    labels=lambda sentence: name_fields(sentence, LABELS),
    path=lambda text: quote(str(text), ""),
)

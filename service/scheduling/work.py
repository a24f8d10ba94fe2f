"""The work of a request in short questions (models/cost.py): its measure without a model, and its bound."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

from models.cost import Cost, default_cost
from models.graph.knowledge import Mention
from models.system import Ask, SamplingOptions
from service.errors import TooLarge

MAX_WORK = 6_000  # largest work of one request: 256 questions of the longest text fit
INPUT_OF_FIELD = {
    **{"context": "context", "candidates": "candidates", "document": "document", "kg": "graph"},
    "sampling": "sampling",
}
"""Field of the request -> the input that a system needs for it."""
JOINT = "\n\n"  # between the texts of a context, which are read as one
COST = "cost"  # the module beside a loader's module, and the function in it
NAME = re.compile(
    r"[A-Za-z0-9]+|\S"
)  # least number of characters of a name: one Latin word, or a character of another script


def load_cost(loader: str) -> Cost:
    """Return the cost function of the system of a loader `MODULE:FUNCTION`, without loading the system."""
    package = loader.partition(":")[0].rpartition(".")[0]
    if not package or find_spec(f"{package}.{COST}") is None:
        return default_cost
    cost: Cost = getattr(import_module(f"{package}.{COST}"), COST)
    return cost


def to_ask(request: Mapping[str, Any]) -> Ask:
    """Return the question of a request, as it crosses the wire or a handle."""
    sampling, passages = request.get("sampling"), request.get("context") or ()
    return Ask(
        request["question"],
        request.get("top_k", 1),
        request.get("explain", False),
        JOINT.join(passages) if passages else None,
        request.get("document"),
        tuple(request.get("candidates") or ()),
        use_graph=request.get("kg") != "none",
        sampling=None
        if sampling is None
        else SamplingOptions(**{**sampling, "stop": tuple(sampling.get("stop") or ())}),
        as_of=str(request.get("as_of") or date.today()),
        edits_only=request.get("only") == "edits",
        passages=tuple(accumulate((len(text) + len(JOINT) for text in passages[:-1]), initial=0)),
    )


def bound_cost(cost: Cost, ask: Ask) -> int:
    """Return the cost of a question if each of its words is a name of the graph, which only a replica can tell."""
    n_names = len(NAME.findall(ask.question)) if ask.use_graph else 0
    return cost(replace(ask, mentions=(Mention(0, 0, ()),) * n_names))


def check_work(work: int) -> None:
    """Raise TooLarge if a request has more work than one may have."""
    if work > MAX_WORK:
        detail = (
            f"the request has the work of {work:,} short questions (each 100 characters of a question, and of a "
            f"candidate beside its question); {MAX_WORK:,} is the most: send less, in several requests"
        )
        raise TooLarge(detail, limit=MAX_WORK)
